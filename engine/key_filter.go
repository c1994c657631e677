package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan"
)

// KeyFilter selects the rows whose keys a Hashed has: what a join asks of the reader of its other side, so that other
// columns are read for these rows alone. Where it leaves few rows out it stops looking for a while. It is safe for
// concurrent use.
type KeyFilter struct {
	of      *Hashed
	columns []int // of the keys, in the source's schema

	tested, kept atomic.Int64

	mu     sync.Mutex
	free   []*Finder // that nobody uses now
	recent struct{ tested, kept int64 }
	pass   int64 // rows that are not looked at
}

var _ scan.RowFilter = (*KeyFilter)(nil)

// Predicate returns what the rows of another side fulfil that have a partner: the keys of that side are plain columns,
// whose places in its schema are given. ok is false where it costs more to ask than it spares.
func (h *Hashed) Predicate(columns []int) (p scan.Predicate, filter *KeyFilter, ok bool) {
	if len(columns) == 0 || !h.build.IsTestFast() {
		return scan.Predicate{}, nil, false
	}
	filter = &KeyFilter{of: h, columns: columns}
	for i, c := range columns {
		p.Terms = append(p.Terms, h.keyTerms(i, c)...)
	}
	p.Rows = filter
	return p, filter, true
}

// Counts returns how many rows were tested, and how many of them were kept.
func (f *KeyFilter) Counts() (tested, kept int64) { return f.tested.Load(), f.kept.Load() }

// Columns implements scan.RowFilter.
func (f *KeyFilter) Columns() []int { return f.columns }

// Where the filter has left out less than a quarter of keysTestedMin rows, it looks at none of the next keysPassed:
// rows often lie in an order.
const (
	keysTestedMin = 1 << 16
	keysPassed    = 8 * keysTestedMin
)

// Select implements scan.RowFilter.
func (f *KeyFilter) Select(_ context.Context, batch arrow.RecordBatch, selected []byte) (int, error) {
	rows := int(batch.NumRows())
	if f.passes(int64(rows)) {
		bitutil.SetBitsTo(selected, 0, int64(rows), true)
		return rows, nil
	}
	finder := f.take()
	defer f.give(finder)
	if err := finder.test(batch, selected); err != nil {
		return 0, err
	}
	kept := bitutil.CountSetBits(selected, 0, rows)
	f.note(int64(rows), int64(kept))
	return kept, nil
}

// passes says whether the next rows are not looked at.
func (f *KeyFilter) passes(rows int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pass -= min(rows, f.pass)
	return f.pass > 0
}

// note counts rows that were looked at.
func (f *KeyFilter) note(tested, kept int64) {
	f.tested.Add(tested)
	f.kept.Add(kept)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent.tested += tested
	f.recent.kept += kept
	if f.recent.tested < keysTestedMin {
		return
	}
	if f.recent.kept*4 > f.recent.tested*3 {
		f.pass = keysPassed
	}
	f.recent.tested, f.recent.kept = 0, 0
}

func (f *KeyFilter) take() *Finder {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.free) - 1
	if last < 0 {
		return f.of.NewFinder(true)
	}
	finder := f.free[last]
	f.free = f.free[:last]
	return finder
}

func (f *KeyFilter) give(finder *Finder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, finder)
}

// test sets the bits of the rows of a batch, whose columns are the keys, that have a partner.
func (f *Finder) test(batch arrow.RecordBatch, bits []byte) error {
	defer f.keys.end()
	if err := f.keys.begin(batch); err != nil {
		return err
	}
	for {
		t, from, err := f.keys.next()
		if t == nil || err != nil {
			return err
		}
		f.prober.Test(t.Keys, t.Rows, bits, from)
	}
}

// keysListed is the most rows whose keys are a list of values; of more, the range is known.
const keysListed = 32

// keyTerms returns what a column of another side fulfils that is equal to key i of a row.
func (h *Hashed) keyTerms(i, column int) []scan.Term {
	if h.nullsEqual[i] {
		return nil
	}
	var rows int64
	for _, batch := range h.batches {
		rows += batch.NumRows()
	}
	if rows <= keysListed {
		return h.listTerms(i, column)
	}
	var ends keyRange
	for _, batch := range h.batches {
		if !ends.add(batch.Column(i)) {
			return nil
		}
	}
	if ends.least.from == nil { // all are NULL
		return nil
	}
	least, err := scalar.GetScalar(ends.least.from, ends.least.row)
	if err != nil {
		return nil
	}
	greatest, err := scalar.GetScalar(ends.greatest.from, ends.greatest.row)
	if err != nil {
		return nil
	}
	return []scan.Term{
		{Column: column, Op: scan.OpGreaterOrEqual, Values: []scalar.Scalar{least}},
		{Column: column, Op: scan.OpLessOrEqual, Values: []scalar.Scalar{greatest}},
	}
}

// listTerms is keyTerms of few rows.
func (h *Hashed) listTerms(i, column int) []scan.Term {
	list := scan.Term{Column: column, Op: scan.OpIn}
	for _, batch := range h.batches {
		keys := batch.Column(i)
		for row := range keys.Len() {
			if keys.IsNull(row) {
				continue
			}
			v, err := scalar.GetScalar(keys, row)
			if err != nil {
				return nil
			}
			list.Values = append(list.Values, v)
		}
	}
	return []scan.Term{list}
}

// keyRange is the least and the greatest of the integers, dates and times of arrays.
type keyRange struct{ least, greatest keyAt }

// keyAt is a value and where it stands; from is nil of none.
type keyAt struct {
	value int64
	from  arrow.Array
	row   int
}

// add adds the values of an array. It returns false of another type.
func (r *keyRange) add(keys arrow.Array) bool {
	switch keys := keys.(type) {
	case *array.Int8:
		addRange(r, keys, keys.Int8Values())
	case *array.Int16:
		addRange(r, keys, keys.Int16Values())
	case *array.Int32:
		addRange(r, keys, keys.Int32Values())
	case *array.Int64:
		addRange(r, keys, keys.Int64Values())
	case *array.Uint8:
		addRange(r, keys, keys.Uint8Values())
	case *array.Uint16:
		addRange(r, keys, keys.Uint16Values())
	case *array.Uint32:
		addRange(r, keys, keys.Uint32Values())
	case *array.Date32:
		addRange(r, keys, keys.Date32Values())
	case *array.Timestamp:
		addRange(r, keys, keys.TimestampValues())
	default:
		return false
	}
	return true
}

// addRange is add of one type.
func addRange[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](
	r *keyRange, of arrow.Array, values []T,
) {
	for row, value := range values {
		if of.IsNull(row) {
			continue
		}
		v := int64(value)
		if r.least.from == nil || v < r.least.value {
			r.least = keyAt{v, of, row}
		}
		if r.greatest.from == nil || v > r.greatest.value {
			r.greatest = keyAt{v, of, row}
		}
	}
}
