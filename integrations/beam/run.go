package mpgabeam

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// Run runs a plan as a pipeline of its own on a registered runner, and returns the totals of the
// stages that the runner reports. It waits for the result, unless Beam's flag --async is set or the
// run is a dry one, and for the tasks that this process runs: when Run has returned, there is no child.
//
// Prism must not be given two jobs at the same time: in Beam 2.77 it stages their files without a lock.
// Two plans fit in one pipeline, by Aggregate.
//
// Run returns an error where the plan is not committed afterwards, also where the runner reports
// none, as runners do not of a cancelled job.
func Run(ctx context.Context, runner string, plan Plan) ([]Totals, error) {
	plan.Options.EnsureDefaults()
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("plan %s: %w", plan.Path, err)
	}
	p, s := beam.NewPipelineWithRoot()
	Aggregate(s, plan)
	result, err := beam.Run(ctx, runner, p)
	running.wait(plan.Path)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case *jobopts.Async, result == nil: // a dry run of Dataflow has no result
		return nil, nil
	}
	st, err := readStatus(ctx, plan.Path, plan.Options)
	if err != nil {
		return nil, err
	}
	if !st.Committed {
		return nil, fmt.Errorf("plan %s: the job has ended, but the result is not committed: was the job cancelled?", plan.Path)
	}
	return StageTotals(result.Metrics(), plan), nil
}
