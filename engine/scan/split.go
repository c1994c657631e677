package scan

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/recordreader"
)

// split is the Split that all formats share.
type split struct {
	part decode.Part
	plan *delivery.Plan
	base uint64 // position of the input's first row

	filter *rowsOfGroup // of part; nil where all rows are needed

	changed func() error // of the input: returns the error of a file that is another by now; nil where it is no file
	turns   *turns       // of the readers of the table
}

var _ Split = (*split)(nil)

func (s *split) Position() uint64 { return s.base + s.part.Offset() }
func (s *split) Rows() int64      { return s.part.Rows() }
func (s *split) Bytes() int64     { return s.part.Bytes() }
func (s *split) Name() string     { return s.part.Name() }

// Open implements Split.
func (s *split) Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, split: s, opt: opt, mem: reserve.New(opt.Allocator, opt.Budget)}
	r.mem.Margin = r.margin
	r.deliverer = delivery.NewDeliverer(s.plan, r.mem)
	r.deliverer.Rows = r.fileRows
	r.Init(s.plan.Schema, r.next, r.free)
	if err := r.begin(); err != nil {
		return nil, decode.Locate(s.part.Name(), err)
	}
	return r, nil
}

// reader is the array.RecordReader over a RowReader. The context of Open bounds all of its reading:
// array.RecordReader has no place for another.
type reader struct {
	recordreader.Base
	ctx        context.Context
	split      *split
	opt        OpenOptions
	mem        *reserve.Allocator
	active     bool             // it has a turn of the split's table
	shrinks    int              // how often the steps of source were made smaller
	wasRefused bool             // the budget had no room for a step
	source     decode.RowReader // nil once closed
	deliverer  *delivery.Deliverer

	whole  arrow.RecordBatch // of source, to be delivered in batches of opt.BatchRows; nil where no row of it is left
	cut    int64             // rows of whole that have been delivered
	within int64             // rows of source's batch before the current batch
	rows   int64             // returned so far
}

// next returns the next batch, of S1's types. It closes the file at the end and at an error. S4.
func (r *reader) next() (batch arrow.RecordBatch, err error) {
	err = r.ctx.Err()
	if err == nil {
		err = decode.Guard(func() (err error) {
			batch, err = r.advance()
			return err
		})
	}
	if err == nil {
		r.rows += batch.NumRows()
		return batch, nil
	}
	if err == io.EOF { //nolint:errorlint // an error around io.EOF is one of the data
		err = r.checkEnd()
	}
	r.drop()
	err = r.locate(err)
	return nil, decode.Locate(r.split.part.Name(), errors.Join(err, r.close()))
}

// locate puts a place before an error: the row that the error tells, if it does, else the part.
func (r *reader) locate(err error) error {
	place := r.split.part.Name()
	p, names := r.split.part.(decode.RowNamer)
	placer, places := r.source.(decode.RowPlacer)
	text := (*decode.TextError)(nil)
	row, isOfBatch := decode.BatchRow(err)
	switch {
	case names && errors.As(err, &text):
		place = p.RowName(r.rows + text.Row)
	case isOfBatch && places:
		place = placer.PlaceOf(r.within + int64(row))
	case isOfBatch && names:
		place = p.RowName(r.rows + int64(row))
	}
	return decode.Locate(place, err)
}

// free gives back what the reader holds when its last holder releases it. The error of closing the
// file is dropped: the holder has all rows that it wanted.
func (r *reader) free() {
	r.drop()
	_ = r.close()
}

// checkEnd returns the error of a file that is another by now, or that has not as many rows as its
// metadata says, which positions rely on. S2, S7.
func (r *reader) checkEnd() error {
	if r.split.changed != nil {
		if err := r.split.changed(); err != nil {
			return err
		}
	}
	if want := r.split.part.Rows(); want >= 0 && r.rows != want {
		return fmt.Errorf("%w: %d rows, where the file's metadata says %d", ErrCorrupt, r.rows, want)
	}
	return nil
}

// advance returns the next batch that is not empty, or io.EOF. Batches are cut before they are
// delivered: a batch without columns may have any number of rows, and a constant column takes
// memory for each row.
func (r *reader) advance() (arrow.RecordBatch, error) {
	for r.whole == nil {
		whole, err := r.step()
		if err != nil {
			return nil, err
		}
		if whole.NumRows() == 0 {
			whole.Release()
			continue
		}
		r.whole, r.cut = whole, 0
	}
	rows := r.whole.NumRows()
	r.within = r.cut
	r.cut = min(rows, r.within+int64(r.opt.BatchRows))
	part := r.whole
	if r.cut-r.within == rows {
		part.Retain()
	} else {
		part = recordreader.Slice(part, r.within, r.cut)
	}
	defer part.Release()
	if r.cut == rows {
		r.whole.Release()
		r.whole = nil
	}
	return r.deliverer.Deliver(part)
}

// fileRows returns the numbers of the next rows in the input, counted from 0.
func (r *reader) fileRows(rows int64) arrow.Array {
	b := array.NewInt64Builder(r.mem)
	defer b.Release()
	b.Reserve(int(rows))
	of := make([]int, rows)
	if n, ok := r.source.(decode.RowNumberer); ok {
		n.RowNumbers(r.within, of)
	} else {
		for i := range of {
			of[i] = int(r.rows) + i
		}
	}
	for _, row := range of {
		b.UnsafeAppend(int64(r.split.part.Offset()) + int64(row))
	}
	return b.NewArray()
}

// drop releases the rest of the source's batch, and the deliverer's arrays.
func (r *reader) drop() {
	if r.whole != nil {
		r.whole.Release()
		r.whole = nil
	}
	r.deliverer.Close()
}

func (r *reader) close() error {
	if r.source == nil {
		return nil
	}
	defer r.rest()
	r.split.turns.learn(r.shrinks, r.wasRefused)
	source := r.source
	r.source = nil
	return decode.Guard(source.Close)
}
