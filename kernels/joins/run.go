package joins

import (
	"errors"

	"github.com/mpga/mpga/kernels"
)

// layout is how scratch is divided: offsets in bytes.
type layout struct {
	bytes          int64
	radixBits      int
	pairs          [2]int64 // of build rows and of probe rows
	matched        int64
	build, probe   sideLayout
	table          int64
	slots          int64
	transform      int64 // what a transformation needs meanwhile, one side after the other
	transformBytes int64
	match          int64
	matchBytes     int64
	wantsBuild     bool
}

// sideLayout is where a transformed side lies.
type sideLayout struct {
	numbers, keys, valid, offsets int64
	columns, columnValid          []int64
}

func (l *layout) take(n int64) int64 {
	at := l.bytes
	l.bytes += (n + 255) &^ 255
	return at
}

func (q *Query) layout(device kernels.Properties, capacity int64) *layout {
	l := &layout{radixBits: q.Partitions.RadixBits, wantsBuild: q.Kind.givesBuild()}
	if l.radixBits == 0 {
		l.radixBits = kernels.JoinRadixBits(q.Build.Count, device)
	}
	if l.wantsBuild {
		l.pairs[0] = l.take(4 * capacity)
	}
	l.pairs[1] = l.take(4 * capacity)
	l.matched = l.take(kernels.MatchedBytes(q.Build.Count))
	j := q.join()
	if q.Algorithm == NPHJ {
		l.slots = kernels.JoinTableSlots(q.Build.Count)
		l.table = l.take(j.JoinTableBytes(l.slots))
		return l
	}
	l.build, l.probe = q.takeSide(l, &q.Build), q.takeSide(l, &q.Probe)
	l.matchBytes = kernels.JoinPartitionsScratch(l.radixBits, q.Probe.Count)
	if q.Algorithm.sorts() {
		l.matchBytes = j.JoinSortedScratch()
	}
	for _, s := range []*Side{&q.Build, &q.Probe} {
		l.transformBytes = max(l.transformBytes, q.transformBytes(s, l.radixBits, device))
	}
	// A match begins when both sides are transformed.
	l.transform = l.take(max(l.transformBytes, l.matchBytes))
	l.match = l.transform
	return l
}

// takeSide takes room for a transformed side.
func (q *Query) takeSide(l *layout, s *Side) (to sideLayout) {
	to.keys = l.take(s.Count * int64(q.KeyBytes))
	if q.Algorithm.sorts() {
		if !q.Algorithm.moves() || len(s.Columns) == 0 {
			to.numbers = l.take(4 * s.Count)
		}
	} else {
		to.offsets = l.take(8<<l.radixBits + 8)
	}
	shape, rows := q.moved(s)
	if q.Algorithm == PHJUR {
		to.numbers = l.take(4 * s.Count)
	}
	for i, t := range shape.Columns {
		to.columns = append(to.columns, l.take(s.Count*int64(t.Bytes())))
		to.columnValid = append(to.columnValid, -1)
		if rows.Valid[i].Buffer != nil {
			to.columnValid[i] = l.take(kernels.MatchedBytes(s.Count))
		}
	}
	return to
}

// moved returns what a transformation of a side moves: its columns, or the numbers of its rows, which the caller sets.
// A bitmap of keys moves with the last column.
func (q *Query) moved(s *Side) (*kernels.Shape, *kernels.Rows) {
	shape, rows := &kernels.Shape{KeyBytes: q.KeyBytes}, &kernels.Rows{Count: s.Count, Keys: s.Keys}
	add := func(c Column) {
		shape.Columns = append(shape.Columns, columnType(c.Bytes))
		rows.Columns, rows.Valid = append(rows.Columns, c.Values), append(rows.Valid, c.Valid)
	}
	switch {
	case q.Algorithm == PHJUR:
		add(Column{Bytes: 4, Valid: s.Valid})
	case q.Algorithm.moves():
		for _, c := range s.Columns {
			add(c)
		}
		if s.Valid.Buffer != nil {
			add(Column{Bytes: q.KeyBytes, Values: s.Keys, Valid: s.Valid})
		}
	}
	return shape, rows
}

func columnType(bytes int) kernels.ColumnType {
	switch bytes {
	case 4:
		return kernels.Uint32
	case 8:
		return kernels.Uint64
	}
	return kernels.Int128
}

// transformBytes returns what the transformation of a side needs besides what it writes.
func (q *Query) transformBytes(s *Side, radixBits int, device kernels.Properties) int64 {
	if !q.Algorithm.sorts() {
		shape, _ := q.moved(s)
		return kernels.PartitionScratch(shape, s.Count, radixBits, device)
	}
	bytes := int64(0)
	for _, sorting := range q.sortings(s) {
		bytes = max(bytes, sorting.SortScratch())
	}
	return bytes
}

// sortings returns the sorts of a side: one of its row numbers, or one of each column.
func (q *Query) sortings(s *Side) []*kernels.Sorting {
	one := kernels.Sorting{Count: s.Count, KeyBytes: q.KeyBytes, Keys: s.Keys}
	if !q.Algorithm.moves() || len(s.Columns) == 0 {
		return []*kernels.Sorting{&one}
	}
	var list []*kernels.Sorting
	for _, c := range s.Columns {
		sorting := one
		sorting.Values, sorting.ValueBytes = c.Values, c.Bytes
		list = append(list, &sorting)
	}
	return list
}

// join returns the query without sides' places and without room.
func (q *Query) join() *kernels.Join {
	return &kernels.Join{
		Kind: q.Kind.pairs(), KeyBytes: q.KeyBytes, Unique: q.Unique,
		Build: kernels.JoinSide{Count: q.Build.Count, Keys: q.Build.Keys, Valid: q.Build.Valid},
		Probe: kernels.JoinSide{Count: q.Probe.Count, Keys: q.Probe.Keys, Valid: q.Probe.Valid},
	}
}

// run is a query that is enqueued.
type run struct {
	*Query
	stream  kernels.Stream
	into    *Output
	layout  *layout
	scratch kernels.Span
	err     error
}

func (r *run) at(offset int64) kernels.Span { return r.scratch.At(offset) }

// do enqueues an operation, unless one before it failed, whose error is kept: what it has not written is not read.
func (r *run) do(enqueue func() error) {
	if r.err == nil {
		r.err = enqueue()
	}
}

// all transforms the sides, finds pairs and gathers columns.
func (r *run) all() error {
	j := r.join()
	j.Into = kernels.Pairs{Capacity: r.into.Capacity, Status: r.into.Status, Probe: r.at(r.layout.pairs[1])}
	if r.layout.wantsBuild {
		j.Into.Build = r.at(r.layout.pairs[0])
	}
	r.do(func() error { return r.stream.Fill(r.into.Status, kernels.JoinStatusBytes, 0) })
	if r.Kind.keepsBuild() {
		j.Matched = r.at(r.layout.matched)
		r.do(func() error { return r.stream.Fill(j.Matched, kernels.MatchedBytes(r.Query.Build.Count), 0) })
	}
	build, probe := r.match(j)
	if r.Kind.keepsBuild() {
		r.do(func() error { return r.stream.ListBuildRows(j, false) })
	}
	if r.layout.wantsBuild {
		r.gather(build, j.Into.Build, r.into.Build, r.into.BuildKeys)
	}
	r.gather(probe, j.Into.Probe, r.into.Probe, r.into.ProbeKeys)
	return r.err
}

// match appends pairs, and returns the sides whose rows these name.
func (r *run) match(j *kernels.Join) (build, probe *Side) {
	l := r.layout
	if r.Algorithm == NPHJ {
		table := kernels.JoinTable{Slots: l.slots, Memory: r.at(l.table)}
		r.do(func() error { return r.stream.BuildTable(j, table) })
		r.do(func() error { return r.stream.ProbeTable(j, table) })
		return &r.Build, &r.Probe
	}
	build, probe = r.transform(&r.Build, &l.build, &j.Build), r.transform(&r.Probe, &l.probe, &j.Probe)
	if r.Algorithm.sorts() {
		r.do(func() error { return r.stream.JoinSorted(j, r.at(l.match)) })
		return build, probe
	}
	parts := r.Partitions
	parts.RadixBits, parts.BuildOffsets, parts.ProbeOffsets = l.radixBits, r.at(l.build.offsets), r.at(l.probe.offsets)
	r.do(func() error { return r.stream.JoinPartitions(j, parts, r.at(l.match)) })
	return build, probe
}

// transform brings a side into the order of the algorithm, sets where its keys lie, and returns the side whose rows
// pairs name: the transformed one, or the one that came.
func (r *run) transform(s *Side, to *sideLayout, side *kernels.JoinSide) *Side {
	side.Keys = r.at(to.keys)
	if r.Algorithm.sorts() {
		return r.sort(s, to, side)
	}
	shape, rows := r.moved(s)
	out := &kernels.Rows{Count: s.Count, Keys: side.Keys}
	for i := range shape.Columns {
		valid := kernels.Span{}
		if to.columnValid[i] >= 0 {
			valid = r.at(to.columnValid[i])
		}
		out.Columns, out.Valid = append(out.Columns, r.at(to.columns[i])), append(out.Valid, valid)
	}
	if !r.Algorithm.moves() {
		rows.Columns[0] = r.at(to.numbers)
		r.do(func() error { return r.stream.NumberRows(rows.Columns[0], s.Count) })
	}
	r.do(func() error {
		return r.stream.Partition(shape, rows, r.layout.radixBits, out, r.at(to.offsets), r.at(r.layout.transform))
	})
	if s.Valid.Buffer != nil {
		side.Valid = out.Valid[len(out.Valid)-1]
	}
	if !r.Algorithm.moves() {
		side.Numbers = out.Columns[0]
		return s
	}
	return transformed(s, out.Keys, out.Columns, out.Valid)
}

// transformed returns a side whose columns lie elsewhere.
func transformed(s *Side, keys kernels.Span, columns, valid []kernels.Span) *Side {
	to := &Side{Count: s.Count, Keys: keys}
	for i, c := range s.Columns {
		to.Columns = append(to.Columns, Column{Bytes: c.Bytes, Values: columns[i], Valid: valid[i]})
	}
	return to
}

// sort sorts a side: the keys with row numbers, or with each column in turn.
func (r *run) sort(s *Side, to *sideLayout, side *kernels.JoinSide) *Side {
	var columns []kernels.Span
	for i, sorting := range r.sortings(s) {
		sorting.ToKeys = side.Keys
		if sorting.Values.Buffer != nil {
			sorting.ToValues = r.at(to.columns[i])
			columns = append(columns, sorting.ToValues)
		} else {
			sorting.ToValues = r.at(to.numbers)
		}
		r.do(func() error { return r.stream.Sort(sorting, r.at(r.layout.transform)) })
	}
	if !r.Algorithm.moves() {
		side.Numbers = r.at(to.numbers)
		return s
	}
	return transformed(s, side.Keys, columns, make([]kernels.Span, len(columns)))
}

// gather gathers the columns of a side, and its keys where they are wanted.
func (r *run) gather(s *Side, numbers kernels.Span, columns []Column, keys kernels.Span) {
	g := &kernels.Gathering{Count: r.into.Capacity, Counted: r.into.Status, Numbers: numbers}
	add := func(from kernels.Span, fromValid kernels.Span, to Column) {
		g.Columns = append(g.Columns, kernels.GatherColumn{Bytes: to.Bytes, From: from, FromRows: s.Count,
			FromValid: fromValid, To: to.Values, ToValid: to.Valid})
	}
	for i, to := range columns {
		add(s.Columns[i].Values, s.Columns[i].Valid, to)
	}
	if keys.Buffer != nil {
		words := max(1, r.KeyBytes/8)
		if words > 2 {
			r.do(func() error { return errors.New("keys of more than 16 B are not gathered") })
			return
		}
		add(s.Keys, kernels.Span{}, Column{Bytes: r.KeyBytes, Values: keys})
	}
	if len(g.Columns) > 0 {
		r.do(func() error { return r.stream.Gather(g) })
	}
}
