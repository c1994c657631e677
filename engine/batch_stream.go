package engine

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// batchStream is the array.RecordReader over batches that goroutines make: what Result and Rows share.
type batchStream struct {
	schema  *arrow.Schema
	batches chan arrow.RecordBatch // closed once err is set
	cancel  context.CancelCauseFunc
	refs    atomic.Int64

	batch arrow.RecordBatch
	ended bool  // Next has seen the end
	left  bool  // the last reference was dropped before the end was seen
	err   error // what ended the stream early
}

var _ array.RecordReader = (*batchStream)(nil)

// init makes a stream with one reference, of which so many batches may wait.
func (s *batchStream) init(schema *arrow.Schema, waiting int) {
	s.schema, s.batches = schema, make(chan arrow.RecordBatch, waiting)
	s.refs.Store(1)
}

// Schema returns the columns: of a Result the keys and then the aggregates, as the query lists them, of Rows what the maps
// make.
func (s *batchStream) Schema() *arrow.Schema { return s.schema }

// Next makes the next batch current. It returns false at the end and after an error.
func (s *batchStream) Next() bool {
	s.drop()
	batch, ok := <-s.batches
	s.batch, s.ended = batch, !ok
	return ok
}

// RecordBatch returns the current batch.
func (s *batchStream) RecordBatch() arrow.RecordBatch { return s.batch }

// Record returns the current batch, under the name that array.RecordReader had for it before.
func (s *batchStream) Record() arrow.RecordBatch { return s.batch }

// Err returns what ended the stream early: an error of the source, ErrOverflow, the cause of the
// context's end, ErrClosed. It is nil until Next has returned false.
func (s *batchStream) Err() error {
	if !s.ended {
		return nil
	}
	return s.err
}

// Retain adds a reference.
func (s *batchStream) Retain() { s.refs.Add(1) }

// Release drops a reference. The last one ends the work and gives back what it holds.
func (s *batchStream) Release() {
	if s.refs.Add(-1) != 0 {
		return
	}
	s.drop()
	s.cancel(context.Canceled)
	for batch := range s.batches {
		batch.Release()
	}
	s.left = true
}

// drop gives the current batch back.
func (s *batchStream) drop() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}
