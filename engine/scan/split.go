package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// split is the Split that all formats share.
type split struct {
	part decode.Part
	plan *delivery.Plan
	base uint64 // position of the input's first row

	changed func() error // of the input: the error of a file that is another by now; nil where it is no file
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
	r.refs.Store(1)
	if err := r.begin(); err != nil {
		return nil, decode.Locate(s.part.Name(), err)
	}
	return r, nil
}

// reader is the array.RecordReader over a RowReader. The context of Open bounds all of its reading:
// array.RecordReader has no place for another.
type reader struct {
	refs       atomic.Int64
	ctx        context.Context
	split      *split
	opt        OpenOptions
	mem        *reserve.Allocator
	active     bool             // it has one of the split's turns
	shrinks    int              // how often the steps of source were made smaller
	wasRefused bool             // memory
	source     decode.RowReader // nil once closed
	deliverer  *delivery.Deliverer

	whole   arrow.RecordBatch // as read, to be delivered in batches of batchRows
	cut     int64             // rows of whole that have been delivered
	current arrow.RecordBatch
	rows    int64 // returned so far
	within  int64 // rows of the source's batch before current
	err     error
}

func (r *reader) Retain() { r.refs.Add(1) }

func (r *reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		_ = r.close() // the caller has given up; what was read is read
	}
}

// Schema has the types of S1: the batches may have dictionaries in their place.
func (r *reader) Schema() *arrow.Schema { return r.split.plan.Schema }

func (r *reader) RecordBatch() arrow.RecordBatch { return r.current }

// Record implements array.RecordReader.
//
// Deprecated: use RecordBatch.
func (r *reader) Record() arrow.RecordBatch { return r.current }

func (r *reader) Err() error { return r.err }

// Next implements array.RecordReader. It closes the file at the end and at an error. S4.
func (r *reader) Next() bool {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	if r.err != nil || r.source == nil && r.whole == nil {
		return false
	}
	err := r.ctx.Err()
	if err == nil {
		err = decode.Guard(r.advance)
	}
	if err == nil {
		r.rows += r.current.NumRows()
		return true
	}
	if errors.Is(err, io.EOF) {
		err = cmp.Or(r.split.checkFile(), r.checkRows())
	}
	r.drop()
	r.err = decode.Locate(r.split.part.Name(), errors.Join(err, r.close()))
	return false
}

// checkFile returns the error of a file that is another by now.
func (s *split) checkFile() error {
	if s.changed == nil {
		return nil
	}
	return s.changed()
}

// checkRows compares what was read with what the file promised, which positions rely on. S2.
func (r *reader) checkRows() error {
	if want := r.split.part.Rows(); want >= 0 && r.rows != want {
		return fmt.Errorf("%w: %d rows, where the file's metadata says %d", ErrCorrupt, r.rows, want)
	}
	return nil
}

// advance sets current to the next batch that is not empty, or returns io.EOF. Batches are cut before they are made
// what S1 promises: rows of which nothing is read may be any number in a batch, and a constant column takes memory for each.
func (r *reader) advance() error {
	for r.whole == nil {
		if err := r.load(); err != nil {
			return err
		}
	}
	rows := r.whole.NumRows()
	r.within = r.cut
	r.cut = min(rows, r.within+int64(r.opt.BatchRows))
	part := r.whole
	if r.cut-r.within == rows {
		part.Retain()
	} else {
		part = sliceBatch(part, r.within, r.cut)
	}
	defer part.Release()
	if r.cut == rows {
		r.whole.Release()
		r.whole = nil
	}
	var err error
	r.current, err = r.deliverer.Deliver(r.ctx, part)
	return err
}

// load reads the next batch of the source into whole, if that one has rows.
func (r *reader) load() error {
	whole, err := r.step()
	if err != nil {
		return err
	}
	if whole.NumRows() == 0 {
		whole.Release()
		return nil
	}
	r.whole, r.cut = whole, 0
	return nil
}

// sliceBatch is RecordBatch.NewSlice, which loses the rows of a batch without columns.
func sliceBatch(b arrow.RecordBatch, from, to int64) arrow.RecordBatch {
	if b.NumCols() == 0 {
		return array.NewRecordBatch(b.Schema(), nil, to-from)
	}
	return b.NewSlice(from, to)
}

func (r *reader) drop() {
	for _, b := range []*arrow.RecordBatch{&r.current, &r.whole} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
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
