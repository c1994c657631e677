package engine

import (
	"fmt"
	"time"

	"github.com/mpga/mpga/internal/trace"
)

// The groups of a trace's rows, beside those of devices.
const (
	traceQuery = "query"
	traceCPU   = "CPU"
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
