package engine

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// Range says which rows with equal keys are partners, by values behind the keys.
//
//	build side    a value, and, where Reach is given, a second one
//	probe side    the bounds that are given, in the order Low, High, Reach
//
// Values are of Sortable types. Where their words are not exact (order.HasExactWords), pairs are found, too, that are a
// little out of range; of Best there are none.
type Range struct {
	Low, High *Bound // that the value is not below, and not above
	Reach     *Bound // that the second value is not below
	Inverted  bool   // of the order: below is above
	Best      bool   // the partner with the greatest value is wanted, or the least if Inverted
}

// Bound is one end of a Range.
type Bound struct {
	Strict bool // a value that is equal is out of range
}

// bounds returns the bounds that are given, in the order of their columns; none of no range.
func (r *Range) bounds() []*Bound {
	return slices.DeleteFunc([]*Bound{r.Low, r.High, r.Reach}, func(b *Bound) bool { return b == nil })
}

// values returns how many values a row of the build side has.
func (r *Range) values() int {
	switch {
	case len(r.bounds()) == 0:
		return 0
	case r.Reach != nil:
		return 2
	}
	return 1
}

// codesBytes is what a row takes in order.Codes, beside the bytes of its value.
const codesBytes = 32

// hasCodes says whether values of the build side are compared by more than their words.
func (o *HashedOptions) hasCodes() bool {
	return o.Range.Best && !order.HasExactWords(o.Schema.Field(len(o.Keys.KeyColumns)).Type)
}

// rowBytes is what a row of the build side takes beside its columns, at most.
func (o *HashedOptions) rowBytes() int64 {
	bytes := cpujoin.RowBytes(&o.Keys.Keys, &cpujoin.Ranges{Words: o.Range.values()})
	if o.hasCodes() {
		bytes += codesBytes
	}
	return bytes
}

// bytesOf returns how many bytes a batch of the build side takes in memory, with its part of tables.
func (o *HashedOptions) bytesOf(batch arrow.RecordBatch) int64 {
	bytes := rowdata.BatchBytes(batch) + batch.NumRows()*o.rowBytes()
	if o.hasCodes() {
		bytes += rowdata.ArrayBytes(batch.Column(len(o.Keys.KeyColumns)))
	}
	return bytes
}

// ranges is the Range of a Hashed.
type ranges struct {
	Range
	keys int // columns before the values

	// Of Range.Best whose words are not exact, else nil: what tells values of equal words apart.
	mu    sync.RWMutex
	codes map[uint32]*order.Codes // by batch of the build side
	exact bool
}

func newRanges(of *HashedOptions) *ranges {
	r := &ranges{Range: of.Range, keys: len(of.Keys.KeyColumns), exact: !of.hasCodes()}
	if !r.exact {
		r.codes = map[uint32]*order.Codes{}
	}
	return r
}

// partners returns what the tables of a Hashed are made for.
func (r *ranges) partners() cpujoin.Ranges {
	of := cpujoin.Ranges{Words: r.values(), Best: r.Best}
	if !r.exact {
		of.Compare = func(a, b uint64) int {
			return r.codes[uint32(a>>32)].Compare(int(uint32(a)), r.codes[uint32(b>>32)], int(uint32(b)))
		}
	}
	return of
}

// codesOf returns the order of a column's values.
func (r *ranges) codesOf(values arrow.Array) *order.Codes {
	schema := arrow.NewSchema([]arrow.Field{{Name: "value", Type: values.DataType(), Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{values}, int64(values.Len()))
	defer batch.Release()
	return order.NewCodes(batch, order.Key{Descending: r.Inverted})
}

// words returns the words of a column's values, in place of some, in the order of the range.
func (r *ranges) words(words []uint64, values arrow.Array) []uint64 {
	words = slices.Grow(words[:0], values.Len())[:values.Len()]
	order.Words(words, values)
	if r.Inverted {
		for i := range words {
			words[i] = ^words[i]
		}
	}
	return words
}

// rangeValues are the values of a batch of the build side. One goroutine at a time uses it.
type rangeValues struct {
	of      *ranges
	columns []arrow.Array
	words   [][]uint64
	tiles   [][]uint64 // of a tile
}

func (r *ranges) newValues() *rangeValues {
	n := r.values()
	return &rangeValues{of: r, words: make([][]uint64, n), tiles: make([][]uint64, n)}
}

// begin turns to the batch of a number.
func (v *rangeValues) begin(number uint32, batch arrow.RecordBatch) error {
	r := v.of
	v.columns = batch.Columns()[r.keys : r.keys+len(v.words)]
	for i, values := range v.columns {
		v.words[i] = r.words(v.words[i], values)
	}
	if !r.exact {
		codes := r.codesOf(v.columns[0])
		r.mu.Lock()
		defer r.mu.Unlock()
		r.codes[number] = codes
	}
	return nil
}

// tile returns the values of some rows of the batch.
func (v *rangeValues) tile(from, rows int) [][]uint64 {
	for i, words := range v.words {
		v.tiles[i] = words[from : from+rows]
	}
	return v.tiles
}

// rangeBounds are the bounds of a batch of the probe side. One goroutine at a time uses it.
type rangeBounds struct {
	of    *ranges
	words [3][]uint64  // of Low, High and Reach, by row; what excludes nothing where a bound is not given
	codes *order.Codes // of High, where words are not exact and Range.Best asks for them
	from  int          // of the batch: the first row of the tile
	tiles cpujoin.Bounds
}

func (r *ranges) newBounds() *rangeBounds {
	b := &rangeBounds{of: r}
	if !r.exact {
		b.tiles.Compare = func(row int, found uint64) int {
			c := b.codes.Compare(b.from+row, r.codes[uint32(found>>32)], int(uint32(found)))
			if c == 0 && r.High.Strict {
				return -1
			}
			return c
		}
	}
	return b
}

// Places of rangeBounds.words.
const (
	lowBound = iota
	highBound
	reachBound
)

// begin turns to a batch.
func (b *rangeBounds) begin(batch arrow.RecordBatch) {
	r, at := b.of, b.of.keys
	if r.values() == 0 {
		return
	}
	rows := int(batch.NumRows())
	for i, bound := range []*Bound{r.Low, r.High, r.Reach} {
		if bound != nil {
			b.words[i] = r.words(b.words[i], batch.Column(at))
			at++
			continue
		}
		b.words[i] = slices.Grow(b.words[i][:0], rows)[:rows]
		unbounded := uint64(0)
		if i == highBound {
			unbounded = math.MaxUint64
		}
		for row := range b.words[i] {
			b.words[i][row] = unbounded
		}
	}
	if !r.exact {
		b.codes = r.codesOf(batch.Column(r.keys))
	}
	at = r.keys
	for i, bound := range []*Bound{r.Low, r.High, r.Reach} {
		if bound == nil {
			continue
		}
		values := batch.Column(at)
		at++
		if bound.Strict && order.HasExactWords(values.DataType()) {
			b.excludeEqual(i)
		}
		if values.NullN() > 0 {
			for row := range rows {
				if values.IsNull(row) {
					b.exclude(row)
				}
			}
		}
	}
}

// excludeEqual moves a bound that is strict to the next word.
func (b *rangeBounds) excludeEqual(bound int) {
	last, step := uint64(math.MaxUint64), uint64(1)
	if bound == highBound {
		last, step = 0, math.MaxUint64
	}
	for row, word := range b.words[bound] {
		if word == last {
			b.exclude(row)
		} else if b.words[lowBound][row] <= b.words[highBound][row] {
			b.words[bound][row] = word + step
		}
	}
}

// exclude leaves a row without a partner.
func (b *rangeBounds) exclude(row int) { b.words[lowBound][row], b.words[highBound][row] = 1, 0 }

// tile returns the bounds of some rows of the batch.
func (b *rangeBounds) tile(from, rows int) *cpujoin.Bounds {
	if b.of.values() == 0 {
		return nil
	}
	b.from = from
	b.tiles.Low, b.tiles.High = b.words[lowBound][from:from+rows], b.words[highBound][from:from+rows]
	if b.of.Reach != nil {
		b.tiles.Reach = b.words[reachBound][from : from+rows]
	}
	return &b.tiles
}

// sortedBatches are batches in the order of a range's values.
type sortedBatches struct{ *order.Reader }

// sorted takes over batches of the build side, and returns their rows with the best first: the partners that a row has
// in one round are better than partners in later rounds.
func (b *BuildSide) sorted(ctx context.Context, in batches) (batches, error) {
	input := recordreader.New(b.opt.Schema, in.Next, in.Close)
	defer input.Release()
	by := order.By{Keys: []order.Key{{Column: len(b.opt.Keys.KeyColumns), Descending: !b.opt.Range.Inverted}}}
	opt := b.statement.sortOptions()
	opt.Threads, opt.Units = 1, nil // the caller's thread, which holds its unit
	r, err := order.New(ctx, input, by, opt, nil)
	if err != nil {
		return nil, err
	}
	return sortedBatches{r}, nil
}

// Next implements batches.
func (s sortedBatches) Next() (arrow.RecordBatch, error) { return recordreader.Owned(s.Reader) }

// Close implements batches.
func (s sortedBatches) Close() { s.Release() }
