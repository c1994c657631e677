package engine

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/internal/gather"
)

// Partners are pairs of rows: of a batch, and of a Hashed.
type Partners struct {
	Rows  []gather.Row // of the batch
	Found []gather.Row // of the Hashed

	brought *broughtRows // columns of the pairs that a device has made; nil of none
	at      []gather.Row // by pair: its row of brought
}

// Keep leaves the pairs whose bits are set.
func (p *Partners) Keep(bits []byte) {
	kept := 0
	for i := range p.Rows {
		if bitutil.BitIsNotSet(bits, i) {
			continue
		}
		p.Rows[kept], p.Found[kept] = p.Rows[i], p.Found[i]
		if p.brought != nil {
			p.at[kept] = p.at[i]
		}
		kept++
	}
	p.Rows, p.Found = p.Rows[:kept], p.Found[:kept]
	if p.brought != nil {
		p.at = p.at[:kept]
	}
}

// Finder finds rows of a Hashed by the keys of other rows. One goroutine at a time uses it.
type Finder interface {
	// Begin turns to a batch, whose first columns are the keys and the bounds of Range, and which is in use until End.
	Begin(batch arrow.RecordBatch) error

	// Next returns the next pairs of rows of the batch, and of the Hashed, whose keys are equal and whose values are in
	// range: at most a number of them. Of Range.Best, a row's pairs are from the best on, and done, which may be nil,
	// says which rows need no more. They are valid until the next call; nil is the end.
	Next(ctx context.Context, most int, done func(row uint32) bool) (*Partners, error)

	// End ends the use of the batch.
	End()

	// Release ends the use of the finder, whose memory another one takes.
	Release()
}

// FinderOptions say what a Finder is wanted for.
type FinderOptions struct {
	First bool // one partner of each row is enough
	// Columns are the columns of pairs that are wanted, by their places in the batch and in the Hashed: a device brings
	// what it can of them.
	Columns [2][]int
	Wait    func(ctx context.Context, f func()) error // as scan.OpenOptions.Wait
	Memory  memory.Allocator                          // of columns that a device brings
}

// Finder returns a finder, which must be released.
func (h *Hashed) Finder(opt FinderOptions) Finder {
	if h.of != nil {
		return newDeviceFinder(h, opt)
	}
	return h.tableFinder(opt.First)
}

// tableFinder finds rows by the tables of a Hashed.
type tableFinder struct {
	of      *Hashed
	isFirst bool

	keys   *keyPacker
	prober *cpujoin.Prober
	bounds *rangeBounds
	from   int  // of the batch: the first row of the tile
	more   bool // pairs of the tile
	pairs  cpujoin.Pairs
	found  Partners
	coded  codedKeys // tested last
}

func (h *Hashed) tableFinder(isFirst bool) *tableFinder {
	h.findersMu.Lock()
	defer h.findersMu.Unlock()
	for i := len(h.finders) - 1; i >= 0; i-- {
		if f := h.finders[i]; f.isFirst == isFirst {
			h.finders = slices.Delete(h.finders, i, i+1)
			return f
		}
	}
	return &tableFinder{
		of: h, isFirst: isFirst,
		keys: newKeyPacker(h.keys), prober: h.build.NewProber(isFirst), bounds: h.ranges.newBounds(),
	}
}

// Release implements Finder.
func (f *tableFinder) Release() {
	f.of.findersMu.Lock()
	defer f.of.findersMu.Unlock()
	f.of.finders = append(f.of.finders, f)
}

// Begin implements Finder.
func (f *tableFinder) Begin(batch arrow.RecordBatch) error {
	f.more = false
	f.bounds.begin(batch)
	return f.keys.begin(batch)
}

// Next implements Finder. Pairs come in the order of the batch.
func (f *tableFinder) Next(_ context.Context, most int, done func(row uint32) bool) (*Partners, error) {
	f.pairs.Reset()
	for len(f.pairs.Probe) < most && (done == nil || len(f.pairs.Probe) == 0) {
		if !f.more {
			t, from, err := f.keys.next()
			if err != nil {
				return nil, err
			}
			if t == nil {
				break
			}
			f.prober.Begin(t.Keys, t.Rows, f.bounds.tile(from, t.Rows))
			f.from = from
		}
		f.more = f.prober.Next(&f.pairs, uint32(f.from), most, done)
	}
	if len(f.pairs.Probe) == 0 {
		return nil, nil
	}
	p := &f.found
	p.Rows, p.Found = slices.Grow(p.Rows[:0], len(f.pairs.Probe)), slices.Grow(p.Found[:0], len(f.pairs.Probe))
	for i, row := range f.pairs.Probe {
		found := f.pairs.Build[i]
		p.Rows = append(p.Rows, gather.Row{Row: row})
		p.Found = append(p.Found, gather.Row{Batch: uint32(found >> 32), Row: uint32(found)})
	}
	return p, nil
}

// End implements Finder.
func (f *tableFinder) End() { f.keys.end() }
