package mpgabeam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// errPermanent is in errors that no attempt will mend: wrong flags, a plan of another version, input
// that has changed, no program.
var errPermanent = errors.New("no other attempt will help")

// exitUsage is the exit code of mpga that says so.
const exitUsage = 2

// Bounds of what is kept of the output of a task. A summary has 200 bytes, and the answer of status
// at most 10,000 numbers a stage; an error must fit the messages of every runner.
const (
	stdoutMax = 1 << 20
	stderrMax = 4 << 10
)

// child is one run of mpga.
type child struct {
	binary string
	args   []string
	grace  time.Duration     // from SIGTERM to SIGKILL
	log    func(line string) // gets the lines of the standard error
}

func (c *child) command() string { return commandText(c.binary, c.args) }

// run runs the program and returns what it has printed. When ctx ends, the program is asked to end
// by SIGTERM, and killed after the grace. The program does not outlive this process, either.
func (c *child) run(ctx context.Context) ([]byte, error) {
	// Linux sends the signal of a parent's death when the thread dies that has started the child, so
	// the thread must stay until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, c.binary, c.args...)
	stdout, stderr := boundedBuffer{most: stdoutMax}, lineWriter{each: c.log, most: stderrMax}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = c.grace
	cmd.SysProcAttr = dieWithParent()
	err := cmd.Run()
	stderr.flush()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", c.command(), context.Cause(ctx))
	case err != nil:
		return nil, c.failure(err, stderr.last())
	case stdout.dropped:
		return nil, fmt.Errorf("%s: more than %d bytes on the standard output: %w", c.command(), stdoutMax, errPermanent)
	}
	return stdout.Bytes(), nil
}

// failure is the error of a program that could not be started or ended badly, with the last lines
// that it wrote to its standard error.
func (c *child) failure(err error, said string) error {
	if said != "" {
		said = ": " + said
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitUsage:
		return fmt.Errorf("%s: %w (%w)%s", c.command(), err, errPermanent, said)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w (%w: the machine or its container needs the program mpga)", c.command(), err, errPermanent)
	}
	return fmt.Errorf("%s: %w%s", c.command(), err, said)
}

// boundedBuffer keeps the first bytes that are written to it.
type boundedBuffer struct {
	bytes.Buffer
	most    int
	dropped bool // more than most bytes were written
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.most-b.Len())]
	b.dropped = b.dropped || len(kept) < len(p)
	b.Buffer.Write(kept)
	return len(p), nil
}
