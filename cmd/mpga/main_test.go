package main

import (
	"bufio"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the command a program that scripts and tests find in their path as mpga.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mpga": mainWithPanics})
}

// remoteFlagOfTests has the commands of scripts answered by processes that stay, one for each script.
var remoteFlagOfTests = flag.Bool("remote", false, "have processes that stay between commands answer the commands of scripts")

// Each script is a story of one kind of use, with what is printed, left and returned.
func TestScripts(t *testing.T) {
	flights, err := filepath.Abs("../../tests/testdata/flights-2001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FLIGHTS", flights)
			if *remoteFlagOfTests {
				env.Setenv(remoteVariable, "auto")
			}
			return setRemote(env)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"holds":    holds,
			"truncate": truncate,
		},
	})
}

// setRemote gives a script a folder for the socket of a process that stays. The process ends with the script, and leaves
// nothing there.
func setRemote(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "mpga-run-*")
	if err != nil {
		return err
	}
	env.Setenv("XDG_RUNTIME_DIR", dir)
	env.Defer(func() {
		stop := exec.Command("mpga", "remote", "stop")
		stop.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		text, err := stop.CombinedOutput()
		if err := errors.Join(err, os.Remove(dir)); err != nil {
			env.T().Fatal(string(text), err)
		}
	})
	return nil
}

// exits CODE PROGRAM ARGS... runs a program and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// holds DIR FILES... checks that a folder holds just these files, hidden ones included.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: holds dir files...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		if e.Name() != ".tmp" { // testscript's own
			got = append(got, e.Name())
		}
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

// truncate FILE BYTES cuts a file.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate file bytes")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// hurry is how long a test waits at most for what ends, or begins, by itself, however busy the
// machine is.
const hurry = time.Minute

// ended waits for a command that ends by itself.
func ended(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	timer := time.AfterFunc(hurry, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Errorf("it has not ended after %v", hurry)
	}
	return err
}

// Would catch a Ctrl-C that waits for input, or that leaves files.
func TestInterrupt(t *testing.T) {
	// The input stays open: a few rows leave mpga waiting for more to guess types from, many for
	// more to aggregate.
	for name, rows := range map[string]int{"sampling": 9_000, "running": 1 << 20} {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				if signal.Ignored(sig) {
					t.Skip("the tests were started to ignore it, as nohup does with SIGHUP, and so is mpga")
				}
				dir := t.TempDir()
				testInterrupt(t, dir, rows, sig, "agg", "--by", "a", "--agg", "sum(b)",
					"-o", filepath.Join(dir, "out.parquet"), "--stats="+filepath.Join(dir, "stats.json"), "-")
			})
		}
	}
}

// Would catch tables in files that are left where a statement behind them, or the one that makes them, is interrupted.
func TestInterruptedTables(t *testing.T) {
	for name, text := range map[string]string{
		"made":   "CREATE TABLE x AS SELECT 1 AS a; CREATE TABLE y AS SELECT a, b FROM '-'; SELECT * FROM x, y",
		"behind": "CREATE TABLE x AS SELECT 1 AS a; SELECT sum(b) FROM '-' JOIN x USING (a)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testInterrupt(t, dir, 1<<20, os.Interrupt, "sql", "--table-memory", "1B", "--temp-dir", dir, text)
		})
	}
}

// testInterrupt interrupts a command that reads its standard input, and leaves nothing in a directory.
func testInterrupt(t *testing.T, dir string, rows int, sig os.Signal, args ...string) {
	cmd := exec.Command("mpga", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: when it is written, mpga reads.
	if _, err := io.WriteString(stdin, "a,b\n"+strings.Repeat("1,1234567890123456\n", rows)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	err = ended(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d (%v), want %d", code, err, exitInterrupted)
	}
	if stderr.String() != "mpga: interrupted\n" {
		t.Errorf("stderr: %q", stderr.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Would catch a stack trace, or any word, where the reader of a pipe leaves early.
func TestClosedPipe(t *testing.T) {
	cmd := exec.Command("mpga", "agg", "--by", "date, origin, destination", "--format", "csv", "../../tests/testdata/flights-2001.parquet")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "date,origin,destination\n" {
		t.Errorf("the first line: %q, %v", line, err)
	}
	stdout.Close()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailed || stderr.Len() != 0 {
		t.Errorf("%v, %q, want exit code %d and no word", err, stderr.String(), exitFailed)
	}
}
