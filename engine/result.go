package engine

import (
	"cmp"
	"context"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/spawn"
)

// Result streams the result of a query. It is an array.RecordReader: one goroutine at a time may
// use it, a batch is valid until the next call of Next unless it is retained, and Release ends the
// query if it still runs.
type Result struct {
	schema  *arrow.Schema
	query   *execution
	batches chan arrow.RecordBatch
	cancel  context.CancelCauseFunc
	refs    atomic.Int64

	batch arrow.RecordBatch
	ended bool // Next has seen the end: stats and err are set
	left  bool // the last reference was dropped before: stats is set
	stats Stats
	err   error
}

var _ array.RecordReader = (*Result)(nil)

func newResult(schema *arrow.Schema, q *execution) *Result {
	r := &Result{schema: schema, query: q, batches: make(chan arrow.RecordBatch)}
	r.refs.Store(1)
	return r
}

// finish ends the stream, with an error or nil.
func (r *Result) finish(err error) {
	statsErr := spawn.Call(func() error {
		r.stats = r.query.stats()
		return nil
	})
	r.err = spawn.InQuery(cmp.Or(err, statsErr), r.query.bound.Query.String())
	r.query = nil
	close(r.batches)
	r.cancel(nil)
}

// All returns the batches of the result for a range loop. What ends the query early is yielded last, without a batch.
// The batch of a step is the result's: it is valid until the next step, unless the loop retains it, which then has to
// release it. All releases nothing else: a loop may break and another one go on, and the result must be released
// after it.
//
//	defer result.Release()
//	for batch, err := range result.All() {
//		if err != nil {
//			return err
//		}
//		...
//	}
func (r *Result) All() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
			if !yield(r.batch, nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Schema returns the keys and then the aggregates, as the query lists them.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// Next makes the next batch current. It returns false at the end and after an error.
func (r *Result) Next() bool {
	r.dropBatch()
	batch, ok := <-r.batches
	r.batch, r.ended = batch, !ok
	return ok
}

// RecordBatch returns the current batch.
func (r *Result) RecordBatch() arrow.RecordBatch { return r.batch }

// Record returns the current batch, under the name that array.RecordReader had for it before.
func (r *Result) Record() arrow.RecordBatch { return r.batch }

// Err returns what ended the query early: an error of the source, ErrOverflow, the cause of the
// context's end, ErrClosed. It is nil until Next has returned false.
func (r *Result) Err() error {
	if !r.ended {
		return nil
	}
	return r.err
}

// Stats tells what the query did. It is zero until Next has returned false, or the last reference was dropped.
func (r *Result) Stats() Stats {
	if !r.ended && !r.left {
		return Stats{}
	}
	return r.stats
}

// Retain adds a reference.
func (r *Result) Retain() { r.refs.Add(1) }

// Release drops a reference. The last one ends the query and gives back what it holds.
func (r *Result) Release() {
	if r.refs.Add(-1) != 0 {
		return
	}
	r.dropBatch()
	r.cancel(context.Canceled)
	for batch := range r.batches {
		batch.Release()
	}
	r.left = true
}

func (r *Result) dropBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}
