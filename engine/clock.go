package engine

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/internal/trace"
)

// clock knows the phases of a query and what they took.
type clock struct {
	started time.Time
	phase   atomic.Pointer[Phase]
	began   atomic.Int64            // of the phase, in nanoseconds since started
	reading atomic.Int64            // nanoseconds that the input took; 0 until it is used up
	times   map[Phase]time.Duration // of phases that have ended
	row     *trace.Row              // of the phases; nil without a trace
}

// setPhase begins a phase.
func (c *clock) setPhase(phase Phase) {
	now := int64(time.Since(c.started))
	if *cmp.Or(c.phase.Load(), &phase) == PhasePartition && phase == PhaseProcess {
		c.reading.Store(now - c.began.Load())
	}
	c.began.Store(now)
	c.phase.Store(&phase)
}

// run runs a phase.
func (c *clock) run(phase Phase, f func() error) error {
	c.setPhase(phase)
	start := time.Now()
	c.row.Begin(string(phase))
	defer c.row.End()
	err := f()
	c.times[phase] = time.Since(start)
	return err
}

// trace shows the phases in the trace of a query, if there is one.
func (c *clock) trace(q *aggregator.Query) {
	if q.Trace == nil || c.row != nil {
		return
	}
	c.row = q.Trace.Row("query", "phase", 0)
	c.row.Add(string(PhasePlan), c.started, time.Now())
	q.TraceWorkers()
}
