package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // peers.py
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/tests/peer"
)

// peersScript asks one peer one query, so many times.
//
//go:embed peers.py
var peersScript string

// peers are engines that Python knows. Each is asked in a process of its own.
type peers struct {
	python   string
	versions map[string]string // of those that can be imported
}

// The names of engines are the columns of the report.
const (
	mpga       = "mpga"
	duckDB     = "DuckDB"
	clickHouse = "ClickHouse"
	polars     = "Polars"
)

// allEngines lists the columns of the report.
var allEngines = []string{mpga, duckDB, clickHouse, polars}

// peerRequest is what the script reads.
type peerRequest struct {
	Engine     string          `json:"engine"`
	File       string          `json:"file"`
	InMemory   bool            `json:"in_memory"` // load the file first
	Keys       []string        `json:"keys"`
	Aggregates []peerAggregate `json:"aggregates"`
	Kinds      []peer.Kind     `json:"kinds"` // of the result's columns
	Threads    int             `json:"threads"`
	Times      int             `json:"times"`
}

type peerAggregate struct {
	Func   string   `json:"func"`
	Args   []string `json:"args"`
	Length int      `json:"length"`
}

// peerReply is what the script writes.
type peerReply struct {
	peer.Answer
	Wall []time.Duration `json:"wall_nanos"`
	CPU  []time.Duration `json:"cpu_nanos"`
}

// newPeers asks an interpreter which peers it has.
func newPeers(ctx context.Context, python string) (*peers, error) {
	p := &peers{python: python}
	return p, p.call(ctx, 1, map[string]any{"engine": "versions"}, &p.versions)
}

func (p *peers) engines() []string {
	return slices.DeleteFunc(slices.Clone(allEngines), func(e string) bool { return p.versions[e] == "" })
}

// measure adds the peers' runs of a case. A peer that cannot answer is left out with a note; one
// that answers differently is an error.
func (p *peers) measure(ctx context.Context, b *bench, c benchCase, want peer.Answer, measured peer.Samples) error {
	file, err := c.input.path(ctx, b.dir)
	if err != nil {
		return err
	}
	kinds, err := resultKinds(ctx, fileOpener(file), c.query)
	if err != nil {
		return err
	}
	request := peerRequest{File: file, InMemory: c.input.kind == inMemory, Kinds: kinds, Threads: b.threads, Times: b.times}
	for _, k := range c.query.Keys {
		request.Keys = append(request.Keys, k.Column)
	}
	for _, a := range c.query.Aggregates {
		request.Aggregates = append(request.Aggregates, peerAggregate{a.Func.String(), append([]string{}, a.Args...), a.Length})
	}
	for _, e := range p.engines() {
		request.Engine = e
		var reply peerReply
		if err := p.call(ctx, b.threads, request, &reply); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %s: %v\n", c.name, e, err)
			continue
		}
		if !want.Equal(reply.Answer) {
			return fmt.Errorf("%s and %s answer differently: %s; %s", mpga, e, want, reply.Answer)
		}
		for i := range reply.Wall {
			measured[e] = append(measured[e], peer.Sample{Wall: reply.Wall[i], CPU: reply.CPU[i]})
		}
	}
	return nil
}

// call runs the script, with a temporary directory of its own: ClickHouse leaves files there.
func (p *peers) call(ctx context.Context, threads int, request, reply any) (err error) {
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "mpga-bench-peer-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	cmd := exec.CommandContext(ctx, p.python, "-c", peersScript)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, fmt.Sprint("POLARS_MAX_THREADS=", threads)) // read when it is imported
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.python, err, cmp.Or(lastLine(stderr.String()), "it said nothing"))
	}
	return json.Unmarshal(output, reply)
}

// lastLine is where a Python traceback says what happened.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
