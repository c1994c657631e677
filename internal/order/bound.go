package order

import (
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Bound is what a sort with a limit knows of its rows so far. Whoever makes the rows asks it: of a
// row that the sort would turn away, only the keys need be made. It is safe for concurrent use.
type Bound struct {
	keys  []Key
	last  atomic.Pointer[bound]
	first atomic.Pointer[scalar.Scalar] // see First
}

// NewBound returns the bound of a sort by some keys, for By.Bound. Nothing is known so far.
func NewBound(keys []Key) *Bound { return &Bound{keys: slices.Clone(keys)} }

// Known says whether there are rows that the sort would turn away.
func (b *Bound) Known() bool { return b.last.Load() != nil }

// tell notes a bound, whose row has a value in the column of the first key.
func (b *Bound) tell(of *bound, first arrow.Array, row int) {
	b.last.Store(of)
	switch first.DataType().ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DICTIONARY, arrow.STRING_VIEW, arrow.BINARY_VIEW:
		return
	}
	if first.IsNull(row) {
		return
	}
	if v, err := scalar.GetScalar(first, row); err == nil {
		b.first.Store(&v)
	}
}

// First returns a value that, in the column of the first key, no row that is to come is behind; nil where none is
// known, or where a NULL or NaN would be before it or behind it in another order than the values'.
func (b *Bound) First() scalar.Scalar {
	if v := b.first.Load(); v != nil && !b.keys[0].NullsFirst {
		return *v
	}
	return nil
}

// Descending says whether the first key goes down.
func (b *Bound) Descending() bool { return b.keys[0].Descending }

// Sieve asks a Bound about rows. One goroutine at a time uses it.
type Sieve struct {
	of    *Bound
	sieve sieve
}

// NewSieve returns a sieve.
func (b *Bound) NewSieve() *Sieve { return &Sieve{b, sieve{keys: b.keys}} }

// Select looks at the rows in [from, from+rows) whose bits are set, lowest first, and clears the bits
// of rows that the sort would turn away. It returns how many it has cleared. keys are the rows'
// values in the columns of the order, or in the first of them, which may be dictionaries and views.
// Requires: the bound is known.
func (s *Sieve) Select(keys []arrow.Array, from, rows int, selected []byte) (cleared int) {
	cleared, _ = s.sieve.sift(keys, from, rows, selected, s.of.last.Load())
	return cleared
}
