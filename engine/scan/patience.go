package scan

import (
	"cmp"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// A step of a reader - opening its part, reading a batch - that has no room in the memory is tried
// again: when fewer readers of the table read and, by a reader that is alone, in smaller steps. It
// ends with the refusal where the smallest step of a reader that is alone has no room.

// begin opens the part.
func (r *reader) begin() error {
	for {
		err := r.attempt(func() (err error) {
			r.source, err = r.split.part.Open(r.ctx, r.readOptions())
			return err
		})
		if err == nil {
			for range r.split.turns.learned() { // steps as small as readers needed that were refused memory before
				r.shrink()
			}
			return nil
		}
		fewer := r.refused() != nil && r.split.turns.narrow()
		r.rest()
		if !fewer {
			return err
		}
	}
}

// readOptions returns the options to open the split's part with.
func (r *reader) readOptions() decode.Options {
	return decode.Options{
		Memory:         r.mem,
		BatchRows:      r.opt.BatchRows,
		BatchBytes:     r.opt.BatchBytes,
		Borrow:         r.opt.Borrow,
		NarrowDecimals: r.opt.NarrowDecimals,
		Sample:         r.opt.Sample,
		Progress:       r.opt.Progress,
		Rejected:       r.opt.Rejected,
		Pages:          r.opt.Pages,
	}
}

// marginBatches is how many batches a reader leaves room for while others read, too: the consumers
// of its batches take memory that they cannot do without.
const marginBatches = 4

// margin returns how many bytes of the budget the reader leaves to others: 0 if it cannot go
// slower.
func (r *reader) margin() int64 {
	if _, ok := r.source.(decode.Thrifty); !ok || r.split.turns.alone() {
		return 0
	}
	return marginBatches * r.opt.BatchBytes
}

// refused returns the refusal of the last attempt, or nil.
func (r *reader) refused() error {
	refused := r.mem.Refusal()
	r.wasRefused = r.wasRefused || refused != nil
	return refused
}

// shrink makes the steps smaller. It returns false where they cannot be.
func (r *reader) shrink() bool {
	source, ok := r.source.(decode.Thrifty)
	if !ok || !source.Shrink() {
		return false
	}
	r.shrinks++
	return true
}

// step reads the next batch of the source.
func (r *reader) step() (batch arrow.RecordBatch, err error) {
	for {
		err := r.attempt(func() (err error) {
			batch, err = r.source.Next(r.ctx)
			return err
		})
		if err == nil {
			return batch, nil
		}
		refused := r.refused()
		if refused == nil || r.ctx.Err() != nil {
			return nil, err
		}
		if !errors.Is(err, refused) { // a library has made a text of the refusal
			err = refused
		}
		if !r.goSlower() {
			return nil, decode.Locate(r.here(), r.inFull(err))
		}
	}
}

// attempt calls a function that reads, once the reader has a turn.
func (r *reader) attempt(f func() error) error {
	if !r.active && r.mem.Limited() {
		if err := r.split.turns.take(r.ctx, r.opt.Wait); err != nil {
			return err
		}
		r.active = true
	}
	return decode.Guard(f)
}

// rest gives the turn back.
func (r *reader) rest() {
	if r.active {
		r.split.turns.give()
		r.active = false
	}
}

// goSlower makes the next attempt take less memory, or leaves it more of the budget. It returns
// false where nothing helps.
func (r *reader) goSlower() bool {
	source, ok := r.source.(decode.Thrifty)
	if !ok {
		return false
	}
	source.Spare()
	if r.split.turns.narrow() {
		r.rest()
		return true
	}
	return r.shrink()
}

// inFull returns the refusal of all memory that a step takes in place of the refusal of some of it,
// so that the error says how much is enough.
func (r *reader) inFull(refused error) error {
	source, ok := r.source.(decode.Needer)
	if !ok {
		return refused
	}
	return cmp.Or(r.mem.Ask(source.Needed()), refused)
}

// here names the place of the row that is read next.
func (r *reader) here() string {
	if p, ok := r.source.(decode.RowPlacer); ok {
		return p.NextPlace()
	}
	if p, ok := r.split.part.(decode.RowNamer); ok {
		return p.RowName(r.rows)
	}
	return r.split.part.Name()
}
