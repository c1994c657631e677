package mpgabeam

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/mpga/mpga/integrations/beam/internal/fakempga"
)

// Would catch a stage that starts before the one before has ended, a task that is left out, or run
// twice by a runner that runs no bundle twice, and totals that count wrongly. The fake refuses a task
// that comes too early. B1
func TestStages(t *testing.T) {
	plan := newPlan(t, nil, fakempga.Stage{Name: "partial", Tasks: 9}, fakempga.Stage{Name: "combine", Tasks: 3},
		fakempga.Stage{Name: "merge", Tasks: 2}, fakempga.Stage{Name: "commit", Tasks: 1})
	o := fakeOptions(t)
	o.Threads, o.MemoryLimit, o.TempDir, o.Device = 2, "1GiB", "/tmp", "cpu"
	stages, err := openAndRun(t.Context(), plan.Path(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != len(plan.Stages) {
		t.Fatalf("%d stages: %v", len(stages), stages)
	}
	for i, s := range plan.Stages {
		if n := count(plan, "start "+s.Name+" "); n != s.Tasks {
			t.Errorf("%d tasks of %s have started, not %d", n, s.Name, s.Tasks)
		}
		n := int64(s.Tasks)
		want := Totals{Stage: s.Name, Tasks: n, Rows: n * fakempga.Rows, Groups: n * fakempga.Groups, BytesRead: n * fakempga.BytesRead,
			BytesWritten: n * fakempga.BytesWritten, Seconds: float64(n) * fakempga.Seconds}
		if stages[i] != want {
			t.Errorf("totals %+v, not %+v", stages[i], want)
		}
		if i > 0 {
			before(t, plan, "end "+plan.Stages[i-1].Name, "start "+s.Name)
		}
	}
	flags := " --threads 2 --memory-limit 1GiB --temp-dir /tmp --device cpu"
	for _, line := range []string{
		"start partial 8: dist partial --plan " + plan.Path() + " --split 8" + flags,
		"start combine 2: dist combine --plan " + plan.Path() + " --node 2" + flags,
		"start merge 1: dist merge --plan " + plan.Path() + " --task 1" + flags,
		"start commit 0: dist commit --plan " + plan.Path() + flags,
	} {
		if count(plan, line) != 1 {
			t.Errorf("no %q in\n%s", line, strings.Join(plan.Lines(), "\n"))
		}
	}
}

// Would catch a plan of an input without rows that never commits, as Beam's collections without
// elements start nothing.
func TestStageWithoutTasks(t *testing.T) {
	plan := newPlan(t, nil, fakempga.Stage{Name: "partial", Tasks: 0}, fakempga.Stage{Name: "merge", Tasks: 1}, fakempga.Stage{Name: "commit", Tasks: 1})
	if _, err := openAndRun(t.Context(), plan.Path(), fakeOptions(t)); err != nil {
		t.Fatal(err)
	}
	before(t, plan, "end merge", "start commit")
}

// Would catch a job that does its tasks again, or that fails where they say that they are done.
func TestAgain(t *testing.T) {
	plan := smallPlan(t, nil)
	for i, already := range []int64{0, 4} {
		stages, err := openAndRun(t.Context(), plan.Path(), fakeOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		if stages[0].Already != already {
			t.Errorf("run %d: %d partial tasks were done already, not %d", i, stages[0].Already, already)
		}
	}
}

// Would catch copies of a task at the same time that wait for each other.
func TestTwins(t *testing.T) {
	plan := smallPlan(t, nil)
	runTwins(t, 2, plan.Path(), fakeOptions(t))
	if n := count(plan, "end commit 0 with 0"); n != 2 {
		t.Errorf("%d commits of 2 copies", n)
	}
}

// runTwins runs copies of a plan at the same time. They are in one pipeline: Prism has a data race
// where it stages two jobs.
func runTwins(t *testing.T, copies int, path string, o Options) {
	t.Helper()
	plan, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	for range copies {
		Aggregate(s, plan)
	}
	if _, err := beam.Run(t.Context(), "prism", p); err != nil {
		t.Fatal(err)
	}
}

// Prism tries a bundle once: would catch a version that tries again, of which doc.go and README.md
// must tell, and a second job that does not go on where the first has failed.
func TestFailure(t *testing.T) {
	plan := smallPlan(t, map[string]string{"partial 2": fakempga.FailOnce})
	_, err := openAndRun(t.Context(), plan.Path(), fakeOptions(t))
	wantError(t, err, "dist partial --plan "+plan.Path()+" --split 2", "exit status 1", "a connection was reset")
	if strings.Contains(err.Error(), errPermanent.Error()) {
		t.Errorf("an error that may pass is said to be final: %v", err)
	}
	if n := count(plan, "start partial 2"); n != 1 {
		t.Errorf("Prism has tried the task %d times", n)
	}
	if n := count(plan, "start merge"); n != 0 {
		t.Errorf("%d merge tasks have started", n)
	}
	if _, err := openAndRun(t.Context(), plan.Path(), fakeOptions(t)); err != nil {
		t.Error(err)
	}
}

// Would catch a worker that gives up too early or never, and totals that count attempts.
func TestAttempts(t *testing.T) {
	plan := smallPlan(t, map[string]string{"partial 2": fakempga.FailOnce, "merge 0": fakempga.FailOnce})
	o := fakeOptions(t)
	o.Attempts = 3
	stages, err := openAndRun(t.Context(), plan.Path(), o)
	if err != nil {
		t.Fatal(err)
	}
	if stages[0].Tasks != 4 || stages[1].Tasks != 2 {
		t.Errorf("totals %+v", stages)
	}
	if n := count(plan, "start partial 2"); n != 2 {
		t.Errorf("%d attempts", n)
	}

	plan = smallPlan(t, map[string]string{"partial 2": fakempga.Fail})
	_, err = openAndRun(t.Context(), plan.Path(), o)
	wantError(t, err, "a connection was reset")
	if n := count(plan, "start partial 2"); n != o.Attempts {
		t.Errorf("%d attempts", n)
	}
}

// Would catch attempts that cannot help, and errors that do not say so.
func TestPermanentFailure(t *testing.T) {
	for behaviour, text := range map[string]string{
		fakempga.Refuse:   "flights.parquet has changed",
		fakempga.Garble:   `"Hello, world"`,
		fakempga.Stranger: "a summary of merge 2",
	} {
		t.Run(behaviour, func(t *testing.T) {
			plan := smallPlan(t, map[string]string{"merge 1": behaviour})
			o := fakeOptions(t)
			o.Attempts = 3
			_, err := openAndRun(t.Context(), plan.Path(), o)
			wantError(t, err, "dist merge --plan "+plan.Path()+" --task 1", errPermanent.Error(), text)
			if n := count(plan, "start merge 1"); n != 1 {
				t.Errorf("%d attempts", n)
			}
			if n := count(plan, "start commit"); n != 0 {
				t.Errorf("%d commits", n)
			}
		})
	}
}

// Would catch a child that outlives a job that is cancelled, and a Run that returns before it has
// ended. B4
func TestCancel(t *testing.T) {
	for behaviour, end := range map[string]string{fakempga.Hang: "end partial 1 with 130", fakempga.Deaf: ""} {
		t.Run(behaviour, func(t *testing.T) {
			plan := smallPlan(t, map[string]string{"partial 1": behaviour})
			o := fakeOptions(t)
			o.Grace = graceOf(behaviour)
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			go func() {
				await(t, plan, "hangs")
				cancel(cause)
			}()
			if _, err := openAndRun(ctx, plan.Path(), o); !errors.Is(err, cause) {
				t.Error(err)
			}
			if end != "" && count(plan, end) != 1 {
				t.Errorf("no %q in\n%s", end, strings.Join(plan.Lines(), "\n"))
			}
			if lockIsHeld(t, plan) {
				t.Error("the child is alive")
			}
		})
	}
}

// Would catch a job that fails and leaves other tasks alone, or waits for them.
func TestFailureEndsOthers(t *testing.T) {
	plan := newPlan(t, map[string]string{"partial 0": fakempga.Hang, "partial 1": fakempga.Hang, "partial 2": fakempga.Hang, "partial 3": fakempga.Refuse},
		fakempga.Stage{Name: "partial", Tasks: 4}, fakempga.Stage{Name: "merge", Tasks: 1}, fakempga.Stage{Name: "commit", Tasks: 1})
	_, err := openAndRun(t.Context(), plan.Path(), fakeOptions(t))
	wantError(t, err, "flights.parquet has changed")
	if lockIsHeld(t, plan) {
		t.Error("a child is alive")
	}
}

// Would catch a job that ends well where nothing is committed, as Beam's own of a job that was
// cancelled at the runner, and a dry run that fails for that.
func TestNotCommitted(t *testing.T) {
	opened, err := Open(t.Context(), smallPlan(t, nil).Path(), fakeOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), "cancelled", opened)
	wantError(t, err, "not committed")
	if _, err := Run(t.Context(), "dry", opened); err != nil {
		t.Error(err)
	}
}

// Would catch a plan that a pipeline is made of although it cannot be run.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		stages []fakempga.Stage
		text   string
	}{
		"empty":       {nil, "there is no stage"},
		"no commit":   {[]fakempga.Stage{{Name: "partial", Tasks: 3}}, "stage partial is number 1 of 1"},
		"two commits": {[]fakempga.Stage{{Name: "commit", Tasks: 2}}, "stage commit has 2 tasks"},
		"early":       {[]fakempga.Stage{{Name: "commit", Tasks: 1}, {Name: "commit", Tasks: 1}}, "stage commit is number 1 of 2"},
		"negative":    {[]fakempga.Stage{{Name: "partial", Tasks: -1}, {Name: "commit", Tasks: 1}}, "stage partial has -1 tasks"},
		"unknown":     {[]fakempga.Stage{{Name: "sort", Tasks: 1}, {Name: "commit", Tasks: 1}}, `stage "sort" is not known here`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), newPlan(t, nil, c.stages...).Path(), fakeOptions(t))
			wantError(t, err, c.text)
		})
	}
	_, err := Open(t.Context(), "/nowhere/plan.json", fakeOptions(t))
	wantError(t, err, "/nowhere/plan.json", "exit status 2")
	_, err = Open(t.Context(), "plan.json", Options{Binary: "/nowhere/mpga"})
	wantError(t, err, "the machine or its container needs the program mpga")
	_, err = Open(t.Context(), smallPlan(t, nil).Path(), Options{Binary: fakeOptions(t).Binary, TasksAtOnce: -1, Attempts: -2})
	wantError(t, err, "TasksAtOnce (-1) must be at least 1", "Attempts (-2) must be at least 1")
}
