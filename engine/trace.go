package engine

import (
	"fmt"
	"time"

	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/stream"
)

// The groups of a trace's rows, beside those of devices.
const (
	traceQuery = "query"
	traceCPU   = "CPU"
)

// What a worker does, as a trace names it. What it waits for is shown by its doing nothing.
const (
	workRead      = "read"
	workAggregate = "aggregate"
	workFill      = "fill tiles"
	workScatter   = "scatter"
	workProcess   = "process"
	workMerge     = "merge"
	workWrite     = "write"
)

// traceBegin lays out the rows that every query has.
func (q *execution) traceBegin() {
	if q.trace == nil {
		return
	}
	q.trace.Row(traceQuery, "phase", 0).Add(string(PhasePlan), q.started, time.Now())
	for i := range q.workers {
		q.traceWorker(i)
	}
}

// traceWorker returns the row of a worker.
func (q *execution) traceWorker(i int) *trace.Row {
	if q.trace == nil {
		return nil
	}
	return q.trace.Row(traceCPU, fmt.Sprintf("worker %d", i), i)
}

// deviceTrace shows each stream of a device, and its copy engines, which copy for all streams.
type deviceTrace struct{ query *trace.Query }

// Span implements stream.Trace.
func (d deviceTrace) Span(device, index int, lane stream.Lane, name string, begin, end time.Time) {
	group := fmt.Sprintf("device %d", device)
	row := fmt.Sprintf("stream %d", index)
	switch lane {
	case stream.LaneCopyIn:
		d.query.Row(group, "copy engine in", 0).Add(row, begin, end)
	case stream.LaneCopyOut:
		d.query.Row(group, "copy engine out", 1).Add(row, begin, end)
	}
	d.query.Row(group, row, 2+index).Add(name, begin, end)
}

// deviceTrace returns what takes the spans of devices; nil without a trace.
func (q *execution) deviceTrace() stream.Trace {
	if q.trace == nil {
		return nil
	}
	return deviceTrace{q.trace}
}
