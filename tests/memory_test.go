package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// buildCommand builds mpga, once for all tests.
func buildCommand(t *testing.T) string {
	t.Helper()
	path, err := builtCommand()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builtCommand = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "mpga-tests-*")
	if err != nil {
		return "", err
	}
	buildDir = dir
	// As make builds it, but without -trimpath, with which all would be compiled again; and a copy,
	// as installing makes one: of a file that the linker has just written, the system maps 30 MiB
	// more into the process, in larger pieces.
	linked := filepath.Join(dir, "linked")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-ldflags", "-s -w -X main.version="+distVersion, "-o", linked, "./cmd/mpga")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	program, err := os.ReadFile(linked)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "mpga")
	return path, os.WriteFile(path, program, 0o755)
})

// buildDir is where the command lies until all tests are done; empty when it was not built.
var buildDir string

// residentBytes reads what a process has resident; 0 when it is gone.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// watched runs a command, and returns the most that it had resident and what it wrote to its
// standard error.
func watched(t *testing.T, cmd *exec.Cmd) (peak int64, stderr string) {
	t.Helper()
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, &text)
			}
			return peak, text.String()
		case <-time.After(time.Millisecond):
			peak = max(peak, residentBytes(cmd.Process.Pid))
		}
	}
}

// The process, watched from outside, stays within its limit and 5%, though neither its groups nor
// its result fit; and it finds all groups.
func TestResidentMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 3e6 rows")
	}
	mpga, dir := buildCommand(t), t.TempDir()
	data := filepath.Join(dir, "pairs.parquet")
	if out, err := exec.Command(mpga, "gen", "pairs", "--rows", "3000000", "--groups", "3000000", "-o", data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name  string
		limit int64
		agg   string
	}{
		{"many groups", 128 << 20, "count(*) as n, sum(value) as s, min(value), max(value), avg(value), stddev_samp(value)"},
		{"states that grow", 128 << 20, "count(*) as n, median(value), count(distinct value)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			peak, stderr := watched(t, exec.Command(mpga, "agg", "--by", "key", "--agg", c.agg, "--threads", "2", "--temp-dir", t.TempDir(),
				"--memory-limit", strconv.FormatInt(c.limit, 10), "--stats", "-o", filepath.Join(dir, "out.parquet"), data))
			if !strings.Contains(stderr, "spilled") {
				t.Errorf("nothing was spilled: the test is too small\n%s", stderr)
			}
			if peak > c.limit*105/100 {
				t.Errorf("%d MiB were resident, the limit is %d\n%s", peak>>20, c.limit>>20, stderr)
			}
			t.Logf("%d MiB of %d", peak>>20, c.limit>>20)
			rows, err := exec.Command(mpga, "agg", "--agg", "count(*) as groups, sum(n) as n", "--format", "csv", filepath.Join(dir, "out.parquet")).Output()
			if err != nil || !strings.Contains(string(rows), ",3000000") {
				t.Errorf("%s: %v", rows, err)
			}
		})
	}
}

// spillQuery has states of every kind over keys that all differ.
var spillQuery = query.Query{
	Keys: []query.Key{{Column: "key"}},
	Aggregates: []query.Aggregate{
		{Func: query.CountStar, Name: "n"}, {Func: query.Sum, Args: []string{"value"}, Name: "s"}, {Func: query.Median, Args: []string{"value"}},
	},
}

// runSpilled runs a query that writes every page to disk, and adds up its counts.
func runSpilled(ctx context.Context, opt engine.Options, knobs testknobs.Engine) (rows int64, err error) {
	eng, err := engine.Open(testknobs.With(opt, knobs))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	src, err := gen.Pairs(gen.PairsOptions{Rows: spilledRows, Groups: 5000, Seed: 1})
	if err != nil {
		return 0, err
	}
	result, err := eng.Aggregate(ctx, src, spillQuery)
	if err != nil {
		return 0, err
	}
	defer result.Release()
	for result.Next() {
		batch := result.RecordBatch()
		counts := batch.Column(1)
		for i := range int(batch.NumRows()) {
			n, _ := strconv.ParseInt(counts.ValueStr(i), 10, 64)
			rows += n
		}
	}
	return rows, result.Err()
}

const spilledRows = 20_000

// Faults of the temp directory, at every call: the answer is right or the error comes back, and no
// file stays open. Would catch a short write that counts as whole, and a bit that flips unseen.
func TestSpillFaults(t *testing.T) {
	fsys := faultfs.New(vfs.OS)
	opt := engine.Options{Threads: 2, FS: fsys, TempDir: t.TempDir()}
	knobs := testknobs.Engine{SpillAll: true, RadixBits: 2, NoDense: true, TableGroups: 50, ForceSplits: 1}
	for n := int64(0); ; n++ {
		fsys.FailAt(n)
		rows, err := runSpilled(context.Background(), opt, knobs)
		switch {
		case err == nil && rows != spilledRows:
			t.Fatalf("call %d failed: %d rows of %d, and no error", n, rows, spilledRows)
		case err != nil && !errors.Is(err, faultfs.ErrInjected):
			t.Fatalf("call %d failed: the error hides its cause: %v", n, err)
		case fsys.OpenFiles() != 0:
			t.Fatalf("call %d failed: %d files are open", n, fsys.OpenFiles())
		}
		if n > 0 && !fsys.Fired() {
			t.Logf("%d calls", fsys.Ops())
			break
		}
		n += n / 20 // all of the first, then fewer: calls repeat
	}
	fsys.FailAt(0)
	fsys.FlipBit()
	if _, err := runSpilled(context.Background(), opt, knobs); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a bit flipped in a spill file: %v", err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := runSpilled(context.Background(), engine.Options{Threads: 2, TempDir: gone}, knobs); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("there is no temp directory: %v", err)
	}
	full := engine.Options{Threads: 2, TempDir: t.TempDir(), TempLimit: 10_000}
	if _, err := runSpilled(context.Background(), full, knobs); !errors.Is(err, store.ErrTempLimit) || !strings.Contains(err.Error(), "TempLimit") {
		t.Errorf("the temp directory is full: %v", err)
	}
	if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
