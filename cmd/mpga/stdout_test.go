package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// printing are commands that print to the standard output.
var printing = [][]string{
	{"agg", "--by", "origin", "--agg", "count(*)", "../../tests/testdata/flights-2001.parquet"},
	{"agg", "--by", "origin", "--agg", "count(*)", "--explain", "../../tests/testdata/flights-2001.parquet"},
	{"sql", "SELECT 1", "--format", "parquet"},
	{"describe", "../../tests/testdata/flights-2001.parquet"},
	{"devices"},
	{"gen", "pairs", "--rows", "100", "--groups", "10", "--format", "csv"},
	{"run", "--schema"},
	{"version"},
	{"completion", "bash"},
	{"--help"},
	{"docs", "--help"},
}

// Would catch a command that prints nothing and says that it is done: to a standard output that is
// closed, or full.
func TestLostOutput(t *testing.T) {
	for _, args := range printing {
		for how, want := range map[string]string{">&-": "the standard output is closed", ">/dev/full": "no space left"} {
			if how == ">&-" && !startedClosedKnown {
				continue
			}
			cmd := exec.Command("sh", append([]string{"-c", `exec mpga "$@" ` + how, "sh"}, args...)...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(stderr.String(), want) {
				t.Errorf("mpga %s %s: %v, %s", strings.Join(args, " "), how, err, stderr.String())
			}
		}
	}
}

// Would catch a closed standard input that is read as an empty one.
func TestClosedInput(t *testing.T) {
	if !startedClosedKnown {
		t.Skip("not known here")
	}
	out, err := exec.Command("sh", "-c", "exec mpga agg --agg 'count(*)' - <&-").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the standard input is closed") {
		t.Errorf("%v, %s", err, out)
	}
}

// Would catch an exit status other than those of the README where the system has little memory:
// whatever the limit of address space, a query is answered or fails, and a process that cannot
// start says so.
func TestAddressSpace(t *testing.T) {
	if !startedClosedKnown {
		t.Skip("nothing runs before the Go runtime here")
	}
	done := 0
	for _, kib := range []string{"300000", "1000000", "1500000", "1800000", "1900000", "2000000", "2500000", "3000000"} {
		cmd := exec.Command("sh", "-c", `ulimit -v `+kib+`; exec mpga agg --by date,origin --agg 'count(*), list(delay)' --threads 2 --format csv ../../tests/testdata/flights-2001.parquet >/dev/null`)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		switch code := cmd.ProcessState.ExitCode(); {
		case code == exitDone:
			done++
		case code != exitFailed || !strings.Contains(stderr.String(), "ulimit -v") || strings.Contains(stderr.String(), "corrupt"):
			t.Errorf("ulimit -v %s: exit code %d, %s", kib, code, stderr.String())
		}
	}
	if done == 0 {
		t.Error("no limit was enough")
	}
}
