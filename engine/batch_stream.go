package engine

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/threads"
)

// batchStream is the array.RecordReader over batches that goroutines make: what Result and Rows
// share.
type batchStream struct {
	recordreader.Base
	batches chan arrow.RecordBatch // closed once failure is set
	sent    atomic.Int64           // batches
	made    atomic.Int64           // rows of batches that were sent, or are about to be
	cancel  context.CancelCauseFunc
	failure error // what ended the stream early
	stats   Stats // of the work; set before batches is closed
	over    bool  // the reader has seen the end, or has no holder any more
}

// init makes a stream with one holder. Up to waiting batches may wait in it.
func (s *batchStream) init(schema *arrow.Schema, waiting int) {
	s.batches = make(chan arrow.RecordBatch, waiting)
	s.Init(schema, s.next, s.free)
}

// send hands a batch to the reader. The thread, which is given away meanwhile, may be nil.
func (s *batchStream) send(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error {
	s.made.Add(batch.NumRows())
	if th != nil {
		th.Give()
	}
	select {
	case s.batches <- batch:
		s.sent.Add(1)
	case <-ctx.Done():
		batch.Release()
	}
	if th == nil {
		return nil
	}
	return th.Take(ctx)
}

// eachMade calls a function with what a map makes of a batch, which that takes over. use calls the map, and may say
// where an error is.
func eachMade(ctx context.Context, m RowMap, batch arrow.RecordBatch, use func(func() error) error,
	take func(made arrow.RecordBatch) error) error {
	if err := use(func() error { return m.Begin(ctx, batch) }); err != nil {
		return err
	}
	for {
		var made arrow.RecordBatch
		err := use(func() (err error) {
			made, err = m.Next(ctx)
			return err
		})
		if made == nil || err != nil {
			return err
		}
		if err := take(made); err != nil {
			return err
		}
	}
}

// call calls a function.
func call(f func() error) error { return f() }

// next returns the next batch, or nil and what ended the stream.
func (s *batchStream) next() (arrow.RecordBatch, error) {
	batch, ok := <-s.batches
	if !ok {
		s.over = true
		return nil, s.failure
	}
	return batch, nil
}

// Stats tells what was done. It is zero until Next has returned false, or the last reference was
// dropped.
func (s *batchStream) Stats() Stats {
	if !s.over {
		return Stats{}
	}
	return s.stats
}

// free ends the work, and gives back what nobody has read.
func (s *batchStream) free() {
	s.cancel(context.Canceled)
	for batch := range s.batches {
		batch.Release()
	}
	s.over = true
}
