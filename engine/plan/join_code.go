package plan

import (
	"errors"
	"math"
	"slices"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowcode"
)

var (
	_ scan.PagedSplit = (*probeSplit)(nil)
	_ scan.PagedSplit = (*taskSplit)(nil)
	_ scan.PagedSplit = (*aloneSplit)(nil)
)

// Why devices do not make the pairs of a join.
var (
	errTasks     = errors.New("both sides of a join are in partitions, and rows of these are no pages")
	errNoKeys    = errors.New("a join has no keys, or is of the best partners")
	errRepeats   = errors.New("a row of a join is chosen by whether a condition holds for one of its partners")
	errKeysWiden = errors.New("the keys of a join take 64 bits together")
)

// Paged implements scan.PagedSplit.
func (s *taskSplit) Paged() (*scan.Paged, error) { return nil, errTasks }

// Paged implements scan.PagedSplit.
func (s *aloneSplit) Paged() (*scan.Paged, error) { return nil, scan.ErrLate }

// Paged implements scan.PagedSplit: a device looks for the partners of a row and fetches their columns, between the
// conditions before the join and what comes behind it.
func (s *probeSplit) Paged() (p *scan.Paged, err error) {
	of, n := s.of, s.of.node
	switch {
	case of.run == nil || of.built.side == nil:
		return nil, scan.ErrUndecided
	case n.between.Best || len(n.nullsEqual) == 0:
		return nil, errNoKeys
	case of.isSent(0):
		return nil, errTasks
	}
	var fetched []int
	read := slices.Clone(of.columns)
	if n.whole != nil {
		read = append(read, n.whole.Columns()...)
	}
	for _, c := range read {
		if c >= n.probeColumns() {
			fetched = append(fetched, n.ofBuildSide(c))
		}
	}
	lookup, err := of.built.side.All().Lookup(fetched)
	if err != nil {
		return nil, err
	}
	if filter := of.built.filter; filter != nil {
		filter.Joins(true)
		defer func() { filter.Joins(err == nil) }()
	}
	if p, err = scan.PagedOf(s.Split); err != nil {
		return nil, err
	}
	return s.joinedPages(p, lookup)
}

// ofBuildSide returns the place of a column of pairs, which is the build side's, in the rows that are kept.
func (n *joinNode) ofBuildSide(c int) int { return n.buildFirst + c - n.probeColumns() }

// joinedPages returns the pages of the probe side with the join in their program.
func (s *probeSplit) joinedPages(p *scan.Paged, lookup rowcode.Lookup) (*scan.Paged, error) {
	of, n := s.of, s.of.node
	b, filter, read := p.Build()
	projection := n.ofProbe
	values, err := projection.narrowed(projection.columnsRead()).code(b, read)
	if err != nil {
		return nil, err
	}
	key, err := n.keyCode(b, values)
	if err != nil {
		return nil, err
	}
	if filter >= 0 { // no key is looked for in a row that does not pass
		key = b.Do(rowcode.Select, filter, key, b.Null())
	}
	row := b.Find(lookup, key)
	if (n.has.pairs || n.whole != nil || n.marksBuild()) && of.built.side.All().Repeats() {
		if n.has.probeAlone && n.whole != nil || !n.has.pairs && !n.has.ofBuild() {
			return nil, errRepeats
		}
		row = b.Each(lookup, key)
	}
	column := func(c int) rowcode.Value {
		if c >= n.probeColumns() {
			return b.Fetch(lookup, row, n.ofBuildSide(c))
		}
		return values[n.probeFirst+c]
	}
	if n.whole != nil {
		var inputs []rowcode.Value
		for _, c := range n.whole.Columns() {
			inputs = append(inputs, column(c))
		}
		is, err := n.whole.ConditionCode(b, inputs)
		if err != nil {
			return nil, err
		}
		row = b.Do(rowcode.Select, is, row, b.Null())
	}
	if n.marksBuild() {
		row = b.Mark(lookup, row)
		p.Made = s.made(p.Made)
	}
	var columns []rowcode.Value
	for _, c := range of.columns {
		if n.has.ofBuild() {
			columns = append(columns, b.Null()) // of no row
		} else {
			columns = append(columns, column(c))
		}
	}
	alone := b.Do(rowcode.IsNull, row)
	passes := b.Int(1) // all rows pass, and are counted
	switch has := n.has; {
	case has.ofBuild(): // all are marked first
		passes = b.Do(rowcode.Then, alone, b.Int(0))
	case !has.probeAlone:
		passes = b.Do(rowcode.Not, alone)
	case !has.pairs && !has.partnered:
		passes = alone
	}
	if p.Filtered == nil {
		p.Asked = p.Rows
	}
	return p.Restricted(b, filter, passes, columns, func(_, kept int64) { of.built.rows.Add(kept) }), nil
}

// keyCode makes the key that rows have in a Lookup of the build side: one value as it is, several as they are packed.
func (n *joinNode) keyCode(b *rowcode.Builder, values []rowcode.Value) (rowcode.Value, error) {
	fields := n.keys.Keys.Fields
	if len(fields) == 1 {
		return values[0], nil
	}
	var key rowcode.Value
	for i := range fields {
		f := &fields[i]
		const bits = 63
		if int(f.Shift)+int(f.Bits) > bits || f.Base > math.MaxInt64-int64(f.Span) {
			return rowcode.None, errKeysWiden
		}
		within := b.Do(rowcode.And,
			b.Do(rowcode.LessEqual, b.Int(f.Base), values[i]), b.Do(rowcode.LessEqual, values[i], b.Int(f.Base+int64(f.Span))))
		part := b.Within(0, int64(f.Span), rowcode.Sub, values[i], b.Int(f.Base))
		part = b.Within(0, math.MaxInt64, rowcode.Mul, part, b.Int(1<<f.Shift))
		part = b.Do(rowcode.Select, within, part, b.Null()) // no row of the build side has a value outside
		if i == 0 {
			key = part
		} else {
			key = b.Within(0, math.MaxInt64, rowcode.Add, key, part)
		}
	}
	return key, nil
}

// made returns what is called once a device has made the rows of the split. inner, or nil, is what the probe side has.
func (s *probeSplit) made(inner func()) func() {
	return func() {
		if inner != nil {
			inner()
		}
		s.read.Do(s.of.probed.done)
	}
}

// code makes the columns of a projection on a device, of the columns that it reads.
func (p *projection) code(b *rowcode.Builder, read []rowcode.Value) ([]rowcode.Value, error) {
	if p.having != nil {
		return nil, errNoCode
	}
	return p.computePlan.code(b, read)
}
