package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mpga/mpga/internal/spawn"
)

// panicStep is the variable of the environment by which a test has the command panic at a step,
// counted from 1.
const panicStep = "MPGA_TEST_PANIC_STEP"

// mainWithPanics is main, for a process of a test.
func mainWithPanics() {
	if n, err := strconv.ParseInt(os.Getenv(panicStep), 10, 64); err == nil {
		var steps atomic.Int64
		spawn.SetFault(func() {
			if steps.Add(1) == n {
				panic("boom")
			}
		})
	}
	main()
}

// pairsFile writes a file of pairs in several row groups.
func pairsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.parquet")
	if code := run([]string{"gen", "pairs", "--rows", "20000", "--groups", "900", "--files", "2", "-o", path}, nil, os.Stdout, os.Stderr); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	return filepath.Join(filepath.Dir(path), "*.parquet")
}

// Would catch a panic at any step, for any output, that the command takes for success, that has
// another exit code than 1, that is not called a bug, or that leaves a part of the output.
func TestPanicsOfOutputs(t *testing.T) {
	defer spawn.SetFault(nil)
	pairs := pairsFile(t)
	query := fmt.Sprintf("SELECT key, count(*) AS n, sum(value) FROM '%s' GROUP BY key HAVING count(*) > 1 ORDER BY key", pairs)
	most := int64(16)
	if testing.Short() {
		most = 4
	}
	for _, output := range []string{"out.csv", "out.json", "out.parquet", "out.arrow", "out.csv.zst", "out", "-"} {
		args := []string{"sql", query, "--threads", "2", "--device", "cpu", "--progress", "off"}
		switch output {
		case "out":
			args = append(args, "--max-rows-per-file", "300", "--manifest")
		case "-":
			args = append(args, "--format", "csv")
		}
		if testing.Short() && output != "out" && output != "-" {
			continue
		}
		attempt := func() (code int, stdout, stderr string, left []os.DirEntry) {
			dir := t.TempDir()
			to := output
			if output != "-" {
				to = filepath.Join(dir, output)
			}
			var out, errOut bytes.Buffer
			code = run(append(args, "-o", to), nil, &out, &errOut)
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			return code, out.String(), errOut.String(), left
		}
		var steps atomic.Int64
		spawn.SetFault(func() { steps.Add(1) })
		if code, _, stderr, _ := attempt(); code != exitDone {
			t.Fatalf("%s: exit code %d, %s", output, code, stderr)
		}
		for n := int64(1); n <= steps.Load(); n += 1 + (steps.Load()-1)/most {
			var at atomic.Int64
			var fired atomic.Bool
			spawn.SetFault(func() {
				if at.Add(1) == n {
					fired.Store(true)
					panic("boom")
				}
			})
			code, _, stderr, left := attempt()
			if !fired.Load() {
				continue // goroutines take fewer steps at times
			}
			if code != exitFailed || !strings.Contains(stderr, "internal error") || !strings.Contains(stderr, "This is a bug of mpga") || !strings.Contains(stderr, "spawn.Step") {
				t.Errorf("%s, step %d of %d: exit code %d, %s", output, n, steps.Load(), code, stderr)
			}
			if len(left) > 0 {
				t.Errorf("%s, step %d of %d: %v are left", output, n, steps.Load(), left)
			}
		}
	}
}

// Would catch a process that a panic ends by the runtime, with status 2, or before the panic is
// heard of, with 0.
func TestPanicsOfProcesses(t *testing.T) {
	pairs := pairsFile(t)
	for _, n := range []int{1, 5, 10, 15, 20} {
		cmd := exec.Command("mpga", "agg", "--by", "key", "--agg", "sum(value)", "--format", "csv", "--threads", "2", "--device", "cpu", pairs)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", panicStep, n))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "boom") || !strings.Contains(stderr.String(), bugsURL) {
			t.Errorf("step %d: exit code %d, %s", n, code, stderr.String())
		}
	}
}
