package mpgabeam

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn2x1[Totals, func(int64), error](&tasksFn{})
	register.DoFn2x2[context.Context, int64, Totals, error](&runFn{})
	register.Function2x1(addTotals)
	register.Emitter1[int64]()
}

// Aggregate adds the stages of a plan to a pipeline, and returns a collection of one element: the
// totals of the commit, which appear when the result is whole. The files are where the plan says.
//
// Aggregate panics where the plan is not valid, as Beam's own transforms do.
func Aggregate(s beam.Scope, plan Plan) beam.PCollection {
	plan.Options.EnsureDefaults()
	if err := plan.Validate(); err != nil {
		panic(fmt.Sprintf("mpgabeam.Aggregate: plan %s: %v", plan.Path, err))
	}
	s = s.Scope("mpga")
	before := beam.Create(s, Totals{})
	var tasksBefore int64
	for _, stage := range plan.Stages {
		if stage.Tasks == 0 {
			continue // of an input without rows
		}
		before = runStage(s.Scope(stage.Name), plan, stage, before, tasksBefore)
		tasksBefore = stage.Tasks
	}
	return before
}

// runStage adds one stage. The totals of the stage before are one element, which a runner combines
// from the elements of all its tasks: B1.
func runStage(s beam.Scope, plan Plan, stage Stage, before beam.PCollection, tasksBefore int64) beam.PCollection {
	tasks := beam.ParDo(s, &tasksFn{Stage: stage.Name, Tasks: stage.Tasks, TasksBefore: tasksBefore}, before)
	spread := beam.Reshuffle(s, tasks)
	done := beam.ParDo(s, &runFn{Path: plan.Path, Stage: stage.Name, Options: plan.Options}, spread)
	return beam.Combine(s, addTotals, done)
}

// tasksFn emits the numbers of a stage's tasks when the stage before has ended. Its fields go to the
// workers as JSON.
type tasksFn struct {
	Stage       string
	Tasks       int64
	TasksBefore int64 // of the stage before, which all must be in its totals
}

// ProcessElement fails where a runner has combined the totals of a part of the stage before: then
// tasks would read blobs that are not there yet.
func (f *tasksFn) ProcessElement(before Totals, emit func(int64)) error {
	if before.Tasks != f.TasksBefore {
		return fmt.Errorf("stage %s: the stage %s before it has ended %d of %d tasks", f.Stage, before.Stage, before.Tasks, f.TasksBefore)
	}
	for task := range f.Tasks {
		emit(task)
	}
	return nil
}
