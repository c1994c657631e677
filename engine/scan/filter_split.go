package scan

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// filteredSplit filters the batches of a split, which has the columns wanted and those that are tested.
type filteredSplit struct {
	Split
	test           *decode.RowTest
	schema         *arrow.Schema // of the columns wanted
	wanted, tested []int         // among the columns of Split
}

func newFilteredSplit(s Split, test *decode.RowTest, schema *arrow.Schema, columns, wanted, tested []int) Split {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	return &filteredSplit{Split: s, test: test, schema: arrow.NewSchema(fields, nil), wanted: wanted, tested: tested}
}

// Rows implements Split.
func (s *filteredSplit) Rows() int64 { return -1 }

// Open implements Split.
func (s *filteredSplit) Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &filteredReader{ctx: ctx, split: s, from: from, mem: opt.Allocator, selection: decode.Selection{Test: s.test}}
	r.refs.Store(1)
	return r, nil
}

// filteredReader is the array.RecordReader over another, of the rows that pass.
type filteredReader struct {
	refs      atomic.Int64
	ctx       context.Context // of Open, as reader's is
	split     *filteredSplit
	from      array.RecordReader
	mem       memory.Allocator
	selection decode.Selection
	current   arrow.RecordBatch
	err       error
}

func (r *filteredReader) Retain() { r.refs.Add(1) }

func (r *filteredReader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		r.from.Release()
	}
}

func (r *filteredReader) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

func (r *filteredReader) Schema() *arrow.Schema { return r.split.schema }

func (r *filteredReader) RecordBatch() arrow.RecordBatch { return r.current }

// Record implements array.RecordReader.
//
// Deprecated: use RecordBatch.
func (r *filteredReader) Record() arrow.RecordBatch { return r.current }

func (r *filteredReader) Err() error { return r.err }

// Next implements array.RecordReader.
func (r *filteredReader) Next() bool {
	r.drop()
	for r.err == nil && r.from.Next() {
		err := UseBatch(r.from.RecordBatch(), func() error { return r.filter(r.from.RecordBatch()) })
		if err != nil {
			r.err = decode.Locate(r.split.Name(), err)
			return false
		}
		if r.current != nil {
			return true
		}
	}
	if r.err == nil {
		r.err = r.from.Err()
	}
	return false
}

// filter sets current to the rows of a batch that pass, if there are any.
func (r *filteredReader) filter(batch arrow.RecordBatch) error {
	tested := delivery.Project(batch, r.split.tested)
	defer tested.Release()
	kept, err := r.selection.Run(r.ctx, tested)
	if err != nil || kept == 0 {
		return Placed(r.from, r.split.Name(), err)
	}
	r.current, err = rowset.TakeBatch(r.mem, batch, r.split.wanted, &r.selection.Rows)
	return err
}

// Place implements Placer.
func (r *filteredReader) Place(i int) string {
	if p, ok := r.from.(Placer); ok {
		return p.Place(r.selection.Rows.Nth(i))
	}
	return ""
}
