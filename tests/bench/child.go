package main

import (
	"bytes"
	"context"
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
// own that is started for the run.
func (b *bench) runLimited(ctx context.Context, c benchCase) (peer.Samples, peer.Answer, error) {
	if err := b.Close(); err != nil { // the memory of the last case's rows goes to the engines
		return nil, peer.Answer{}, err
	}
	file, err := c.input.path(ctx, b.dir)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	view, _, err := duckDBStatements(ctx, c.input, file)
	if err != nil {
		return nil, peer.Answer{}, err
	}
	setup := append(peer.Settings(b.dir), fmt.Sprintf("SET memory_limit = '%dB'", c.limit), view)
	return peer.Measure(ctx, []peer.Contender{
		peer.Timed(mpga, (&mpgaProcess{b.command, b.commandArgs(c, file), b.threads}).run),
		{Engine: peer.DuckDB, Run: (&duckDBProcess{b.python, b.threads, setup, c.sql}).run},
	}, b.times, peer.Answer.Equal)
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

// mpgaProcess asks the command mpga, which sends its result through a pipe.
type mpgaProcess struct {
	command string
	args    []string
	threads int // of the garbage collector, too
}

func (p *mpgaProcess) run(ctx context.Context, whole bool) (out peer.Outcome, err error) {
	cmd := exec.CommandContext(ctx, p.command, p.args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", p.threads))
	out.Sample.Peak, err = runProcess(ctx, cmd, func(stdout io.Reader) error {
		r, err := ipc.NewReader(stdout)
		if err != nil {
			return err
		}
		defer r.Release()
		out.Answer, err = peer.Read(r, whole)
		return err
	})
	return out, err
}

// duckDBProcess asks a DuckDB in a Python of its own.
type duckDBProcess struct {
	python  string
	threads int
	setup   []string // statements before the query
	query   string
}

// run asks DuckDB, which times itself without the start of the process.
func (d *duckDBProcess) run(ctx context.Context, whole bool) (out peer.Outcome, err error) {
	p, err := peer.Start(ctx, d.python, d.threads)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Run(peer.DuckDB, d.setup...); err != nil {
		return out, err
	}
	if out, err = p.Contender(peer.DuckDB, d.query).Run(ctx, whole); err != nil {
		return out, err
	}
	out.Sample.Peak, err = p.Peak()
	return out, err
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
