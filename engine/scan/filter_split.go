package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/recordreader"
)

// filteredSplit filters the batches of a split, which has the wanted columns and the tested ones.
type filteredSplit struct {
	Split
	test           *decode.RowTest
	schema         *arrow.Schema // of the wanted columns
	wanted, tested []int         // among the columns of Split
}

func newFilteredSplit(s Split, test *condition, columns, wanted, tested []int) Split {
	schema := recordreader.Columns(test.schema, columns)
	return &filteredSplit{Split: s, test: test.rows, schema: schema, wanted: wanted, tested: tested}
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
	r := &filteredReader{ctx: ctx, split: s, from: from, mem: opt.Allocator,
		selection: decode.Selection{Test: s.test.For(opt.Sample)}}
	r.Init(s.schema, r.next, from.Release)
	return r, nil
}

// filteredReader is the array.RecordReader over another, of the rows that pass.
type filteredReader struct {
	recordreader.Base
	ctx       context.Context // of Open, as reader's is
	split     *filteredSplit
	from      array.RecordReader // owned
	mem       memory.Allocator   // of the batches
	selection decode.Selection   // of the batch of from
}

// next returns the rows that pass of the next batch in which a row passes.
func (r *filteredReader) next() (batch arrow.RecordBatch, err error) {
	for batch == nil {
		read, err := recordreader.Next(r.from)
		if read == nil {
			return nil, err
		}
		err = UseBatch(read, func() (err error) {
			batch, err = r.filter(read)
			return err
		})
		if err != nil {
			return nil, decode.Locate(r.split.Name(), err)
		}
	}
	return batch, nil
}

// filter returns the rows of a batch that pass, or nil where none does.
func (r *filteredReader) filter(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	tested := recordreader.Project(batch, r.split.tested)
	defer tested.Release()
	kept, err := r.selection.Run(r.ctx, tested)
	if err != nil || kept == 0 {
		return nil, Placed(r.from, r.split.Name(), err)
	}
	return rowset.TakeBatch(r.mem, batch, r.split.wanted, &r.selection.Rows)
}

// Place implements Placer.
func (r *filteredReader) Place(i int) string {
	if p, ok := r.from.(Placer); ok {
		return p.Place(r.selection.Rows.Nth(i))
	}
	return ""
}
