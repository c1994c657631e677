package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/gather"
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
	test := finder.test
	if some := f.of.promised(batch); some != nil {
		test = func(batch arrow.RecordBatch, bits []byte) error { return finder.testSome(batch, some, bits) }
	}
	if err := test(batch, selected); err != nil {
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
	if h.rows <= keysListed {
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

// promised returns the rows of a batch of keys that are as the packing of keys has them: conditions between the reader
// and the join may leave out NULLs, and values beyond a range. It returns nil for all rows.
func (h *Hashed) promised(batch arrow.RecordBatch) []gather.Row {
	rows := int(batch.NumRows())
	var good []bool // nil while all are
	leaveOut := func(row int) {
		if good == nil {
			good = slices.Repeat([]bool{true}, rows)
		}
		good[row] = false
	}
	for i, c := range h.keys.Columns {
		keys := batch.Column(i)
		if !c.Nullable && scan.NullCount(keys) > 0 {
			for row := range rows {
				if keys.IsNull(row) {
					leaveOut(row)
				}
			}
		}
		if !c.HasRange {
			continue
		}
		values, _ := integersOf(keys) // of other types none, which have no range
		for row, v := range values {
			if (v < c.Min || v > c.Max) && keys.IsValid(row) {
				leaveOut(row)
			}
		}
	}
	if good == nil {
		return nil
	}
	some := []gather.Row{}
	for row, is := range good {
		if is {
			some = append(some, gather.Row{Row: uint32(row)})
		}
	}
	return some
}

// testSome is test of some rows of a batch.
func (f *Finder) testSome(batch arrow.RecordBatch, some []gather.Row, bits []byte) error {
	if len(some) == 0 {
		return nil
	}
	fields, columns := make([]arrow.Field, batch.NumCols()), make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range batch.Columns() {
		var err error
		if columns[i], err = gathered(c, some); err != nil {
			return err
		}
		fields[i].Type = c.DataType()
	}
	compact := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(some)))
	defer compact.Release()
	found := make([]byte, (len(some)+7)/8)
	if err := f.test(compact, found); err != nil {
		return err
	}
	for i, row := range some {
		if bitutil.BitIsSet(found, i) {
			bitutil.SetBit(bits, int(row.Row))
		}
	}
	return nil
}

// gathered returns the values of a column in some rows.
func gathered(c arrow.Array, rows []gather.Row) (arrow.Array, error) {
	d, ok := c.(*array.Dictionary)
	if !ok {
		return gather.Column(memory.DefaultAllocator, []arrow.Array{c}, rows)
	}
	indices, err := gather.Column(memory.DefaultAllocator, []arrow.Array{d.Indices()}, rows)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	return array.NewDictionaryArray(d.DataType(), indices, d.Dictionary()), nil
}

// keyRange is the least and the greatest of the integers, dates and times of arrays.
type keyRange struct{ least, greatest keyAt }

// keyAt is a value and where it stands; from is nil of none.
type keyAt struct {
	value int64
	from  arrow.Array
	row   int
}

// add adds the values of an array. It returns false of another type, and of one with values beyond int64.
func (r *keyRange) add(keys arrow.Array) bool {
	values, ok := integersOf(keys)
	if keys.DataType().ID() == arrow.UINT64 {
		return false
	}
	for row, v := range values {
		if keys.IsNull(row) {
			continue
		}
		if r.least.from == nil || v < r.least.value {
			r.least = keyAt{v, keys, row}
		}
		if r.greatest.from == nil || v > r.greatest.value {
			r.greatest = keyAt{v, keys, row}
		}
	}
	return ok
}

// integersOf returns the integers, dates and times of an array, and any number for a NULL; ok is false of another
// type.
func integersOf(keys arrow.Array) (values []int64, ok bool) {
	switch keys := keys.(type) {
	case *array.Int8:
		return widened(keys.Int8Values()), true
	case *array.Int16:
		return widened(keys.Int16Values()), true
	case *array.Int32:
		return widened(keys.Int32Values()), true
	case *array.Int64:
		return keys.Int64Values(), true
	case *array.Uint8:
		return widened(keys.Uint8Values()), true
	case *array.Uint16:
		return widened(keys.Uint16Values()), true
	case *array.Uint32:
		return widened(keys.Uint32Values()), true
	case *array.Date32:
		return widened(keys.Date32Values()), true
	case *array.Time32:
		return widened(keys.Time32Values()), true
	case *array.Time64:
		return widened(keys.Time64Values()), true
	case *array.Timestamp:
		return widened(keys.TimestampValues()), true
	case *array.Duration:
		return widened(keys.DurationValues()), true
	case *array.Uint64:
		return unsignedOf(keys.Uint64Values()), true
	case *array.Dictionary:
		entries, ok := integersOf(keys.Dictionary())
		if !ok {
			return nil, false
		}
		values := make([]int64, keys.Len())
		for row := range values {
			if keys.IsValid(row) {
				values[row] = entries[keys.GetValueIndex(row)]
			}
		}
		return values, true
	}
	return nil, false
}

func widened[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](of []T) []int64 {
	values := make([]int64, len(of))
	for i, v := range of {
		values[i] = int64(v)
	}
	return values
}

// unsignedOf returns numbers, and the greatest int64 in place of greater ones.
func unsignedOf(of []uint64) []int64 {
	values := make([]int64, len(of))
	for i, v := range of {
		values[i] = int64(min(v, math.MaxInt64))
	}
	return values
}
