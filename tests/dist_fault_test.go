package tests

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

var distFaultsFlag = flag.Bool("distfaults", false, "fail each operation and each request of a plan's tasks, one run each, in place of every third")

// faultStep returns the first operation that fails, from 1 on, and how many lie between two, where a sample is
// taken of every n-th.
func faultStep(every int64) (first, step int64) {
	if *distFaultsFlag {
		return 1, 1
	}
	if testing.Short() {
		every *= 4
	}
	return 1 + int64(*seedFlag)%every, every
}

// faultDistQuery has states of every kind: words, sums, strings and lists.
const faultDistQuery = "SELECT k, count(*) AS n, sum(v) AS v, first(s) AS f, string_agg(s, '+') AS a FROM t GROUP BY k"

// faultShapes are the ways in which a commit makes its output. from is the first stage in which they differ
// from those before.
var faultShapes = []struct{ name, query, output, from string }{
	{"a directory", faultDistQuery, "out", ""},
	{"a directory in order", faultDistQuery + " ORDER BY k LIMIT 30", "out", distributed.StageMerge},
	{"a file", faultDistQuery + " ORDER BY k", "out.csv", distributed.StageCommit},
	{"a join", "SELECT t.k, x.f, count(*) AS n, sum(t.v) AS v FROM t LEFT JOIN (SELECT k, max(s) AS f FROM whole GROUP BY k) AS x ON t.k = x.k GROUP BY ALL", "out", ""},
	{"rows that meet", "SELECT t.k, count(*) AS n, sum(t.v) AS v, min(whole.s) AS s FROM t FULL JOIN whole ON t.k = whole.k + 9 GROUP BY ALL", "out", ""},
	{"rows of windows", "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, s) AS n FROM t", "out", ""},
}

// faultRequest is a small plan that has every stage.
func faultRequest(query, input, work, output string) distributed.Request {
	return distributed.Request{
		Statement: query, Work: work, Output: output,
		Tables: map[string]plan.Table{"t": {Files: []string{input}}, "whole": {Files: []string{input + "/0.csv"}}},
		Layout: sink.Options{Format: sink.CSV}, Splits: 2, Partitions: 4, Merges: 2, Combines: 1,
	}
}

// Each file operation of each task fails once: the task says so, or is done; once it has run again, and the
// tasks after it, the output is what it is without the fault. No file is left open, none in the temp
// directory, and gc leaves the plan and the note of its commit. Would catch an attempt whose parts another
// one takes for its own, an output that is there before it is whole, and what nobody removes.
func TestDistFaults(t *testing.T) {
	for _, c := range faultShapes {
		t.Run(c.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			for i := range 2 {
				csvFile(t, filepath.Join(dir, "in", fmt.Sprintf("%d.csv", i)), 60, func(row int) string { return fmt.Sprintf("%d,%d,s%d", row*7%40, row, i) })
			}
			eng := openEngine(t, 1)
			fsys := faultfs.New(faultfs.Unsynced{FS: vfs.OS})
			r := faultRequest(c.query, filepath.Join(dir, "in"), filepath.Join(dir, "work"), filepath.Join(dir, c.output))
			want, until, err := withFault(t, eng, fsys, temp, r, 0)
			if err != nil {
				t.Fatal(err)
			}
			runs, failed := 0, 0
			first, step := faultStep(3)
			from := until[c.from]
			if c.from == "" {
				from = 0
			}
			for n := from + first; n <= until[""]; n += step {
				runs++
				got, _, err := withFault(t, eng, fsys, temp, r, n)
				if err != nil {
					failed++
				}
				if err != nil && !errors.Is(err, faultfs.ErrInjected) {
					t.Errorf("the error hides its cause: %v", err)
				}
				if diff := sameLines(want, got); diff != nil {
					t.Errorf("after %v: %v", err, diff)
				}
				if t.Failed() {
					t.Fatalf("with operation %d failing", n)
				}
			}
			t.Logf("-seed=%d: %d operations, of which %d were failed, and %d of these failed a task", *seedFlag, until[""], runs, failed)
		})
	}
}

// withFault plans a request and does its tasks while the n-th file operation fails; the task that it fails is
// done again. It returns that task's error, the lines of the output, and how many operations there were before
// each stage, and in all.
func withFault(t *testing.T, eng *engine.Engine, fsys *faultfs.FS, temp string, r distributed.Request, n int64) (lines []string, until map[string]int64, failure error) {
	t.Helper()
	for _, path := range []string{r.Work, r.Output} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	fsys.FailAt(n)
	// again does something until it fails no more: twice at most.
	again := func(do func() error) {
		t.Helper()
		for attempt := range 2 {
			err := do()
			if open := fsys.OpenFiles(); open != 0 {
				t.Fatalf("after %v, %d files are open", err, open)
			}
			if left := fileNames(t, temp); len(left) > 0 {
				t.Fatalf("after %v there is in the temp directory: %q", err, left)
			}
			if err == nil {
				return
			}
			if failure = errors.Join(failure, err); attempt > 0 {
				t.Fatalf("failed twice: %v", failure)
			}
		}
	}
	var j *distJob
	again(func() (err error) {
		j, err = planDist(t.Context(), eng, fsys, temp, r)
		return err
	})
	until = make(map[string]int64)
	for _, task := range j.all() {
		if _, begun := until[task.stage]; !begun {
			until[task.stage] = fsys.Ops()
		}
		again(func() error {
			if _, err := os.Stat(r.Output); task.stage != distributed.StageCommit && err == nil {
				t.Fatalf("the output is there before %s", task)
			}
			_, err := j.do(t.Context(), task)
			return err
		})
	}
	if j.plan.Output.Directory() {
		checkManifest(t, r.Output)
	}
	until[""] = fsys.Ops()
	fsys.FailAt(0) // in what follows
	for _, task := range j.all() {
		if done, err := j.do(t.Context(), task); err != nil || done.State != "already" {
			t.Errorf("%s, when all is done: %+v, %v", task, done, err)
		}
	}
	if _, err := distributed.Collect(fsys, r.Work, 0, false); err != nil {
		t.Error(err)
	}
	wantLeft(t, j.plan.Work)
	vfs.RemoveAbandoned(vfs.OS, r.Output) // as the next output there does
	if left := hiddenNames(t, filepath.Dir(r.Output)); len(left) > 0 {
		t.Errorf("left beside the output: %q", left)
	}
	return sortedLines(t, r.Output), until, failure
}

// hiddenNames lists what a directory has of names that begin with a point.
func hiddenNames(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(fileNames(t, dir), func(name string) bool { return !strings.HasPrefix(name, ".") })
}
