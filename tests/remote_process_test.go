package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// remoteUser is a user of processes that stay between commands, with a folder for their sockets.
type remoteUser struct {
	mpga, runtime string
}

func newRemoteUser(t *testing.T) *remoteUser {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a process that stays between commands needs Linux")
	}
	dir, err := os.MkdirTemp("", "mpga-run-*") // with a path that is shorter than a test's
	if err != nil {
		t.Fatal(err)
	}
	u := &remoteUser{mpga: buildCommand(t), runtime: dir}
	stop, _, stderr := u.command("remote", "stop")
	t.Cleanup(func() {
		if err := stop.Run(); err != nil {
			t.Errorf("stop: %v, %s", err, stderr)
		}
		if err := os.Remove(dir); err != nil {
			t.Errorf("the processes have left something: %v", err)
		}
	})
	return u
}

func (u *remoteUser) command(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command(u.mpga, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+u.runtime, "MPGA_REMOTE=auto")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func (u *remoteUser) run(args ...string) (stdout, stderr string, code int) {
	cmd, out, errs := u.command(args...)
	_ = cmd.Run() // whose exit code is looked at
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// remoteProcess is a line of mpga remote status.
type remoteProcess struct {
	pid, commands int
	state         string
}

func (u *remoteUser) processes(t *testing.T) []remoteProcess {
	t.Helper()
	text, stderr, code := u.run("remote", "status")
	if code != 0 {
		t.Fatalf("status: %d, %s", code, stderr)
	}
	var all []remoteProcess
	for _, line := range strings.Split(text, "\n")[1:] {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		pid, pidErr := strconv.Atoi(words[0])
		commands, err := strconv.Atoi(words[len(words)-2])
		if err := errors.Join(pidErr, err); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, remoteProcess{pid, commands, words[len(words)-1]})
	}
	return all
}

// one returns the process that there is, once it has a state.
func (u *remoteUser) one(t *testing.T, state string) remoteProcess {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all := u.processes(t)
		if len(all) == 1 && all[0].state == state {
			return all[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes: %v, want one that is %s", all, state)
		}
	}
}

// manyPairs is a statement that takes minutes.
var manyPairs = "SELECT count(*) FROM 'testdata/flights-2001.parquet' a JOIN 'testdata/flights-2001.parquet' b ON a.delay * b.distance = 7"

// Would catch first uses at the same time that start two processes, fail, or mix their answers; and a caller that waits
// for another one's statement.
func TestRemoteTogether(t *testing.T) {
	u := newRemoteUser(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			text, stderr, code := u.run("sql", "--format", "csv", fmt.Sprintf("SELECT %d AS a", i))
			if want := fmt.Sprintf("a\n%d\n", i); text != want || stderr != "" || code != 0 {
				t.Errorf("%q, %q, %d; want %q", text, stderr, code, want)
			}
		})
	}
	all.Wait()
	if p := u.one(t, "idle"); p.commands < 1 {
		t.Errorf("no command was handed over: %v", p)
	}
}

// Would catch a caller that takes a part of an answer for the whole, and one that a killed process's socket stops.
func TestRemoteKilled(t *testing.T) {
	u := newRemoteUser(t)
	running, _, stderr := u.command("sql", manyPairs)
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	first := u.one(t, "busy")
	text, other, code := u.run("sql", "--format", "csv", "-v", "SELECT 1 AS a")
	if text != "a\n1\n" || code != 0 || !strings.Contains(other, "busy") {
		t.Errorf("beside it: %q, %q, %d", text, other, code)
	}
	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := running.Wait()
	if code := running.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "has ended while it answered") {
		t.Errorf("the caller: %v, %q", err, stderr)
	}
	if text, stderr, code := u.run("sql", "--format", "csv", "SELECT 1 AS a"); text != "a\n1\n" || stderr != "" || code != 0 {
		t.Errorf("after it: %q, %q, %d", text, stderr, code)
	}
	if p := u.one(t, "idle"); p.pid == first.pid {
		t.Errorf("process %d has been killed", p.pid)
	}
}

// Would catch an interrupted statement that goes on, one that ends the process, and another exit code or word than
// without it.
func TestRemoteInterrupted(t *testing.T) {
	u := newRemoteUser(t)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, os.Kill} {
		cmd, stdout, stderr := u.command("sql", manyPairs)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := u.one(t, "busy")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); sig != os.Kill && (code != 130 || stdout.Len() > 0 ||
			!strings.HasSuffix(stderr.String(), "mpga: interrupted\n")) { // behind a warning of the pairs
			t.Errorf("%v: %v, %q, %q", sig, err, stdout, stderr)
		}
		if after := u.one(t, "idle"); after.pid != before.pid {
			t.Errorf("%v: process %d, then %d", sig, before.pid, after.pid)
		}
	}
}

// Would catch a process that reads the standard input of a caller that has gone, which would take the next command's.
func TestRemoteInputLeft(t *testing.T) {
	u := newRemoteUser(t)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd, _, stderr := u.command("agg", "--agg", "sum(b)", "-")
	cmd.Stdin = in
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(out, "a,b\n"+strings.Repeat("1,1234567890123456\n", 1<<17)); err != nil { // more than a pipe holds
		t.Fatal(err)
	}
	before := u.one(t, "busy")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || stderr.String() != "mpga: interrupted\n" {
		t.Errorf("%v, %q", err, stderr)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err = out.WriteString("1,1\n"); errors.Is(err, syscall.EPIPE) {
			break
		}
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("process %d still has the standard input of a caller that has gone: %v", before.pid, err)
	}
}

// Would catch a new program that an old one's process answers for, and processes of old programs that stop forgets.
func TestRemoteUpgraded(t *testing.T) {
	u := newRemoteUser(t)
	program, err := os.ReadFile(u.mpga)
	if err != nil {
		t.Fatal(err)
	}
	u.mpga = filepath.Join(t.TempDir(), "mpga")
	for n := range 2 {
		next := u.mpga + ".new"
		if err := errors.Join(os.WriteFile(next, program, 0o755), os.Rename(next, u.mpga)); err != nil {
			t.Fatal(err)
		}
		if text, stderr, code := u.run("sql", "--format", "csv", "SELECT 1 AS a"); text != "a\n1\n" || stderr != "" || code != 0 {
			t.Errorf("%q, %q, %d", text, stderr, code)
		}
		if all := u.processes(t); len(all) != n+1 {
			t.Errorf("processes: %v, want %d", all, n+1)
		}
	}
}

// Would catch memory of one command that the limit of the next one counts, and devices that answer a command which asks
// for others.
func TestRemoteLimits(t *testing.T) {
	u := newRemoteUser(t)
	statement := []string{"sql", "--format", "csv", "SELECT date, origin, count(*) AS n, max(delay) FROM 'testdata/flights-2001.parquet' " +
		"GROUP BY ALL ORDER BY n DESC, date, origin LIMIT 50"}
	want, stderr, code := u.run(append(statement, "--remote", "off")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	options := [][]string{
		{"--device", "host:64MiB"}, {"--memory-limit", "128MiB"}, {"--device", "host:64MiB", "--memory-limit", "128MiB"}, {},
	}
	for _, args := range options {
		if text, stderr, code := u.run(append(statement, args...)...); text != want || stderr != "" || code != 0 {
			t.Errorf("%q: %d B, want %d; %q, %d", args, len(text), len(want), stderr, code)
		}
	}
	if p := u.one(t, "idle"); p.commands != len(options) {
		t.Errorf("%d commands were handed over", p.commands)
	}
}
