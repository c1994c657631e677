package engine

import (
	"cmp"
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// Result streams the result of a query. It is an array.RecordReader: one goroutine at a time may
// use it, a batch is valid until the next call of Next unless it is retained, and the last Release
// ends the query if it still runs. Its columns are the keys and then the aggregates, as the query
// lists them.
//
// Err is nil until Next has returned false. Then it is what ended the query early: an error of the
// source, ErrOverflow, the cause of the context's end, ErrClosed.
type Result struct {
	batchStream
	query    *execution // nil once it has ended
	progress *progress  // of query
	output   *batchOutput
}

func newResult(schema *arrow.Schema, q *execution) *Result {
	r := &Result{query: q, progress: q.progress}
	r.init(schema, 0)
	return r
}

// RowsExpected returns about how many rows the result will have in all, or 0 as long as nothing
// tells. Any goroutine may call it.
func (r *Result) RowsExpected() int64 { return r.progress.groupsExpected() }

// Part returns which part of all groups are behind a number of rows of the result, from 0 to 1, or -1
// where that is not known.
func (r *Result) Part(rows int64) float64 {
	expected := r.RowsExpected()
	if expected <= 0 {
		return -1
	}
	made := float64(r.progress.groups.Load()) / float64(expected)
	return min(made*min(float64(rows)/float64(max(r.made.Load(), 1)), 1), 1)
}

// Add adds groups to the result, and what the options of Groups make of them, beside the query's own. The
// batch stays the caller's. Whoever makes the input of the query calls it, until the end of the input.
func (r *Result) Add(ctx context.Context, groups arrow.RecordBatch) error {
	groups.Retain()
	return r.output.put(ctx, nil, groups)
}

// finish ends the stream, with an error or nil.
func (r *Result) finish(err error) {
	statsErr := spawn.Call(func() error {
		r.stats = r.query.stats()
		return nil
	})
	r.failure = spawn.InQuery(cmp.Or(err, statsErr), r.query.shared.Bound.Query.String())
	r.query = nil
	close(r.batches)
}

// All returns the batches of the result for a range loop. What ends the query early is yielded
// last, without a batch. The batch of a step is the result's: it is valid until the next step,
// unless the loop retains it, which then has to release it. All releases nothing else: a loop may
// break and another one go on, and the result must be released after it.
//
//	defer result.Release()
//	for batch, err := range result.All() {
//		if err != nil {
//			return err
//		}
//		...
//	}
func (r *Result) All() iter.Seq2[arrow.RecordBatch, error] { return recordreader.All(r) }
