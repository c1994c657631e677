package order

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// Reader returns the rows of another reader in order. It is an array.RecordReader: one goroutine at
// a time may use it, and a batch is valid until the next call of Next unless it is retained. The
// input is read by the first call of Next. Err returns what ended the reading early: an error of
// the input or of the temp directory, the cause of the context's end.
type Reader struct {
	recordreader.Base
	ctx   context.Context
	input array.RecordReader // nil once it is read, and for the rows of a Collector
	by    By
	sort  *sorter
	done  func() error // of New; called once, by end
	ended bool         // end has been called

	part    func(rows int64) float64            // of Expect; may be nil
	more    func() ([]arrow.RecordBatch, error) // returns the next rows, or none at the end; nil before the first call
	merger  *merger                             // nil where no run was written
	at      int                                 // place in the sorter's entries, where no run was written
	skip    int64                               // rows still to be left out
	left    int64                               // rows still to be returned
	pending []arrow.RecordBatch                 // of more

	spans bool    // rows are returned by NextSpan
	marks []uint8 // of the sorter's entries; nil where rows are not in memory, or no spans are returned
	peers *peers  // of other spans; nil before the first

	batchRows int // of a batch of more, at most; set before its first call
}

// New returns the rows of the input in order. The input is retained until the end. done, if it is
// not nil, is called once when everything has been given back. An error is query.ErrQuery where the
// order does not suit the columns.
func New(ctx context.Context, input array.RecordReader, by By, opt Options, done func() error) (*Reader, error) {
	r, err := newUnread(ctx, input.Schema(), by, opt, done)
	if err != nil {
		return nil, err
	}
	r.input = input
	input.Retain()
	return r, nil
}

// newUnread returns a reader without an input.
func newUnread(ctx context.Context, schema *arrow.Schema, by By, opt Options, done func() error) (*Reader, error) {
	opt.EnsureDefaults()
	if err := errors.Join(opt.Validate(), by.Validate(schema)); err != nil {
		return nil, err
	}
	if done == nil {
		done = func() error { return nil }
	}
	r := &Reader{ctx: ctx, by: by, done: done, skip: by.Offset, left: math.MaxInt64}
	r.Init(schema, r.next, func() { _ = r.end() }) // after the last Release nobody asks for the error
	if by.Limited {
		r.left = by.Limit
	}
	r.sort = &sorter{
		opt:     opt,
		grant:   opt.Statement.Join(bytesMin, opt.Bytes, nil),
		schema:  schema,
		encoder: newKeyEncoder(schema, by.Keys),
		workers: workers{opt.Threads, opt.Units},
		cutting: cutting{wanted: by.Wanted(), sieve: sieve{keys: by.Keys}, shared: by.Bound},
	}
	if !r.sort.isLimited() {
		r.sort.packing = newPacking(schema, by.Keys)
		if r.sort.first = by.First; by.First > 0 {
			r.sort.encoder.prefix, r.sort.ties = by.Prefix, by.Ties
			r.sort.thinAt = int64(opt.ThinRows)
		}
	}
	return r, nil
}

// Expect tells which part of the input a number of its rows is, from 0 to 1, or a negative number where that is not
// known: an error says by it how much of the temp directory all rows would take. It is called before Next.
func (r *Reader) Expect(part func(rows int64) float64) { r.part = part }

// Part returns which part of its rows a number of them is, as Expect wants it.
func (r *Reader) Part(rows int64) float64 { return float64(rows) / float64(max(r.sort.stats.Rows, 1)) }

// Stats tells what the sort did so far.
func (r *Reader) Stats() Stats { return r.sort.stats }

// next returns the next batch. It gives everything back at the end and at an error. O4.
func (r *Reader) next() (batch arrow.RecordBatch, err error) {
	err = spawn.Call(func() (err error) {
		batch, err = r.advance()
		return err
	})
	if batch != nil {
		return batch, nil
	}
	return nil, errors.Join(err, r.end())
}

// advance returns the next batch, or nil at the end.
func (r *Reader) advance() (_ arrow.RecordBatch, err error) {
	for r.left > 0 {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		spawn.Step()
		if r.more == nil {
			if err := r.start(); err != nil {
				return nil, err
			}
		}
		if len(r.pending) == 0 {
			if r.pending, err = r.more(); len(r.pending) == 0 {
				return nil, err
			}
			continue
		}
		batch := r.pending[0]
		r.pending = r.pending[1:]
		if batch = r.take(batch); batch != nil {
			return batch, nil
		}
	}
	return nil, nil
}

// take returns a batch that it takes over without the rows that are skipped or too many, or nil
// where these are all.
func (r *Reader) take(batch arrow.RecordBatch) arrow.RecordBatch {
	from := min(r.skip, batch.NumRows())
	to := from + min(r.left, batch.NumRows()-from)
	r.skip -= from
	r.left -= to - from
	if from == 0 && to == batch.NumRows() && to > 0 {
		return batch
	}
	defer batch.Release()
	if from == to {
		return nil
	}
	return recordreader.Slice(batch, from, to)
}

// start reads the input, unless there are no keys, and decides where rows come from.
func (r *Reader) start() error {
	if len(r.by.Keys) == 0 && !r.by.IsShare {
		r.more = r.nextInput
		return nil
	}
	for r.input != nil {
		batch, err := r.read()
		if err != nil {
			return store.NeedTemp(err, 0, 0)
		}
		if batch == nil {
			r.dropInput()
		} else if err := r.sort.add(r.ctx, batch); err != nil {
			return r.failed(err)
		}
	}
	if r.by.IsShare { // in the order of DuckDB, whose 29% of 100 rows are 28: 29 / 100 is rounded
		r.left = int64(r.by.Share / 100 * float64(r.sort.stats.Rows))
	}
	if err := r.startSorted(); err != nil {
		return r.failed(err)
	}
	return nil
}

// failed says what the rows were ordered for, and names the knobs of a limit that was met.
func (r *Reader) failed(err error) error {
	err = fmt.Errorf("%s: %w", r.sort.opt.Purpose, err)
	if errors.Is(err, store.ErrTempLimit) {
		part := 0.0
		if r.input == nil {
			part = 1
		} else if r.part != nil {
			part = r.part(r.sort.stats.Rows)
		}
		return store.NeedTemp(err, part, r.sort.need(part))
	}
	return err
}

func (r *Reader) startSorted() (err error) {
	s := r.sort
	r.batchRows = s.batchRows()
	if len(s.runs) == 0 {
		if err := s.sort(r.ctx); err != nil {
			return err
		}
		if r.spans {
			if r.marks, err = s.mark(r.ctx); err != nil {
				return err
			}
		}
		s.grant.Ask(s.held, s.held) // until the last row is returned
		r.more = r.nextHeld
		return nil
	}
	if err := s.spill(r.ctx); err != nil {
		return err
	}
	s.entries, s.looked = nil, nil // cursors have entries of their own
	if err := s.mergeRuns(r.ctx); err != nil {
		return err
	}
	merged := s.runBytes() * int64(len(s.runs))
	s.grant.Ask(merged, merged)
	r.merger, err = s.newMerger(s.runs)
	r.more = r.nextMerged
	return err
}

// read returns the next batch of the input, which stays the input's, or nil at the end.
func (r *Reader) read() (arrow.RecordBatch, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	batch, err := recordreader.Next(r.input)
	if batch != nil {
		err = r.check(batch)
	}
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// nextInput returns the next batch of the input, or none at the end.
func (r *Reader) nextInput() ([]arrow.RecordBatch, error) {
	batch, err := r.read()
	if batch == nil {
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

// nextHeld returns the next of the rows in memory, or none at the end.
func (r *Reader) nextHeld() ([]arrow.RecordBatch, error) {
	s := r.sort
	if skipped := min(r.skip, int64(len(s.entries)-r.at)); skipped > 0 {
		r.at += int(skipped)
		r.skip -= skipped
	}
	if r.at == len(s.entries) {
		return nil, nil
	}
	to := min(r.at+r.batchRows, len(s.entries))
	batches, err := s.gather(s.batches, s.entries[r.at:to])
	r.at = to
	return batches, err
}

// nextMerged returns the next rows of the runs, or none at the end.
func (r *Reader) nextMerged() ([]arrow.RecordBatch, error) {
	batches, err := r.merger.next(r.batchRows)
	if err != nil {
		return nil, r.failed(err)
	}
	return batches, nil
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
	recordreader.ReleaseAll(r.pending)
	r.pending = nil
	if r.merger != nil {
		r.merger.close()
	}
	err := r.sort.close()
	r.sort.grant.Leave()
	r.dropInput()
	return errors.Join(err, r.done())
}
