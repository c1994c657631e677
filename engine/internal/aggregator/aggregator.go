package aggregator

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/trace"
)

// Aggregator turns the rows of a query into groups, and writes them to the query's output:
//
//	Begin -> TakeSplit, Take ... -> EndInput -> Process -> Release
//	                    ^--- refused ---/
//
// After an error of any method, Release follows. Release may be followed by Begin: the input is
// taken anew.
type Aggregator interface {
	// Begin makes the aggregator ready to take rows.
	Begin(ctx context.Context) error

	// TakeSplit takes all rows of a split as they lie in its file. It returns false, and has taken none,
	// where they are to be read as batches. All readers call it at once.
	TakeSplit(ctx context.Context, r *Rows, split scan.Split) (taken bool, err error)

	// Take takes rows of the reader's piece, from row from on and at most up to row to, and returns
	// how many it has taken. All readers call it at once. It keeps nothing of the batch that it
	// does not retain.
	Take(ctx context.Context, r *Rows, from, to int) (taken int, err error)

	// EndInput is called once all rows were taken. Splits that it returns are to be read as batches after
	// all, before it is called again: TakeSplit has taken them, and they could not be decoded.
	EndInput(ctx context.Context) (refused []scan.Split, err error)

	// Process writes the groups of all rows that were taken.
	Process(ctx context.Context) error

	// Release gives back what the aggregator holds. cause is why the query ends early; nil when it
	// does not. again says that the aggregator can answer the query in spite of the cause, if it
	// begins anew. An error that is spawn.ErrInternal is a bug that no other method has returned.
	Release(cause error) (again bool, err error)
}

// Query is a query as aggregators see it.
type Query struct {
	Bound      *rowdata.Bound
	Interners  []*encode.Interner // of the query's strings, see encode.NewInterners
	Rows       int64              // of the input; -1 when it is not known
	Once       bool               // the input cannot be read again
	Groups     bool               // the input is what another query makes meanwhile, to which devices are left
	Workers    int                // that read, aggregate and write at once
	ResultRows int                // of a result batch, at most
	Output     Output             // where the groups go; zero where a query is only planned

	Threads *semaphore.Weighted // of the engine: U3
	Share   *arbiter.Statement  // whose part of the memory the query has
	Trace   *trace.Query        // nil where nothing is traced

	// Work and WorkDone count the rows and groups of the second phase, for the query's progress.
	Work, WorkDone *atomic.Int64
}

// Output is where the groups of a query go.
type Output struct {
	// Writer returns one worker's way to the output.
	Writer func() Writer

	// Send sends a batch of results as it is. It is nil where results are no batches, or where the
	// engine does not choose the memory of the batches.
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

// Parallel runs a function for each of the query's workers, on a goroutine that holds a thread.
func (q *Query) Parallel(ctx context.Context, f func(ctx context.Context, worker int, th *threads.Thread) error) error {
	return threads.Parallel(ctx, q.Threads, q.Workers, q.traceRow, f)
}

// traceGroup names the rows of the workers in a trace.
const traceGroup = "CPU"

// traceRow returns the row of a worker in the trace; nil without a trace.
func (q *Query) traceRow(worker int) *trace.Row {
	if q.Trace == nil {
		return nil
	}
	return q.Trace.Row(traceGroup, fmt.Sprintf("worker %d", worker), worker)
}

// TraceWorkers lays out the workers' rows of the trace, so that a worker that does nothing is
// shown, too.
func (q *Query) TraceWorkers() {
	for i := range q.Workers {
		q.traceRow(i)
	}
}
