// Package recordreader has what the readers of record batches share: holders are counted, one batch
// is held at a time, and the first error is kept.
package recordreader

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Base is an array.RecordReader over a function that makes batches. A reader embeds it and calls
// Init before it is handed out. One goroutine at a time reads; any may retain and release.
type Base struct {
	schema  *arrow.Schema
	next    func() (arrow.RecordBatch, error) // returns a batch that Base owns, or nil at the end
	free    func()                            // gives back what the reader holds; nil where it holds nothing
	holders atomic.Int64
	batch   arrow.RecordBatch // owned; nil before the first, at the end and after an error
	ended   bool
	err     error // of next; nil at the end of the batches
}

// New returns a reader that is nothing more than a Base: see Init.
func New(schema *arrow.Schema, next func() (arrow.RecordBatch, error), free func()) array.RecordReader {
	b := new(Base)
	b.Init(schema, next, free)
	return b
}

// Init gives the reader its first holder. next returns neither a batch nor an error at the end, so
// that io.EOF is an error as any other: one of the data. It is not called again after the end, nor
// after an error. free is called once, by the last Release; nil frees nothing.
func (b *Base) Init(schema *arrow.Schema, next func() (arrow.RecordBatch, error), free func()) {
	b.schema, b.next, b.free = schema, next, free
	b.holders.Store(1)
}

// Retain implements array.RecordReader.
func (b *Base) Retain() { b.holders.Add(1) }

// Release implements array.RecordReader.
func (b *Base) Release() {
	if b.holders.Add(-1) != 0 {
		return
	}
	b.drop()
	if b.free != nil {
		b.free()
	}
}

// drop releases the batch.
func (b *Base) drop() {
	if b.batch != nil {
		b.batch.Release()
		b.batch = nil
	}
}

// Schema implements array.RecordReader.
func (b *Base) Schema() *arrow.Schema { return b.schema }

// RecordBatch implements array.RecordReader.
func (b *Base) RecordBatch() arrow.RecordBatch { return b.batch }

// Record implements array.RecordReader.
//
// Deprecated: use RecordBatch.
func (b *Base) Record() arrow.RecordBatch { return b.batch }

// Err implements array.RecordReader.
func (b *Base) Err() error { return b.err }

// Next implements array.RecordReader.
func (b *Base) Next() bool {
	b.drop()
	if b.ended {
		return false
	}
	b.batch, b.err = b.next()
	b.ended = b.batch == nil || b.err != nil
	return !b.ended
}

// Next returns the next batch of a reader, which stays the reader's, or nil at the end.
func Next(r array.RecordReader) (arrow.RecordBatch, error) {
	if r.Next() {
		return r.RecordBatch(), nil
	}
	return nil, r.Err()
}

// Owned is Next for a caller who keeps the batch, and releases it.
func Owned(r array.RecordReader) (arrow.RecordBatch, error) {
	batch, err := Next(r)
	if batch != nil {
		batch.Retain()
	}
	return batch, err
}

// Each calls a function with each batch of a reader, which stays the reader's, until the end of the batches, an error
// of the reader or the function, or the end of the context, whose cause it returns.
func Each(ctx context.Context, r array.RecordReader, take func(arrow.RecordBatch) error) error {
	for {
		batch, err := Next(r)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case batch == nil:
			return nil
		}
		if err := take(batch); err != nil {
			return err
		}
	}
}

// All returns the batches of a reader for a range loop. What ends the reader early is yielded last, without a batch.
func All(r array.RecordReader) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
			if !yield(r.RecordBatch(), nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}
}
