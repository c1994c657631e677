package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/tests/peer"
)

// runLimited measures a case whose engines get less memory than it takes, each in a process of its
// own that is started for the run. The process of mpga sends its result through a pipe; the process
// of DuckDB sums its result up.
func (b *bench) runLimited(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	if err := b.Close(); err != nil { // the memory of the last case's rows goes to the engines
		return nil, peer.Answer{}, err
	}
	file, err := c.input.path(ctx, b.dir)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	kinds, err := resultKinds(ctx, fileOpener(file), c.query)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, peer.Answer{}, err
	}
	view, err := viewOf(ctx, file, c.input.kind)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	settings := append(peer.DuckDBSettings(b.threads, b.dir), fmt.Sprintf("SET memory_limit = '%dB'", c.limit), view)
	return peer.Measure(ctx, []peer.Contender{
		{Engine: mpga, Run: (&mpgaProcess{b.command, b.commandArgs(c, file), b.threads}).run},
		{Engine: duckDB, Run: (&duckDBProcess{self, childQuery{Setup: settings, Query: peer.SumUpQuery(c.sql, kinds)}}).run},
	}, b.times)
}

// commandArgs asks a case of the command mpga.
func (b *bench) commandArgs(c benchCase, file string) []string {
	args := []string{"agg", "--threads", strconv.Itoa(b.threads), "--memory-limit", strconv.FormatInt(c.limit, 10),
		"--temp-dir", b.dir, "--progress", "off", "--format", "arrows"}
	for _, k := range c.query.Keys {
		args = append(args, "--by", k.Column)
	}
	for _, a := range c.query.Aggregates {
		args = append(args, "--agg", a.String())
	}
	return append(args, file)
}

// mpgaProcess asks the command mpga.
type mpgaProcess struct {
	command string
	args    []string
	threads int // of the garbage collector, too
}

func (p *mpgaProcess) run(ctx context.Context) (out peer.Outcome, err error) {
	cmd := exec.CommandContext(ctx, p.command, p.args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", p.threads))
	out.PeakBytes, err = runProcess(ctx, cmd, func(stdout io.Reader) error {
		r, err := ipc.NewReader(stdout)
		if err != nil {
			return err
		}
		defer r.Release()
		out.Answer, err = peer.SumUp(r)
		return err
	})
	return out, err
}

// duckDBProcess asks a DuckDB in a process of this program.
type duckDBProcess struct {
	program string
	query   childQuery
}

// childQuery is what the process of a duckDBProcess reads from its standard input.
type childQuery struct {
	Setup []string    `json:"setup"` // statements before the query
	Query peer.Summed `json:"query"`
}

// childArgument is the argument with which this program is the process of a duckDBProcess.
const childArgument = "child"

func (p *duckDBProcess) run(ctx context.Context) (out peer.Outcome, err error) {
	query, err := json.Marshal(p.query)
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, p.program, childArgument)
	cmd.Stdin = bytes.NewReader(query)
	out.PeakBytes, err = runProcess(ctx, cmd, func(stdout io.Reader) error {
		return json.NewDecoder(stdout).Decode(&out.Answer)
	})
	return out, err
}

// child answers the childQuery of its standard input.
func child(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	var q childQuery
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return err
	}
	db, err := peer.OpenDuckDB(ctx, 1, os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec(ctx, q.Setup...); err != nil {
		return err
	}
	a, err := db.Ask(ctx, q.Query)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

// runProcess runs a command, lets read have its standard output, and returns the largest resident
// set that was seen from outside.
func runProcess(ctx context.Context, cmd *exec.Cmd, read func(io.Reader) error) (peak int64, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	peaks := make(chan int64)
	go func() { peaks <- watchMemory(ctx, cmd.Process.Pid) }()
	readErr := read(stdout)
	_, drainErr := io.Copy(io.Discard, stdout) // so that the process is not stuck after an error
	stop()
	peak = <-peaks
	if err := cmd.Wait(); err != nil {
		return peak, fmt.Errorf("%s: %w: %s", cmd.Path, err, strings.TrimSpace(stderr.String()))
	}
	return peak, errors.Join(readErr, drainErr)
}

// watchInterval is short beside the time in which a process can take a hundredth of its memory.
const watchInterval = 5 * time.Millisecond

// watchMemory returns the largest resident set of a process until the context is done, in bytes; 0
// where the system does not tell.
func watchMemory(ctx context.Context, pid int) (peak int64) {
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		peak = max(peak, highWater(pid))
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return peak
		}
	}
}

// highWater returns the kernel's own high-water mark of a process's resident set, which no poll can
// miss but in the last interval.
func highWater(pid int) int64 {
	return procValue(fmt.Sprintf("/proc/%d/status", pid), "VmHWM") << 10
}
