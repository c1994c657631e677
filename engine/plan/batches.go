package plan

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// batches is the part that the readers of this package share: it counts the references to a reader, which has one batch
// at a time.
type batches struct {
	more   atomic.Int64 // holders beside the first
	schema *arrow.Schema
	from   array.RecordReader // of which the batches are made, and which is released with the reader; nil where there is none
	batch  arrow.RecordBatch
	err    error
	closed func() // gives back what else the reader holds; nil of nothing
}

func (b *batches) Retain() { b.more.Add(1) }

func (b *batches) Release() {
	if b.more.Add(-1) >= 0 {
		return
	}
	b.drop()
	if b.closed != nil {
		b.closed()
	}
	if b.from != nil {
		b.from.Release()
	}
}

// drop gives the batch back.
func (b *batches) drop() {
	if b.batch != nil {
		b.batch.Release()
		b.batch = nil
	}
}

func (b *batches) Schema() *arrow.Schema          { return b.schema }
func (b *batches) RecordBatch() arrow.RecordBatch { return b.batch }
func (b *batches) Record() arrow.RecordBatch      { return b.batch }

func (b *batches) Err() error {
	if b.err == nil && b.from != nil {
		return b.from.Err()
	}
	return b.err
}
