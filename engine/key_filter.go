package engine

import (
	"context"
	"errors"
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
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/vector"
)

// KeyFilter selects the rows whose keys a Hashed has: what a join asks of the reader of its other side, so that other
// columns are read for these rows alone. Where it leaves few rows out it stops looking for a while. It is safe for
// concurrent use.
type KeyFilter struct {
	of      *Hashed   // nil of rows in partitions
	columns []int     // in the source's schema: of the keys, or of the ones with a set
	rows    int64     // that have the keys
	sets    []*keySet // of several keys, or of rows in partitions; empty where rows are looked up

	tested, kept atomic.Int64
	joins        atomic.Bool // of Joins

	mu     sync.Mutex
	recent struct{ tested, kept int64 }
	pass   int64 // rows that are not looked at
}

var (
	_ scan.RankedFilter = (*KeyFilter)(nil)
	_ scan.CodedFilter  = (*KeyFilter)(nil)
)

// Predicate returns what the rows of another side fulfil that have a partner. The places of that side's keys in its
// schema are given, -1 of keys that are no plain columns. ok is false where it costs more to ask than it spares.
func (h *Hashed) Predicate(columns []int) (p scan.Predicate, filter *KeyFilter, ok bool) {
	filter = &KeyFilter{of: h, rows: h.rows}
	filter.ask(h.sets, columns)
	if len(filter.sets) == 0 {
		if len(columns) == 0 || slices.Contains(columns, -1) || !h.build.IsTestFast() {
			return scan.Predicate{}, nil, false
		}
		filter.columns = columns
	}
	for i, c := range columns {
		if c >= 0 {
			p.Terms = append(p.Terms, h.keyTerms(i, c)...)
		}
	}
	p.Rows = filter
	return p, filter, true
}

// ask adds the sets of keys that are columns.
func (f *KeyFilter) ask(sets []*keySet, columns []int) {
	for _, s := range sets {
		if c := columns[s.column]; c >= 0 {
			f.sets, f.columns = append(f.sets, s), append(f.columns, c)
		}
	}
}

// describeKeys finds the ranges of keys, and the sets of several, by all threads.
func (h *Hashed) describeKeys(ctx context.Context, each eachFunc) error {
	ranges := make([][]keyRange, len(h.batches))
	err := each(ctx, len(ranges), func(i int) error {
		for k := range h.nullsEqual {
			ranges[i] = append(ranges[i], rangeOf(h.batches[i].Column(k)))
		}
		return nil
	})
	h.ends = make([]keyRange, len(h.nullsEqual))
	for _, of := range ranges {
		for k := range of {
			h.ends[k].merge(&of[k])
		}
	}
	if err != nil || len(h.ends) == 1 {
		return err
	}
	for k := range h.ends {
		if s := newKeySet(h.memory, &h.ends[k], k, h.rows, h.nullsEqual[k]); s != nil {
			h.sets = append(h.sets, s)
		}
	}
	err = each(ctx, len(h.batches), func(i int) error {
		for _, s := range h.sets {
			s.add(h.batches[i].Column(s.column))
		}
		return nil
	})
	h.sets = slices.DeleteFunc(h.sets, func(s *keySet) bool {
		dense := s.isDense()
		if dense {
			s.release()
		}
		return dense
	})
	return err
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
	if len(f.sets) > 0 {
		bitutil.SetBitsTo(selected, 0, int64(rows), true)
		for i, s := range f.sets {
			s.leave(batch.Column(i), selected)
		}
	} else {
		finder := f.of.tableFinder(true)
		defer finder.Release()
		if err := finder.selectRows(batch, selected); err != nil {
			return 0, err
		}
	}
	kept := bitutil.CountSetBits(selected, 0, rows)
	f.note(int64(rows), int64(kept))
	return kept, nil
}

// Joins says whether the join that asks is made in the program that has the filter, and leaves the rows out itself.
func (f *KeyFilter) Joins(is bool) { f.joins.Store(is) }

// Code implements scan.CodedFilter.
func (f *KeyFilter) Code(b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error) {
	switch {
	case f.joins.Load():
		return b.Int(1), nil
	case f.of == nil || len(columns) != 1 || len(f.sets) > 0:
		return rowcode.None, errors.New("a join above the groups asks for several keys, or for keys of partitions")
	}
	lookup, err := f.of.Lookup(nil)
	if err != nil {
		return rowcode.None, err
	}
	return b.Do(rowcode.Not, b.Do(rowcode.IsNull, b.Find(lookup, columns[0]))), nil
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

// Leaves implements scan.RankedFilter: by what was tested, and before by how few rows there are keys of.
func (f *KeyFilter) Leaves() float64 {
	if tested, kept := f.Counts(); tested > 0 {
		return float64(kept) / float64(tested)
	}
	return float64(f.rows) / float64(f.rows+keysTestedMin)
}

// keysListed is the most rows whose keys are a list of values; of more, the range is known.
const keysListed = 32

// keyTerms returns what a column of another side fulfils that is equal to key i of a row.
func (h *Hashed) keyTerms(i, column int) []scan.Term {
	isNull := func(b arrow.RecordBatch) bool { return scan.NullCount(b.Column(i)) > 0 }
	if h.nullsEqual[i] && slices.ContainsFunc(h.batches, isNull) {
		return nil
	}
	if h.rows <= keysListed {
		return h.listTerms(i, column)
	}
	ends := &h.ends[i]
	if ends.unsuited || ends.least.from == nil { // or all are NULL
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

// selectRows sets the bits of the rows of a batch, whose columns are the keys, that have a partner.
func (f *tableFinder) selectRows(batch arrow.RecordBatch, bits []byte) error {
	if done, err := f.selectCodes(batch, bits); done || err != nil {
		return err
	}
	columns := slices.Clone(batch.Columns())
	for i, c := range columns {
		d, ok := c.(*array.Dictionary)
		if !ok || d.Dictionary().Len() <= d.Len() {
			continue
		}
		plain, err := decoded(d)
		if err != nil {
			return err
		}
		defer plain.Release()
		columns[i] = plain
	}
	return f.selectPromised(columns, int(batch.NumRows()), bits)
}

// codedKeys is the entries of a dictionary of keys.
type codedKeys struct {
	of      arrow.ArrayData // the same data serve many batches of a row group
	partner []byte          // by entry, a bit: the entry has a partner
}

// selectCodes is selectRows of one key that is a dictionary, whose entries are tested once; done is false where it is
// none, or has more entries than the batch has rows.
func (f *tableFinder) selectCodes(batch arrow.RecordBatch, bits []byte) (done bool, err error) {
	keys, ok := batch.Column(0).(*array.Dictionary)
	if !ok || batch.NumCols() > 1 || f.of.nullsEqual[0] && keys.NullN() > 0 {
		return false, nil
	}
	codes, entries := keys.Indices().(*array.Int32), keys.Dictionary() // S1
	if f.coded.of != entries.Data() {
		if entries.Len() > keys.Len() {
			return false, nil
		}
		partner := make([]byte, (entries.Len()+7)/8)
		if err := f.selectPromised([]arrow.Array{entries}, entries.Len(), partner); err != nil {
			return false, err
		}
		f.coded = codedKeys{entries.Data(), partner}
	}
	for i, c := range codes.Int32Values() {
		if at := uint32(c) >> 3; at < uint32(len(f.coded.partner)) {
			bits[i>>3] |= f.coded.partner[at] >> (c & 7) & 1 << (i & 7)
		}
	}
	if valid := codes.NullBitmapBytes(); valid != nil && codes.NullN() > 0 {
		bitutil.BitmapAnd(bits, valid, 0, int64(codes.Offset()), bits, 0, int64(codes.Len()))
	}
	return true, nil
}

// decoded returns the values of a dictionary array.
func decoded(d *array.Dictionary) (arrow.Array, error) {
	none := nullOf(d.Dictionary().DataType())
	defer none.Release()
	rows := make([]gather.Row, d.Len())
	for i := range rows {
		if rows[i].Batch = 1; d.IsValid(i) {
			rows[i] = gather.Row{Row: uint32(d.GetValueIndex(i))}
		}
	}
	return gather.Column(memory.DefaultAllocator, []arrow.Array{d.Dictionary(), none}, rows)
}

// selectPromised is selectRows of the columns of keys. It leaves out the rows that are not as the packing of keys has
// them: conditions between the reader and the join may leave out NULLs, and values beyond a range.
func (f *tableFinder) selectPromised(columns []arrow.Array, rows int, bits []byte) error {
	good := f.of.promised(columns, rows)
	if good == nil {
		return f.test(columns, rows, bits)
	}
	some := []int64{}
	for row, is := range good {
		if is {
			some = append(some, int64(row))
		}
	}
	if len(some) == 0 {
		return nil
	}
	taken := make([]arrow.Array, len(columns))
	for i, c := range columns {
		var err error
		if taken[i], err = gather.Take(memory.DefaultAllocator, c, some); err != nil {
			return err
		}
		defer taken[i].Release()
	}
	found := make([]byte, (len(some)+7)/8)
	if err := f.test(taken, len(some), found); err != nil {
		return err
	}
	for i, row := range some {
		if bitutil.BitIsSet(found, i) {
			bitutil.SetBit(bits, int(row))
		}
	}
	return nil
}

// promised returns by row whether the keys are as the packing of keys has them; nil where all are.
func (h *Hashed) promised(columns []arrow.Array, rows int) (good []bool) {
	leaveOut := func(row int) {
		if good == nil {
			good = slices.Repeat([]bool{true}, rows)
		}
		good[row] = false
	}
	for i, c := range h.keys.Columns {
		keys := columns[i]
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
		values, _ := vector.Integers(keys) // of other types none, which have no range
		for row, v := range values {
			if (v < c.Min || v > c.Max) && keys.IsValid(row) {
				leaveOut(row)
			}
		}
	}
	return good
}

// test sets the bits of the rows of columns of keys that have a partner.
// Requires: the keys are as the packing of keys has them.
func (f *tableFinder) test(columns []arrow.Array, rows int, bits []byte) error {
	defer f.keys.end()
	if err := f.keys.beginColumns(columns, rows); err != nil {
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

// keyRange is the least and the greatest of the integers, dates and times of arrays.
type keyRange struct {
	least, greatest keyAt
	unsuited        bool // some values are of other types, or may be beyond int64
}

// keyAt is a value and where it stands; from is nil of none.
type keyAt struct {
	value int64
	from  arrow.Array
	row   int
}

// rangeOf returns the range of an array.
func rangeOf(keys arrow.Array) (r keyRange) {
	values, ok := vector.Integers(keys)
	if r.unsuited = !ok || keys.DataType().ID() == arrow.UINT64; r.unsuited {
		return r
	}
	hasNulls := scan.NullCount(keys) > 0
	for row, v := range values {
		if hasNulls && keys.IsNull(row) {
			continue
		}
		if r.least.from == nil || v < r.least.value {
			r.least = keyAt{v, keys, row}
		}
		if r.greatest.from == nil || v > r.greatest.value {
			r.greatest = keyAt{v, keys, row}
		}
	}
	return r
}

// merge adds the range of further arrays.
func (r *keyRange) merge(of *keyRange) {
	r.unsuited = r.unsuited || of.unsuited
	if of.least.from == nil {
		return
	}
	if r.least.from == nil || of.least.value < r.least.value {
		r.least = of.least
	}
	if r.greatest.from == nil || of.greatest.value > r.greatest.value {
		r.greatest = of.greatest
	}
}
