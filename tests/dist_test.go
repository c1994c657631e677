package tests

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/vfs"
)

// distVersion is the version of the program where tasks run in the test's own process, and of the command
// that buildCommand builds.
const distVersion = "devel"

// distJob is a statement that is answered in parts in this process: each call is what a process of
// `mpga dist` does.
type distJob struct {
	eng  *engine.Engine
	fs   vfs.FS
	temp string
	plan *distributed.Plan
}

// planDist plans a request, writes the plan and reads it back, as the tasks' processes do.
func planDist(ctx context.Context, eng *engine.Engine, fsys vfs.FS, temp string, r distributed.Request) (*distJob, error) {
	r.Version, r.Layout.FS, r.Scan.FS = distVersion, fsys, fsys
	made, err := distributed.New(ctx, eng, fsys, r)
	if err != nil {
		return nil, err
	}
	if _, err := made.Write(fsys); err != nil {
		return nil, err
	}
	text, err := made.Encode()
	if err != nil {
		return nil, err
	}
	p, err := distributed.Decode(text, distVersion)
	return &distJob{eng, fsys, temp, p}, err
}

// tasks returns the tasks as a new process has them.
func (j *distJob) tasks() *distributed.Tasks {
	t := distributed.Tasks{Plan: j.plan, Engine: j.eng, FS: j.fs, Layout: j.plan.Output.Options}
	t.Layout.FS, t.Layout.Allocator, t.Layout.Budget = j.fs, j.eng.Allocator(), j.eng.Budget()
	return t.Open()
}

// distTask is a task of a plan.
type distTask struct {
	stage  string
	number int
}

func (t distTask) String() string { return fmt.Sprintf("%s %d", t.stage, t.number) }

// all lists all tasks, in the order of their stages.
func (j *distJob) all() (list []distTask) {
	for _, s := range j.plan.Stages {
		for n := range s.Tasks {
			list = append(list, distTask{s.Name, n})
		}
	}
	return list
}

// do does a task.
func (j *distJob) do(ctx context.Context, task distTask) (distributed.Done, error) {
	switch t := j.tasks(); task.stage {
	case distributed.StagePartial:
		return t.Partial(ctx, task.number)
	case distributed.StageCombine:
		return t.Combine(ctx, task.number)
	case distributed.StageMerge:
		return t.Merge(ctx, task.number)
	default:
		return t.Commit(ctx)
	}
}

// doAll does all tasks, in order. Tasks that are done already are done.
func (j *distJob) doAll(ctx context.Context) error {
	for _, task := range j.all() {
		if _, err := j.do(ctx, task); err != nil {
			return fmt.Errorf("%s: %w", task, err)
		}
	}
	return nil
}

// again runs a task that is done as an attempt that does not see the others, as a twin does that began
// with them: what it has looked for is out of the way while it runs.
//
// Requires: the work directory is of vfs.OS.
func (j *distJob) again(ctx context.Context, task distTask) (distributed.Done, error) {
	pattern := filepath.Join(j.plan.Work, task.stage, fmt.Sprintf("%05d.*.json", task.number))
	earlier, err := filepath.Glob(pattern)
	if err != nil {
		return distributed.Done{}, err
	}
	for _, name := range earlier {
		if err := os.Rename(name, name+".aside"); err != nil {
			return distributed.Done{}, err
		}
	}
	done, err := j.do(ctx, task)
	for _, name := range earlier {
		if err := os.Rename(name+".aside", name); err != nil {
			return done, err
		}
	}
	return done, err
}

// writeAnswer answers a statement in one run, to a file or a directory.
func writeAnswer(ctx context.Context, eng *engine.Engine, text string, opt plan.Options, path string, layout sink.Options) error {
	statement, err := mpgasql.Parse(text)
	if err != nil {
		return err
	}
	q, err := plan.Prepare(ctx, eng, statement, opt)
	if err != nil {
		return err
	}
	defer q.Close()
	rows, err := q.Run(ctx)
	if err != nil {
		return err
	}
	defer rows.Release()
	w, err := sink.Create(ctx, path, rows.Schema(), layout)
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }()
	for {
		batch, err := recordreader.Next(rows)
		if err != nil {
			return err
		}
		if batch == nil {
			return w.Commit()
		}
		if err := w.Write(batch); err != nil {
			return err
		}
	}
}

// linesOf returns the lines of a CSV file, or of all files of a directory of such, of each but the first
// without its header. Folders of values come in front of the lines that are in them.
func linesOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	for _, name := range treeOf(t, path) {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		of := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		folder := strings.TrimSuffix(filepath.Dir(name), ".")
		for i, line := range of {
			if i > 0 || len(lines) == 0 {
				lines = append(lines, folder+line)
			}
		}
	}
	return lines
}

// sortedLines returns linesOf in an order, but for the header.
func sortedLines(t *testing.T, path string) []string {
	t.Helper()
	lines := linesOf(t, path)
	if len(lines) > 0 {
		slices.Sort(lines[1:])
	}
	return lines
}

// treeOf lists the files below a directory, sorted; "" is the path itself where it is a file.
func treeOf(t *testing.T, path string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, path), string(filepath.Separator)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// sameLines compares the lines of two results.
func sameLines(want, got []string) error {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Errorf("%d lines, want %d; the first of the others is %s", len(got), len(want), shortly(got[i]))
		case i >= len(got):
			return fmt.Errorf("%d lines, want %d; the first that is missing is %s", len(got), len(want), shortly(want[i]))
		case want[i] != got[i]:
			return fmt.Errorf("line %d of %d: got\n%s\nwant\n%s", i, len(want), shortly(got[i]), shortly(want[i]))
		}
	}
	return nil
}

// wantLeft fails where a work directory has other files than the plan and the note of its commit, as it
// has after gc.
func wantLeft(t *testing.T, work string) {
	t.Helper()
	if left := treeOf(t, work); !slices.Equal(left, []string{"committed.json", "plan.json"}) {
		t.Errorf("left in %s: %q", work, left)
	}
}
