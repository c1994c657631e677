package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// Reader returns the rows of another reader in order. It is an array.RecordReader: one goroutine at a
// time may use it, and a batch is valid until the next call of Next unless it is retained. The input is
// read by the first call of Next.
type Reader struct {
	refs  atomic.Int64
	ctx   context.Context
	input array.RecordReader // nil once it is read, and for the rows of a Collector
	by    By
	sort  *sorter
	done  func()

	next    func() ([]arrow.RecordBatch, error) // nil before the first call of Next
	merger  *merger                             // nil where no run was written
	at      int                                 // of the sorter's entries
	skip    int64                               // rows
	left    int64                               // rows to return
	pending []arrow.RecordBatch
	current arrow.RecordBatch
	ended   bool
	err     error
}

var _ array.RecordReader = (*Reader)(nil)

// New returns the rows of the input in order. The input is retained until the end. done, if it is not
// nil, is called once when everything has been given back. An error is query.ErrQuery where the order
// does not suit the columns.
func New(ctx context.Context, input array.RecordReader, by By, opt Options, done func()) (*Reader, error) {
	r, err := newUnread(ctx, input.Schema(), by, opt, done)
	if err != nil {
		return nil, err
	}
	r.input = input
	input.Retain()
	return r, nil
}

// newUnread returns a reader without an input.
func newUnread(ctx context.Context, schema *arrow.Schema, by By, opt Options, done func()) (*Reader, error) {
	opt.EnsureDefaults()
	if err := errors.Join(opt.Validate(), by.Validate(schema)); err != nil {
		return nil, err
	}
	if done == nil {
		done = func() {}
	}
	r := &Reader{ctx: ctx, by: by, done: done, skip: by.Offset, left: math.MaxInt64}
	r.refs.Store(1)
	if by.Limited {
		r.left = by.Limit
	}
	r.sort = &sorter{
		opt:     opt,
		schema:  schema,
		wanted:  by.wanted(),
		encoder: newKeyEncoder(schema, by.Keys),
		sieve:   sieve{keys: by.Keys},
		workers: workers{opt.Threads, opt.Units},
	}
	return r, nil
}

// Schema returns that of the input.
func (r *Reader) Schema() *arrow.Schema { return r.sort.schema }

// RecordBatch returns the current batch.
func (r *Reader) RecordBatch() arrow.RecordBatch { return r.current }

// Record returns the current batch, under the name that array.RecordReader had for it before.
func (r *Reader) Record() arrow.RecordBatch { return r.current }

// Err returns what ended the reading early: an error of the input, of the temp directory, the cause of
// the context's end.
func (r *Reader) Err() error { return r.err }

// Stats tells what the sort did so far.
func (r *Reader) Stats() Stats { return r.sort.stats }

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release drops a reference. The last one gives everything back.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		_ = r.end() // the caller has given up
	}
}

// Next makes the next batch current. It returns false at the end and after an error.
func (r *Reader) Next() bool {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	if r.ended {
		return false
	}
	err := spawn.Call(r.advance)
	if err == nil {
		return true
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r.err = errors.Join(err, r.end())
	return false
}

// advance makes the next batch current, or returns io.EOF.
func (r *Reader) advance() (err error) {
	for r.left > 0 {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		spawn.Step()
		if r.next == nil {
			if err := r.start(); err != nil {
				return err
			}
		}
		if len(r.pending) == 0 {
			if r.pending, err = r.next(); err != nil {
				return err
			}
			continue
		}
		batch := r.pending[0]
		r.pending = r.pending[1:]
		if r.take(batch) {
			return nil
		}
	}
	return io.EOF
}

// take makes a batch that it takes over current, but for rows that are skipped or too many.
func (r *Reader) take(batch arrow.RecordBatch) bool {
	from := min(r.skip, batch.NumRows())
	to := from + min(r.left, batch.NumRows()-from)
	r.skip -= from
	r.left -= to - from
	if from == 0 && to == batch.NumRows() && to > 0 {
		r.current = batch
		return true
	}
	defer batch.Release()
	if from == to {
		return false
	}
	r.current = sliceBatch(batch, from, to)
	return true
}

// sliceBatch is RecordBatch.NewSlice, which loses the rows of a batch without columns.
func sliceBatch(b arrow.RecordBatch, from, to int64) arrow.RecordBatch {
	if b.NumCols() == 0 {
		return array.NewRecordBatch(b.Schema(), nil, to-from)
	}
	return b.NewSlice(from, to)
}

// start reads the input, unless its order will do, and decides where rows come from.
func (r *Reader) start() error {
	if len(r.by.Keys) == 0 {
		r.next = r.nextInput
		return nil
	}
	for r.input != nil {
		batches, err := r.nextInput()
		if errors.Is(err, io.EOF) {
			r.dropInput()
			break
		}
		if err != nil {
			return err
		}
		err = r.sort.add(r.ctx, batches[0])
		releaseAll(batches)
		if err != nil {
			return r.failed(err)
		}
	}
	if err := r.startSorted(); err != nil {
		return r.failed(err)
	}
	return nil
}

// failed says what the rows were ordered for, and names the knobs of a limit that was met.
func (r *Reader) failed(err error) error {
	if errors.Is(err, store.ErrTempLimit) {
		return fmt.Errorf("%s: %w; %s", r.sort.opt.Purpose, err, store.TempLimitKnobs)
	}
	return fmt.Errorf("%s: %w", r.sort.opt.Purpose, err)
}

func (r *Reader) startSorted() (err error) {
	s := r.sort
	if len(s.runs) == 0 {
		if err := s.sort(r.ctx); err != nil {
			return err
		}
		r.next = r.nextHeld
		return nil
	}
	if err := s.spill(r.ctx); err != nil {
		return err
	}
	s.entries, s.looked = nil, nil // cursors have entries of their own
	if err := s.mergeRuns(r.ctx); err != nil {
		return err
	}
	r.merger, err = s.newMerger(s.runs)
	r.next = r.nextMerged
	return err
}

// nextInput returns the next batch of the input, or io.EOF.
func (r *Reader) nextInput() ([]arrow.RecordBatch, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	if !r.input.Next() {
		if err := r.input.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	batch := r.input.RecordBatch()
	if err := r.check(batch); err != nil {
		return nil, err
	}
	batch.Retain()
	return []arrow.RecordBatch{batch}, nil
}

// check refuses a batch that is not of the schema.
func (r *Reader) check(batch arrow.RecordBatch) error {
	if !batch.Schema().Equal(r.sort.schema) {
		return fmt.Errorf("%s: a batch has columns %s, the schema says %s", r.sort.opt.Purpose, batch.Schema(), r.sort.schema)
	}
	for _, k := range r.by.Keys {
		if f := r.sort.schema.Field(k.Column); !f.Nullable && batch.Column(k.Column).NullN() > 0 {
			return fmt.Errorf("%s %q: a batch has NULLs, the schema says that there are none", r.sort.opt.Purpose, f.Name)
		}
	}
	return nil
}

// nextHeld returns the next rows of those in memory, or io.EOF.
func (r *Reader) nextHeld() ([]arrow.RecordBatch, error) {
	s := r.sort
	if skipped := min(r.skip, int64(len(s.entries)-r.at)); skipped > 0 {
		r.at += int(skipped)
		r.skip -= skipped
	}
	if r.at == len(s.entries) {
		return nil, io.EOF
	}
	to := min(r.at+s.batchRows(), len(s.entries))
	batches, err := s.gather(s.batches, s.entries[r.at:to])
	r.at = to
	return batches, err
}

// nextMerged returns the next rows of the runs, or io.EOF.
func (r *Reader) nextMerged() ([]arrow.RecordBatch, error) {
	batches, err := r.merger.next(r.sort.batchRows())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.failed(err)
	}
	return batches, err
}

func (r *Reader) dropInput() {
	if r.input != nil {
		r.input.Release()
		r.input = nil
	}
}

// end gives everything back. O4.
func (r *Reader) end() error {
	if r.ended {
		return nil
	}
	r.ended = true
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	releaseAll(r.pending)
	r.pending = nil
	if r.merger != nil {
		r.merger.close()
	}
	err := r.sort.close()
	r.dropInput()
	r.done()
	return err
}
