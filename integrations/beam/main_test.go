package mpgabeam

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/mpga/mpga/integrations/beam/internal/fakempga"
)

// The binary of the tests is the fake mpga, too, and the processes of workerRoles.
func TestMain(m *testing.M) {
	if fakempga.IsCommand() {
		os.Exit(fakempga.Main())
	}
	flag.Parse()
	beam.Init()
	if role := workerRoles[os.Getenv(roleVariable)]; role != nil {
		role()
		return
	}
	os.Exit(m.Run())
}

// Runners that run nothing, and report no error.
func init() {
	beam.RegisterRunner("cancelled", func(context.Context, *beam.Pipeline) (beam.PipelineResult, error) { return noMetrics{}, nil })
	beam.RegisterRunner("dry", func(context.Context, *beam.Pipeline) (beam.PipelineResult, error) { return nil, nil })
}

// noMetrics is the result of a job that has done nothing.
type noMetrics struct{}

func (noMetrics) Metrics() (none metrics.Results) { return none }
func (noMetrics) JobID() string                   { return "" }

// roleVariable makes the binary of the tests one of workerRoles.
const roleVariable = "MPGABEAM_TEST_ROLE"

// fakeOptions has the fake in place of mpga, with times for tests.
func fakeOptions(t *testing.T) Options {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Binary: binary, TasksAtOnce: 4, Pause: time.Millisecond}
}

// newPlan writes a plan of the fake with tasks that behave badly.
func newPlan(t *testing.T, behaviours map[string]string, stages ...fakempga.Stage) *fakempga.Plan {
	t.Helper()
	plan, err := fakempga.Write(t.TempDir(), fakempga.Plan{Stages: stages, Tasks: behaviours})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// smallPlan has the stages that every plan has.
func smallPlan(t *testing.T, behaviours map[string]string) *fakempga.Plan {
	t.Helper()
	return newPlan(t, behaviours, fakempga.Stage{Name: "partial", Tasks: 4}, fakempga.Stage{Name: "merge", Tasks: 2}, fakempga.Stage{Name: "commit", Tasks: 1})
}

// openAndRun runs a plan on Prism.
func openAndRun(ctx context.Context, path string, o Options) ([]Totals, error) {
	plan, err := Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return Run(ctx, "prism", plan)
}

// count returns how many lines of a plan's log begin with a text.
func count(plan *fakempga.Plan, prefix string) (n int) {
	for _, line := range plan.Lines() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// await waits until a plan's log has a line that begins with a text.
func await(t *testing.T, plan *fakempga.Plan, prefix string) {
	t.Helper()
	for count(plan, prefix) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the test ends before ", prefix)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// before fails where a line of the log comes after a line that it must come before.
func before(t *testing.T, plan *fakempga.Plan, first, second string) {
	t.Helper()
	lines := plan.Lines()
	last := -1
	for i, line := range lines {
		if strings.HasPrefix(line, first) {
			last = i
		}
	}
	next := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, second) })
	if last < 0 || next < 0 || last > next {
		t.Errorf("%q is not before %q in\n%s", first, second, strings.Join(lines, "\n"))
	}
}

// wantError fails unless an error has all of the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in the error: %v", text, err)
		}
	}
}
