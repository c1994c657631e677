package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
)

// Rows of equal keys meet in one task where tasks send them there: the rows of both sides of a join by the hash of its
// keys, and the rows of a window by the hash of its partitions' keys. A task then joins the rows of some partitions
// of the hash as one run joins all rows: rows of other partitions are no partners of theirs. So joins of all kinds
// are right, whatever joins and windows above them go by the same keys.

// exchangePoint is where rows go to other tasks: the probe side of a join, 0, or its build side, 1; or the rows below
// a window, 0 of a rowsNode.
type exchangePoint struct {
	node node
	side int
}

// Side is rows that go to other tasks, by the hash of some of their columns.
type Side struct {
	Stems  []Stem
	Schema *arrow.Schema // of the rows: the columns alone that the plan needs behind this place
	Keys   []int         // of Schema
	Text   string        // for people

	at   exchangePoint
	in   sourceNode
	post *projection // of in, to Schema
}

// sideOf returns the rows of a side of a join in a run: as other tasks have sent them, or as they are made.
func (r *run) sideOf(n *joinNode, side int) scan.Source {
	if r != nil {
		if sent := r.exchanged[exchangePoint{n, side}]; sent != nil {
			return sent
		}
	}
	return r.rowsOf(n.sides()[side])
}

// sides returns the probe and the build side.
func (n *joinNode) sides() [2]sourceNode { return [2]sourceNode{n.probe, n.build} }

// projections returns what is made of the rows of the probe and of the build side.
func (n *joinNode) projections() [2]*projection { return [2]*projection{n.ofProbe, n.ofBuild} }

// sameRows are the options for reading rows as they are.
func sameRows(schema *arrow.Schema) engine.RowsOptions {
	opt := engine.RowsOptions{
		Schema: schema, NewMap: func() engine.RowMap { return new(sameMap) },
		Code: func(_ *rowcode.Builder, columns []rowcode.Value) ([]rowcode.Value, error) { return columns, nil },
	}
	for i := range schema.NumFields() {
		opt.Columns = append(opt.Columns, i)
	}
	return opt
}

// sameMap returns the batches that it is given.
type sameMap struct{ batch arrow.RecordBatch }

// Begin implements engine.RowMap.
func (m *sameMap) Begin(_ context.Context, batch arrow.RecordBatch) error {
	m.batch = batch
	return nil
}

// Next implements engine.RowMap.
func (m *sameMap) Next(context.Context) (arrow.RecordBatch, error) {
	batch := m.batch
	if m.batch = nil; batch != nil {
		batch.Retain()
	}
	return batch, nil
}

// Release implements engine.RowMap.
func (m *sameMap) Release() {}

// IsRows says whether the statement makes rows in parts, and no groups.
func (p *Parts) IsRows() bool { return p.project == nil }

// Scatter writes the rows of a side that a part has, as engine.Statement's Scatter does.
func (d *Division) Scatter(ctx context.Context, side *Side, of Part, opt partial.Options) (engine.Stats, error) {
	r := newRun(d.q.engine.Statement(ctx))
	r.part = newRunPart(side.in, of)
	defer r.releaseTests()
	stats, err := r.statement.Scatter(ctx, r.rowsOf(side.in), engine.ScatterOptions{
		RowsOptions: rowsOptions(side.post, r), Keys: side.Keys, Options: opt,
	})
	r.addJoins(&stats)
	return stats, err
}

// gathered returns a run that reads rows which other tasks have sent, by side.
func (d *Division) gathered(ctx context.Context, blobs [][]partial.RowBlob) *run {
	r := newRun(d.q.engine.Statement(ctx))
	r.exchanged = make(map[exchangePoint]scan.Source, len(d.Sides))
	for i, side := range d.Sides {
		r.exchanged[side.at] = r.statement.Exchanged(side.Schema, blobs[i])
	}
	return r
}

// GroupingOf returns the aggregation of the rows of some partitions, which are given by side.
func (d *Division) GroupingOf(ctx context.Context, blobs [][]partial.RowBlob) *Grouping {
	return d.grouping(d.gathered(ctx, blobs))
}

// RowsOf returns the rows that the statement makes of the rows of some partitions, which are given by side, as Finish
// returns rows of groups.
func (d *Division) RowsOf(ctx context.Context, blobs [][]partial.RowBlob) (array.RecordReader, error) {
	r := d.gathered(ctx, blobs)
	rows, err := d.made.read(ctx, r)
	if err != nil {
		r.releaseTests()
		return nil, err
	}
	next := func() (arrow.RecordBatch, error) { return recordreader.Owned(rows) }
	return d.first(ctx, recordreader.New(rows.Schema(), next, func() {
		rows.Release()
		r.releaseTests()
	}))
}

// exchange divides a statement whose rows change tasks. Sides of joins up to a number of bytes are read whole. It
// returns nil, and why, where that does not make all rows meet in two stages. What stands above the rows that meet is
// made of all of them at once.
func (q *Query) exchange(bytes func(scan.Source) int64, limit int64) (*Division, string) {
	x := &exchanger{divider: newDivider(q, bytes), limit: limit}
	if candidates, err := q.candidates(); err == nil {
		var best *projectNode
		var chosen spread
		for _, c := range candidates {
			groups := c.in.of
			of := x.spread(groups.in, columnsOfQuery(groups))
			if of.sides != nil && (best == nil || of.bytes > chosen.bytes) {
				best, chosen = c, of
			}
		}
		if best != nil {
			return x.division(q, &Parts{q, best, best}, chosen, tablesOf(best.in.of.in, true))
		}
	}
	for n := node(q.root); n != nil; n = n.input() {
		switch n.(type) {
		case *joinNode, *unionNode, *bodyNode, *explainNode:
			return nil, x.reason
		case *windowNode, *rowsNode, *pickNode:
			of := n.(readerNode)
			if chosen := x.reader(of, nil); chosen.sides != nil && !q.sharesTables(of) {
				return x.division(q, &Parts{q: q, made: of}, chosen, tablesOf(of, true))
			}
		}
	}
	return nil, x.reason
}

// exchanger finds where rows change tasks.
type exchanger struct {
	*divider
	limit  int64  // bytes of the tables that a task reads whole
	reason string // why rows do not meet; "" of none
}

// spread is how the rows of a node are made in tasks: each row by one. The zero value is rows that are not.
type spread struct {
	stems []Stem
	bytes int64 // of the stems' tables
	whole int64 // bytes of tables that each task reads whole

	// Of rows that have changed tasks, by the hash of keys; nil of rows that each task has of its splits.
	sides []*Side
	types []arrow.DataType // of the keys
	by    [][]keyColumn    // by key
}

// keyColumn is a column whose values are a key's: in all rows, or in all where it is not NULL, as of the side of a join
// that has no row where the other side's row stands alone.
type keyColumn struct {
	column int
	orNull bool
}

// refuse notes why rows do not meet, and returns no spread.
func (x *exchanger) refuse(format string, args ...any) spread {
	x.reason = fmt.Sprintf(format, args...)
	return spread{}
}

// spread returns how rows are made. The plan reads some columns of a table.
func (x *exchanger) spread(top sourceNode, columns []int) spread {
	if isTable(top) {
		of := x.table(Stem{Table: tablesOf(top, true)[0].source, Rows: top.rows(nil), Columns: columns})
		return spread{stems: of.stems, bytes: of.bytes}
	}
	switch of := top.(type) {
	case *filterNode:
		return x.spread(of.in, columns)
	case *computeNode:
		return x.spread(of.in, columns)
	case *unnestNode:
		return x.spread(of.in, columns)
	case *streamNode:
		return x.reader(of.in, nil)
	case *joinNode:
		return x.join(of)
	case *unionNode:
		return x.union(of)
	}
	return x.refuse("%s", whyMade(top))
}

// union returns how the rows of a union are made. None of its inputs has rows that have changed tasks.
func (x *exchanger) union(n *unionNode) (all spread) {
	for i, in := range n.in {
		of := x.spread(in, n.places[i])
		if of.sides != nil {
			return x.refuse("a union (UNION, INTERSECT or EXCEPT) has rows as its input that tasks have sent to others")
		}
		if of.stems == nil {
			all.whole += x.wholeBytes(in)
		}
		all.stems = append(all.stems, of.stems...)
		all.bytes, all.whole = all.bytes+of.bytes, all.whole+of.whole
	}
	return all
}

// wholeBytes returns the bytes of the tables below a node.
func (x *exchanger) wholeBytes(n node) (sum int64) {
	for _, t := range tablesOf(n, false) {
		sum += max(x.bytes(t.source), 0)
	}
	return sum
}

// reader returns how the rows of a reader are made. wanted are columns that rows are to meet by; nil where nothing
// wants them to.
func (x *exchanger) reader(n readerNode, wanted []int) spread {
	switch of := n.(type) {
	case *pickNode:
		var below []int
		for _, c := range wanted {
			below = append(below, of.columns[c])
		}
		s := x.reader(of.in, below)
		return s.over(of.columns)
	case *windowNode:
		return x.window(of, wanted)
	case *rowsNode:
		s := x.spread(of.in, of.post.columnsRead())
		switch {
		case s.stems == nil || s.sides == nil && wanted == nil:
			return s
		case s.sides == nil:
			return x.send(s, &Side{
				Schema: of.post.schema, Keys: wanted, at: exchangePoint{of, 0}, in: of.in, post: of.post,
				Text: "window, partitions by " + namesOf(of.post.schema, wanted),
			}, wanted)
		}
		s = s.over(of.post.source)
		if wanted != nil && !s.isBy(wanted) {
			return x.refuse("the partitions of a window go by other keys than the join below it, and rows change tasks once")
		}
		return s
	}
	return x.refuse("%s", whyMade(n))
}

// window returns how the rows of a window are made: the rows of a partition in one task.
func (x *exchanger) window(n *windowNode, wanted []int) spread {
	var keys []int
	for _, k := range n.options.Partition {
		if wanted == nil || slices.Contains(wanted, k.Column) {
			keys = append(keys, k.Column)
		}
	}
	switch {
	case len(n.options.Partition) == 0:
		return x.refuse("a window function, or a sample, without PARTITION BY needs all rows (%s)", n.text)
	case len(keys) == 0:
		return x.refuse("windows go by partitions that have no column in common, and rows change tasks once")
	}
	return x.reader(n.in, keys)
}

// namesOf lists the names of columns.
func namesOf(schema *arrow.Schema, columns []int) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = schema.Field(c).Name
	}
	return strings.Join(names, ", ")
}

// over returns the spread of rows that are made of the rows of s, row by row. from has the column that a column is; -1
// of none.
func (s spread) over(from []int) spread {
	by := make([][]keyColumn, len(s.by))
	for k, columns := range s.by {
		for i, c := range from {
			for _, of := range columns {
				if c >= 0 && of.column == c {
					by[k] = append(by[k], keyColumn{i, of.orNull})
				}
			}
		}
	}
	s.by = by
	return s
}

// isBy says whether each key of the rows is among some columns.
func (s *spread) isBy(columns []int) bool {
	for _, of := range s.by {
		if !slices.ContainsFunc(of, func(c keyColumn) bool { return !c.orNull && slices.Contains(columns, c.column) }) {
			return false
		}
	}
	return true
}

// send returns the spread of rows that change tasks at a side. by are the columns of the rows behind it that are its
// keys; -1 of none.
func (x *exchanger) send(s spread, side *Side, by []int) spread {
	var q query.Query
	for i, c := range side.Keys {
		f := side.Schema.Field(c)
		s.types = append(s.types, engine.HashedType(f.Type))
		s.by = append(s.by, []keyColumn{{column: by[i]}})
		q.Keys = append(q.Keys, query.Key{Column: f.Name})
	}
	if _, err := rowdata.BindCanonical(q, recordreader.Columns(side.Schema, side.Keys), nil); err != nil {
		return x.refuse("%s cannot be hashed: %v", namesOf(side.Schema, side.Keys), err)
	}
	side.Stems, s.sides = s.stems, []*Side{side}
	return s
}

// join returns how the rows of a join are made: with a small side that each task reads whole, or of both sides by
// the hash of its keys.
func (x *exchanger) join(n *joinNode) spread {
	var of [2]spread
	for i, side := range n.sides() {
		of[i] = x.spread(side, n.projections()[i].columnsRead())
	}
	isDivided := [2]bool{ // by side: its rows are each in one task, and the other side is read whole
		of[0].stems != nil && !n.has.buildAlone && !n.has.buildPartnered,
		of[1].stems != nil && !n.has.probeAlone && !n.has.partnered && !n.between.Best,
	}
	best := -1
	var least int64
	for i := range of {
		whole := x.wholeBytes(n.sides()[1-i]) + of[i].whole
		if isDivided[i] && whole <= x.limit && (best < 0 || whole < least) {
			best, least = i, whole
		}
	}
	if best >= 0 {
		s := of[best]
		s.whole = least
		return s.over(n.columnsOf(best))
	}
	return x.meet(n, of)
}

// columnsOf returns the column of a side's rows that each column of the join is; -1 of columns of the other side.
func (n *joinNode) columnsOf(side int) []int {
	list := make([]int, len(n.columns))
	for i, c := range n.columns {
		list[i] = placeOf(n.ofSource[side], c-side*len(n.ofSource[0]))
	}
	return list
}

// meet lets the rows of both sides of a join change tasks, by the keys that one side has gone by already, or by all.
func (x *exchanger) meet(n *joinNode, of [2]spread) spread {
	keys := make([]int, len(n.nullsEqual))
	for i := range keys {
		keys[i] = i
	}
	_, condition, _ := strings.Cut(n.text, ", ")
	switch {
	case len(keys) == 0:
		return x.refuse("the join by %s has no equality of keys, by whose hash rows could meet", condition)
	case of[0].stems == nil || of[1].stems == nil:
		return x.refuse("the join by %s has a side whose rows are not made in parts", condition)
	}
	for i := range of {
		if of[i].sides != nil {
			if keys = n.keysOf(i, &of[i]); keys == nil {
				return x.refuse("the join by %s goes by other keys than a join or a window below it, and rows change tasks once",
					condition)
			}
			break
		}
	}
	all := spread{bytes: of[0].bytes + of[1].bytes, whole: of[0].whole + of[1].whole}
	isWhole := [2]bool{!n.has.buildAlone, !n.has.probeAlone} // by side: all rows of the join have its columns
	for i := range of {
		s, made := of[i], n.projections()[i]
		by := make([]int, len(keys)) // columns of the side
		for k, key := range keys {
			by[k] = made.source[key]
		}
		if s.sides == nil {
			s = x.send(s, &Side{
				Schema: made.schema, Keys: keys, at: exchangePoint{n, i}, in: n.sides()[i], post: made,
				Text: [2]string{"probe", "build"}[i] + " side, " + n.text,
			}, by)
		} else if other := n.keysOf(i, &s); !slices.Equal(other, keys) {
			return x.refuse("the sides of the join by %s have gone to tasks by different keys", condition)
		}
		if s.sides == nil {
			return s
		}
		all.stems, all.sides, all.types = append(all.stems, s.stems...), append(all.sides, s.sides...), s.types
		if all.by == nil {
			all.by = make([][]keyColumn, len(keys))
		}
		for k, columns := range s.over(n.columnsOf(i)).by {
			for _, c := range columns {
				all.by[k] = append(all.by[k], keyColumn{c.column, c.orNull || !isWhole[i]})
			}
		}
	}
	return all
}

// keysOf returns the keys of a join that the rows of a side have gone by; nil where they have gone by others.
func (n *joinNode) keysOf(side int, s *spread) (keys []int) {
	made := n.projections()[side]
	for i, columns := range s.by {
		key := -1
		for k, nullsEqual := range n.nullsEqual {
			isKey := func(c keyColumn) bool { return c.column == made.source[k] && !(c.orNull && nullsEqual) }
			if key < 0 && made.source[k] >= 0 && slices.ContainsFunc(columns, isKey) {
				key = k
			}
		}
		if key < 0 || !arrow.TypeEqual(engine.HashedType(made.schema.Field(key).Type), s.types[i]) {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// division returns the division of a statement whose rows are made so. within are the tables that the tasks read.
func (x *exchanger) division(q *Query, parts *Parts, of spread, within []*tableNode) (*Division, string) {
	made := &Division{Parts: parts, Stems: of.stems, Sides: of.sides}
	has := choice{stems: of.stems}.has
	made.addWhole(x.divider, has, within)
	roots := []node{parts.made}
	for _, side := range of.sides {
		roots = append(roots, side.in)
	}
	if x.sendsDomains(roots, of.sides) {
		return nil, "a subquery reads columns of rows around it that change tasks"
	}
	for _, root := range roots {
		err := alongPath(root, has, func(whole sourceNode) error {
			made.Derived = made.Derived || isDerived(whole)
			return checkSame(whole)
		}, nil)
		if err != nil {
			return nil, err.Error()
		}
	}
	return made, ""
}

// sendsDomains says whether the values that a subquery reads of the rows around it are in other tasks than these rows.
func (x *exchanger) sendsDomains(roots []node, sides []*Side) bool {
	isSide := func(n node) bool {
		return slices.ContainsFunc(sides, func(s *Side) bool { return node(s.in) == n })
	}
	isOfSides := func(t *tableNode) bool {
		return slices.ContainsFunc(sides, func(s *Side) bool { return choice{stems: s.Stems}.has(t.source) })
	}
	var sends func(n node, own choice) bool
	sends = func(n node, own choice) bool {
		if domain, ok := n.(*aggregateNode); ok && domain.isDomain {
			isOther := func(t *tableNode) bool { return isOfSides(t) && !own.has(t.source) }
			if slices.ContainsFunc(tablesOf(domain, true), isOther) {
				return true
			}
		}
		return slices.ContainsFunc(inputsOf(n), func(in node) bool { return !isSide(in) && sends(in, own) })
	}
	for i, root := range roots {
		var own choice // of the tables that the tasks read themselves
		if i > 0 {
			own.stems = sides[i-1].Stems
		}
		if sends(root, own) {
			return true
		}
	}
	return false
}
