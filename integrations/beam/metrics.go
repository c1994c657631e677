package mpgabeam

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// namespacePrefix and a stage's name are the namespace of its metrics, as in mpga.partial. The names
// of steps differ between runners.
const namespacePrefix = "mpga."

// counters are the metrics of a stage.
type counters struct {
	tasks, already, failed, rows, groups, bytesRead, bytesWritten beam.Counter
	milliseconds                                                  beam.Distribution // of a task
}

func newCounters(stage string) counters {
	counter := func(name string) beam.Counter { return beam.NewCounter(namespacePrefix+stage, name) }
	return counters{
		tasks:        counter("tasks"),
		already:      counter("already"),
		failed:       counter("failed"), // attempts
		rows:         counter("rows"),
		groups:       counter("groups"),
		bytesRead:    counter("bytes_read"),
		bytesWritten: counter("bytes_written"),
		milliseconds: beam.NewDistribution(namespacePrefix+stage, "milliseconds"),
	}
}

func (c *counters) add(ctx context.Context, t Totals) {
	c.tasks.Inc(ctx, t.Tasks)
	c.already.Inc(ctx, t.Already)
	c.rows.Inc(ctx, t.Rows)
	c.groups.Inc(ctx, t.Groups)
	c.bytesRead.Inc(ctx, t.BytesRead)
	c.bytesWritten.Inc(ctx, t.BytesWritten)
	c.milliseconds.Update(ctx, int64(t.Seconds*1000))
}

// StageTotals returns the totals of each stage of a plan from the metrics of its pipeline. They are
// what a runner reports, which may be a little less or more than what was done: Aggregate's result
// does not depend on them. A stage that a runner reports nothing about is left out.
func StageTotals(results metrics.Results, plan Plan) []Totals {
	var all []Totals
	for _, stage := range plan.Stages {
		t := Totals{Stage: stage.Name}
		fields := map[string]*int64{
			"tasks": &t.Tasks, "already": &t.Already, "rows": &t.Rows, "groups": &t.Groups,
			"bytes_read": &t.BytesRead, "bytes_written": &t.BytesWritten,
		}
		query := results.Query(func(r metrics.SingleResult) bool { return r.Namespace() == namespacePrefix+stage.Name })
		for _, c := range query.Counters() {
			if field := fields[c.Name()]; field != nil {
				*field += c.Result()
			}
		}
		for _, d := range query.Distributions() {
			if d.Name() == "milliseconds" {
				t.Seconds += float64(d.Result().Sum) / 1000
			}
		}
		if t.Tasks > 0 {
			all = append(all, t)
		}
	}
	return all
}
