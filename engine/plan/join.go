package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// joinNode joins rows by a hash table of the build side, whose rows are kept; the rows of the probe side are read
// once, by all threads.
type joinNode struct {
	text             string // for people
	probe, build     sourceNode
	ofProbe, ofBuild *projection // the keys, what between has, then the columns of the join
	probeFirst       int         // the first column of the join in ofProbe
	buildFirst       int         // the first column of the join in ofBuild
	probeKeys        []int       // columns of probe that are the keys, -1 of keys that are more than a column
	ofSource         [2][]int    // by side, probe and build, and column of the join: the column of the side's rows
	keys             *rowdata.Bound
	nullsEqual       []bool        // by key: a NULL is equal to NULL
	between          engine.Range  // of values behind the keys
	sorted           string        // for people: what the build side is sorted by; "" of none
	condition        *expr.Program // of the columns of the join; nil for TRUE
	whole            *expr.Program // condition, and what between has; nil for TRUE
	isKept           bool          // the build side reads no iteration, as the probe side does: it is made once for all
	has              joinRows
	schema           *arrow.Schema // of pairs: the probe side's columns, then the build side's
	columns          []int         // of schema, that the join has: all, or one side's
	estimate         int64         // rows that the join is taken to make
	compared         float64       // pairs that the join is taken to compare, if it compares all; else 0
	comparedExactly  bool          // compared is no estimate
	stats            []scan.ColumnStats
	described        *joined // of no run
}

// joinRows says which rows a join has.
type joinRows struct {
	pairs          bool // of rows that are partners
	partnered      bool // rows of the probe side with a partner, once each
	probeAlone     bool // rows of the probe side without a partner
	buildPartnered bool // rows of the build side with a partner, once each
	buildAlone     bool // rows of the build side without a partner
}

// rowsOf returns which rows a join has, whose left side may be the build side.
func rowsOf(kind sql.JoinKind, leftIsBuild bool) (r joinRows) {
	r.partnered = kind == sql.SemiJoin
	r.pairs = !r.partnered && kind != sql.AntiJoin
	r.probeAlone, r.buildAlone = kind.KeepsLeft(), kind.KeepsRight()
	if leftIsBuild {
		r.partnered, r.buildPartnered = r.buildPartnered, r.partnered
		r.probeAlone, r.buildAlone = r.buildAlone, r.probeAlone
	}
	return r
}

// isOneSided says whether the join has the columns of one side alone.
func (r joinRows) isOneSided() bool { return !r.pairs }

// ofBuild says whether that is the build side.
func (r joinRows) ofBuild() bool { return !r.pairs && (r.buildPartnered || r.buildAlone) }

// input implements node: the build side is read before.
func (n *joinNode) input() node { return n.probe }

// describeJoin names the kind of a join, its keys and its conditions; the side that is kept comes second.
func describeJoin(n *logical.Join, swapped bool) string {
	kind := string(n.Kind)
	switch {
	case !swapped:
	case n.Kind == sql.RightJoin:
		kind = string(sql.LeftJoin)
	case n.Kind == sql.LeftJoin:
		kind = string(sql.RightJoin)
	}
	if n.Nearest != nil {
		kind = "asof " + kind
	}
	var parts []string
	for _, k := range n.Keys {
		if swapped {
			k.Left, k.Right = k.Right, k.Left
		}
		key := k.Condition().String()
		parts = append(parts, key[1:len(key)-1])
	}
	if n.Nearest != nil {
		nearest := n.Nearest.Condition().String()
		parts = append(parts, nearest[1:len(nearest)-1])
	}
	if n.Condition != nil {
		parts = append(parts, n.Condition.String())
	}
	if len(parts) == 0 {
		parts = []string{"all pairs"}
	}
	return strings.ToLower(kind) + ", " + strings.Join(parts, " and ")
}

// rows implements sourceNode.
func (n *joinNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	s := &joined{node: n, run: r, probe: r.sideOf(n, 0), build: r.sideOf(n, 1), built: &r.local(n).built}
	if owner := r.owner(n); owner != r {
		s.kept, s.keptFrom = &owner.local(n).built, n.build.rows(owner)
	}
	return s
}

// keptSide says which side of a join of a recursion's step is to be made once, for all iterations: the one that reads
// no iteration, where the other one does, and where the memory is likely to have it. isLeft is true for the left side.
func (p *planner) keptSide(n *logical.Join) (isLeft, ok bool) {
	readsAny := func(in logical.Node) (some bool) {
		logical.Iterations(in, func(*logical.Working) { some = true })
		return some
	}
	isLeft = readsAny(n.Right)
	side := n.Right
	if isLeft {
		side = n.Left
	}
	has := rowsOf(n.Kind, isLeft)
	ok = readsAny(n.Left) != isLeft && !has.buildAlone && !has.buildPartnered && (!isLeft || canSwap(n)) &&
		p.estimates.Rows(side) <= float64(p.engine.MemoryLimit()/keptRowBytes)
	return isLeft, ok
}

// keptRowBytes is how much of the memory limit there is to be for each row of a side that is kept for all iterations.
const keptRowBytes = 512

// canSwap says whether the left side of a join may be kept. Of an ASOF join each row of it has one partner; and without
// an equality each row of a SEMI or an ANTI join takes one search where the other side is kept.
func canSwap(n *logical.Join) bool { return n.Nearest == nil && (len(n.Keys) > 0 || !n.IsOneSided()) }

// keepsLeft says whether the left side of a join rather than the right one is kept, if it may be: the one with fewer
// rows. Few rows that a condition has left are kept in place of groups, whose reader is asked for their keys.
func (p *planner) keepsLeft(n *logical.Join) bool {
	left, right := p.estimates.Rows(n.Left), p.estimates.Rows(n.Right)
	asks := func(side, other logical.Node) bool {
		return areFiltered(side) && canBeAsked(other) && p.estimates.Rows(side) <= askingRowsMost
	}
	if asksLeft, asksRight := asks(n.Left, n.Right), asks(n.Right, n.Left); asksLeft != asksRight {
		return asksLeft
	}
	return left < right
}

// askingRowsMost is the most rows that are kept so that they are looked for among more rows than they are.
const askingRowsMost = 1 << 16

// areFiltered says whether a condition has left the rows of a node.
func areFiltered(n logical.Node) bool {
	switch of := n.(type) {
	case *logical.Filter:
		return true
	case *logical.Project:
		return areFiltered(of.In)
	}
	return false
}

// canBeAsked says whether the reader of a node can be asked for keys of groups: nothing but a projection is above them.
func canBeAsked(n logical.Node) bool {
	switch of := n.(type) {
	case *logical.Aggregate:
		return len(of.Keys) > 0
	case *logical.Project:
		return canBeAsked(of.In)
	}
	return false
}

// join makes the node of a join.
func (p *planner) join(n *logical.Join) (*input, error) {
	left, err := p.source(n.Left, nil)
	if err != nil {
		return nil, err
	}
	right, err := p.source(n.Right, nil)
	if err != nil {
		return nil, err
	}
	probe, build := left, right
	probeColumns, buildColumns := n.Left.Columns(), n.Right.Columns()
	rows := p.estimates.Rows(n.Right) // of the build side
	swapped := p.keepsLeft(n) && canSwap(n)
	isLeft, isKept := p.keptSide(n)
	if isKept {
		swapped = isLeft
	}
	if swapped {
		rows = p.estimates.Rows(n.Left)
		probe, build, probeColumns, buildColumns = build, probe, buildColumns, probeColumns
	}
	made := &joinNode{
		text: describeJoin(n, swapped), probe: probe.node, build: build.node, has: rowsOf(n.Kind, swapped),
		isKept:   isKept,
		estimate: rowCount(p.estimates.Rows(n)),
	}
	by, condition, err := p.ranges(n, swapped)
	if err != nil {
		return nil, err
	}
	made.between, made.sorted = by.of, by.text
	p.joinsOnDevice = p.joinsOnDevice || p.engine.JoinsOnDevice(len(n.Keys), by.of)
	made.compared, made.comparedExactly = p.comparedPairs(n, by.text)
	var probeKeys, buildKeys []*expr.Expr
	for _, k := range n.Keys {
		if swapped {
			k.Left, k.Right = k.Right, k.Left
		}
		probeKeys, buildKeys = append(probeKeys, k.Left), append(buildKeys, k.Right)
		made.nullsEqual = append(made.nullsEqual, k.NullsEqual)
	}
	if made.ofProbe, err = p.side(probe, append(probeKeys, by.bounds...), probeColumns); err != nil {
		return nil, err
	}
	if made.ofBuild, err = p.side(build, append(buildKeys, by.values...), buildColumns); err != nil {
		return nil, err
	}
	made.probeFirst, made.buildFirst = len(n.Keys)+len(by.bounds), len(n.Keys)+len(by.values)
	made.probeKeys = keyPlaces(probe, probeKeys, made.ofProbe)
	if made.keys, err = bindKeys(made.ofProbe, made.ofBuild, probe, build, len(n.Keys)); err != nil {
		return nil, err
	}
	sides, columns := [2]*input{probe, build}, [2][]logical.Column{probeColumns, buildColumns}
	in := &input{made, made.pairs(n, sides, columns, rows <= engine.CodedRowsMost)}
	made.described = &joined{node: made, probe: probe.node.rows(nil)}
	pairs := expr.Columns{Schema: made.schema, Places: in.places}
	if condition != nil {
		made.condition, err = expr.BindCondition(p.ctx, pairs, condition)
	}
	if made.whole = made.condition; err == nil && n.Condition != condition {
		made.whole, err = expr.BindCondition(p.ctx, pairs, n.Condition)
	}
	if made.has.isOneSided() {
		in = &input{made, logical.PlacesOf(n.Columns())}
	}
	return in, err
}

// pairs makes the columns of pairs of rows of the probe and of the build side, whose strings may come as dictionaries,
// and returns their places.
func (n *joinNode) pairs(
	of *logical.Join, sides [2]*input, columns [2][]logical.Column, isCoded bool,
) map[expr.ID]int {
	known := make(map[expr.ID]logical.Column)
	inOrder := slices.Clone(of.PairColumns()) // of their IDs: names do not depend on which side is kept
	slices.SortFunc(inOrder, func(a, b logical.Column) int { return cmp.Compare(a.ID, b.ID) })
	taken := logical.Names{}
	for _, c := range inOrder {
		c.Name = taken.Unique(c.Name)
		known[c.ID] = c
	}
	places, fields := make(map[expr.ID]int), []arrow.Field{}
	for s, from := range []*projection{n.ofProbe, n.ofBuild} {
		stats := sides[s].stats()
		for i, c := range columns[s] {
			pair := known[c.ID]
			f := from.schema.Field(from.schema.NumFields() - len(columns[s]) + i)
			f.Name, f.Nullable = pair.Name, true
			places[c.ID] = len(fields)
			source := sides[s].places[c.ID]
			if expr.HasOtherUnit(pair.Type) { // whose values are others than the source's, and than its statistics say
				source, pair.Stats.HasRange = -1, false
			}
			n.ofSource[s] = append(n.ofSource[s], source)
			if stats != nil {
				of := &stats[sides[s].places[c.ID]]
				if pair.Stats.HasRange && of.HasRange && of.Min <= pair.Stats.Max && pair.Stats.Min <= of.Max { // by filters
					pair.Stats.Min, pair.Stats.Max = max(pair.Stats.Min, of.Min), min(pair.Stats.Max, of.Max)
				}
				if s == 0 { // dictionaries pass
					pair.Stats.Repeats, pair.Stats.StringBytes = of.Repeats, of.StringBytes
				}
			}
			if s == 1 {
				pair.Stats.Repeats = isCoded
			}
			fields, n.stats = append(fields, f), append(n.stats, pair.Stats)
		}
	}
	n.schema, n.columns = arrow.NewSchema(fields, nil), make([]int, len(fields))
	for i := range n.columns {
		n.columns[i] = i
	}
	switch {
	case n.has.ofBuild():
		n.columns = n.columns[len(columns[0]):]
	case n.has.isOneSided():
		n.columns = n.columns[:len(columns[0])]
	}
	return places
}

// side makes the keys, values of ranges among them, and the columns of one side of a join.
func (p *planner) side(in *input, keys []*expr.Expr, columns []logical.Column) (*projection, error) {
	exprs, names := slices.Clone(keys), make([]string, 0, len(keys)+len(columns))
	for i := range keys {
		names = append(names, fmt.Sprintf("key %d", i+1))
	}
	for _, c := range columns {
		exprs, names = append(exprs, c.Expr()), append(names, c.Name)
	}
	return newProjection(p.ctx, in.columns(), names, exprs, nil, true)
}

// bindKeys returns how the keys of both sides are packed; without keys all rows are equal.
func bindKeys(probe, build *projection, ofProbe, ofBuild *input, keys int) (*rowdata.Bound, error) {
	if keys == 0 {
		return &rowdata.Bound{Schema: arrow.NewSchema(nil, nil)}, nil
	}
	var q query.Query
	fields, stats := make([]arrow.Field, keys), make([]scan.ColumnStats, keys)
	for i := range keys {
		a, b := probe.program.Stats(i, ofProbe.stats()), build.program.Stats(i, ofBuild.stats())
		s := &stats[i]
		s.NoNulls = a.NoNulls && b.NoNulls
		if a.HasRange && b.HasRange {
			s.HasRange, s.Min, s.Max = true, min(a.Min, b.Min), max(a.Max, b.Max)
		}
		fields[i] = probe.schema.Field(i)
		q.Keys = append(q.Keys, query.Key{Column: fields[i].Name})
	}
	return rowdata.Bind(q, arrow.NewSchema(fields, nil), stats)
}
