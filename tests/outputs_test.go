package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pairsFile makes rows of many keys, in no order.
func pairsFile(t *testing.T, rows, groups int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.parquet")
	text, err := exec.Command(buildCommand(t), "gen", "pairs", "--rows", fmt.Sprint(rows), "--groups", fmt.Sprint(groups), "-o", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return path
}

// filesBelow counts the files below a directory; the directory itself need not be there.
func filesBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}

// sums answers a query about the rows of pairs in files.
func sums(t *testing.T, path string) string {
	t.Helper()
	text, err := exec.Command(buildCommand(t), "agg", "--agg", "count(*), sum(key), sum(value), count(distinct key)", "--format", "csv", path).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	return string(text)
}

// Many folders have one file each, with few open files, in the memory limit, and with all rows;
// with an order, it is that of each file. Would catch a file for each change of folder, descriptors
// that run out, and rows held outside the limit.
func TestManyFolders(t *testing.T) {
	const rows, folders = 400_000, 700
	data := pairsFile(t, rows, folders)
	out := filepath.Join(t.TempDir(), "out")
	const limit = 128 << 20
	cmd := exec.Command("sh", "-c", `ulimit -n 20; exec "$@"`, "sh", buildCommand(t), "sql", "SELECT key, value FROM '"+data+"' ORDER BY value",
		"--partition-by", "key", "--memory-limit", "128MiB", "--threads", "2", "-o", out)
	peak, stderr := watched(t, cmd)
	if peak > limit {
		t.Errorf("%d MiB were resident, the limit is %d", peak>>20, limit>>20)
	}
	if stderr != "" {
		t.Error(stderr)
	}
	if n := filesBelow(t, out); n != folders+1 { // and the manifest
		t.Errorf("%d files, want %d", n, folders+1)
	}
	if got, want := sums(t, out), sums(t, data); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	text, err := exec.Command(buildCommand(t), "sql", "SELECT value FROM '"+filepath.Join(out, "key=7", "part-00000.parquet")+"'", "--format", "csv", "--threads", "1").Output()
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, line := range strings.Fields(string(text))[1:] {
		var value int
		if _, err := fmt.Sscan(line, &value); err != nil || value < last {
			t.Fatalf("%d before %q, %v", last, line, err)
		}
		last = value
	}
}

// Killed, interrupted or ended at any moment, a run leaves an output that is whole or none, for
// directories whose rows are gathered, too; and what a killed one leaves is removed by the next run
// in that directory, whatever that writes.
func TestSignals(t *testing.T) {
	const rows, folders = 300_000, 150
	data := pairsFile(t, rows, folders)
	want := sums(t, data)
	parent, temp := t.TempDir(), t.TempDir()
	out := filepath.Join(parent, "out")
	command := func(stderr *bytes.Buffer) *exec.Cmd {
		cmd := exec.Command(buildCommand(t), "sql", "SELECT key, value FROM '"+data+"'", "--partition-by", "key", "--memory-limit", "128MiB", "--temp-dir", temp, "-o", out)
		cmd.Stderr = stderr
		return cmd
	}
	start := time.Now()
	var stderr bytes.Buffer
	if err := command(&stderr).Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	took := time.Since(start)
	rng := rand.New(rand.NewPCG(*seedFlag, 31))
	for i := range 9 {
		sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM}[i%3]
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		stderr.Reset()
		cmd := command(&stderr)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration(rng.Float64() * float64(took))
		time.Sleep(after)
		_ = cmd.Process.Signal(sig) // it may have ended before
		err := cmd.Wait()
		text := fmt.Sprintf("-seed=%d, run %d, %v after %v (%v, %s)", *seedFlag, i, sig, after, err, &stderr)
		code := cmd.ProcessState.ExitCode()
		if want := map[syscall.Signal]int{syscall.SIGKILL: -1, syscall.SIGINT: 130, syscall.SIGTERM: 130}[sig]; code != 0 && code != want {
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != sig || after > took/4 { // before mpga listens
				t.Errorf("%s: exit code %d", text, code)
			}
		}
		if _, err := os.Stat(out); err == nil {
			if n := filesBelow(t, out); n != folders+1 || sums(t, out) != want {
				t.Errorf("%s: the output has %d files, or other rows", text, n)
			}
		} else if code == 0 {
			t.Errorf("%s: no output", text)
		}
		if names := fileNames(t, temp); len(names) > 0 {
			t.Errorf("%s: left in the temp directory: %v", text, names)
		}
		if code > 0 && len(fileNames(t, parent)) > 1 {
			t.Errorf("%s: left %v", text, fileNames(t, parent))
		}
		other := filepath.Join(parent, "other.csv")
		if text, err := exec.Command(buildCommand(t), "agg", "--by", "key", "-o", other, data).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, name := range fileNames(t, parent) {
			if name != "out" && name != "other.csv" {
				t.Errorf("%s: the next run leaves %s", text, name)
			}
		}
	}
}
