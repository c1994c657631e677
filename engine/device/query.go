package device

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/stream"
)

// Query is a query as devices see it.
type Query struct {
	Devices    *Devices
	Bound      *rowdata.Bound
	CPU        *cpuagg.Run // takes the rows and groups that devices give back
	Workers    int         // of the CPU
	Rows       int64       // of the input; -1 when it is not known
	Once       bool        // the input cannot be read again
	ResultRows int         // of a result batch, at most

	Threads *semaphore.Weighted // of the engine
	Trace   *trace.Query        // nil where nothing is traced

	// Parallel runs a function on n workers, each of which holds a thread.
	Parallel func(ctx context.Context, n int, f func(ctx context.Context, i int, th *threads.Thread) error) error

	// Work and WorkDone count the rows and groups of the second phase, for the query's progress.
	Work, WorkDone *atomic.Int64

	Output
}

// Output is where the groups of a query go.
type Output struct {
	// Writer returns one worker's way to the output.
	Writer func() Writer

	// Send sends a batch of results as it is. It is nil where results are no batches, or where the engine does not
	// choose the memory of the batches.
	Send func(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error
}

// Writer takes the groups that one worker has finished.
type Writer interface {
	// Write takes groups and keeps nothing of them. It may give the thread away for a while.
	Write(ctx context.Context, th *threads.Thread, g *cpuagg.Groups) error

	// Close is called after the last groups.
	Close() error

	// Release drops what Close has not handed over, after an error. It does nothing after Close.
	Release()
}

// span shows the work of a stream of a device, and its copies as work of the copy engines, which copy for all streams.
func (q *Query) span(device, index int, lane stream.Lane, name string, begin, end time.Time) {
	group := fmt.Sprintf("device %d", device)
	row := fmt.Sprintf("stream %d", index)
	switch lane {
	case stream.LaneCopyIn:
		q.Trace.Row(group, "copy engine in", 0).Add(row, begin, end)
	case stream.LaneCopyOut:
		q.Trace.Row(group, "copy engine out", 1).Add(row, begin, end)
	}
	q.Trace.Row(group, row, 2+index).Add(name, begin, end)
}

// streamTrace returns span; nil without a trace.
func (q *Query) streamTrace() func(device, stream int, lane stream.Lane, name string, begin, end time.Time) {
	if q.Trace == nil {
		return nil
	}
	return q.span
}
