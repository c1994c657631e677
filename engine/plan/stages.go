package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// arrange decides in how many steps the groups are made, and binds the last step. The rows are read
// once.
//
//	             sum(DISTINCT x), count(DISTINCT x):  groups by keys and x -> groups by keys
//	list(x ORDER BY y):  rows in order ->                                     groups by keys
//	grouping sets, of aggregates that merge:     groups by all keys -> sets -> groups by keys and set
//	grouping sets of others:                           rows -> sets ->        groups by keys and set
func (g *grouping) arrange(ctx context.Context, asked query.Query) error {
	if len(asked.Keys) == 0 && len(asked.Aggregates) == 0 {
		asked.Aggregates, g.infos = []query.Aggregate{{Func: query.CountStar, Name: "count(*)"}}, []callInfo{{}}
	}
	if _, err := rowdata.Bind(asked, g.q.source().Schema(), g.q.source().Stats().Columns); err != nil {
		return g.bindError(asked, err)
	}
	if err := g.groupFirst(ctx, asked); err != nil {
		return err
	}
	if src := g.extremes(asked); src != nil {
		g.q.in = &statisticsNode{g.q.in, src}
	}
	if len(g.orders) > 0 {
		var err error
		if asked, err = g.sortRows(ctx, asked); err != nil {
			return err
		}
	}
	var sets [][]bool
	finest := -1
	if len(g.sets) > 1 {
		if merged, set, ok := g.splitSets(asked); g.q.rules.note(FinestFirst, ok) {
			asked, finest = merged, set
		}
		asked, sets = g.expand(asked, finest)
	}
	if g.distinct != nil {
		merge, ok, err := g.split(asked, g.distinct)
		if err != nil {
			return err
		}
		if g.q.rules.note(DistinctGroups, ok) {
			asked = merge
		}
	}
	bound, err := rowdata.Bind(asked, g.q.source().Schema(), g.q.source().Stats().Columns)
	if err != nil {
		return g.bindError(asked, err)
	}
	g.q.rows = bound.Schema
	last := &aggregateNode{in: g.q.in, query: asked, made: bound.Schema}
	g.q.groups = &groupsNode{of: last, first: g.first, sets: sets, answered: finest, made: g.q.rows}
	if slices.ContainsFunc(g.sets, func(set []int) bool { return len(set) == 0 }) {
		return g.q.admitNothing()
	}
	return nil
}

// statisticsNode has the bounds of columns in place of the rows of its input, which are not read.
type statisticsNode struct {
	in   sourceNode
	made scan.Source
}

func (n *statisticsNode) input() node           { return n.in }
func (n *statisticsNode) rows(*run) scan.Source { return n.made }

// admitNothing lets the aggregates that are NULL for no rows be NULL: a grouping set without keys
// has a group of no rows.
func (q *Query) admitNothing() error {
	grouping := q.groups.of.query
	if grouping.Keys = nil; len(grouping.Aggregates) == 0 {
		return nil
	}
	bound, err := rowdata.Bind(grouping, q.source().Schema(), q.source().Stats().Columns)
	if err != nil {
		return err
	}
	fields := slices.Clone(q.rows.Fields())
	keys := len(fields) - bound.Schema.NumFields()
	for i, f := range bound.Schema.Fields() {
		fields[keys+i].Nullable = fields[keys+i].Nullable || f.Nullable
	}
	q.rows = arrow.NewSchema(fields, nil)
	q.groups.made = q.rows
	return nil
}

// split adds a first aggregation, by the keys of an aggregation and by the columns in distinct, and
// returns the aggregation that merges its groups. ok is false, and nothing is added, where an
// aggregate cannot be merged.
func (g *grouping) split(asked query.Query, distinct []string) (merge query.Query, ok bool, err error) {
	first := asked
	first.Keys, first.Aggregates = slices.Clone(asked.Keys), nil
	merge = asked
	merge.Keys, merge.Aggregates = nil, nil
	for _, k := range asked.Keys {
		merge.Keys = append(merge.Keys, query.Key{Column: k.ResultName(), Name: k.ResultName()})
	}
	apart := map[string]string{} // by column in distinct: its name in the groups
	var counted []string         // names in apart, while no aggregate looks at values
	for i, column := range distinct {
		apart[column] = g.beside(fmt.Sprintf("distinct %d", i+1))
		counted = append(counted, apart[column])
		first.Keys = append(first.Keys, query.Key{Column: column, Name: apart[column]})
	}
	add := func(name string, partial query.Aggregate, f query.Func) {
		partial.Name = name
		first.Aggregates = append(first.Aggregates, partial)
		merge.Aggregates = append(merge.Aggregates, query.Aggregate{Func: f, Args: []string{name}, Name: name})
	}
	computed := map[string]*expr.Expr{}
	count := func(name string) *expr.Expr { // of no groups, the sum of counts is NULL
		sum := &expr.Expr{Op: expr.OpCast, Type: expr.Type{ID: expr.Int64}, Args: []*expr.Expr{expr.Column(name)}, At: -1}
		return expr.Call("coalesce", sum, expr.Constant(int64(0)))
	}
	for i, a := range asked.Aggregates {
		name := a.ResultName()
		switch f := a.Func; {
		case g.infos[i].distinct && distinct == nil:
			return asked, false, nil
		case g.infos[i].distinct:
			if f == query.CountDistinct {
				a.Func = query.Count
			} else {
				counted = nil
			}
			a.Distinct = f == query.List || f == query.StringAgg // their values come in order
			a.Args = slices.Clone(a.Args)
			for j := range a.Args {
				a.Args[j] = apart[a.Args[j]]
			}
			merge.Aggregates = append(merge.Aggregates, a)
		case f == query.CountStar || f == query.Count:
			add(name, a, query.Sum)
			computed[name] = count(name)
		case f == query.Avg && g.narrow(a.Args[0]):
			sum, n := g.beside("sum of "+name), g.beside("count of "+name)
			add(sum, query.Aggregate{Func: query.Sum, Args: a.Args}, query.Sum)
			add(n, query.Aggregate{Func: query.Count, Args: a.Args}, query.Sum)
			computed[name] = expr.Call(expr.MeanOfParts, expr.Column(sum), expr.Column(n))
		case slices.Contains(merging, f):
			add(name, a, f)
		default:
			return asked, false, nil
		}
	}
	for name, x := range computed {
		g.computed[name] = x
	}
	bind := rowdata.Bind
	if distinct != nil {
		bind = func(q query.Query, schema *arrow.Schema, stats []rowdata.ColumnStats) (*rowdata.Bound, error) {
			return rowdata.BindCoded(q, schema, stats, counted)
		}
	}
	bound, err := bind(first, g.q.source().Schema(), g.q.source().Stats().Columns)
	if err != nil {
		return asked, false, err
	}
	g.first = &aggregateNode{in: g.q.in, query: first, made: bound.Schema, coded: distinct != nil, counted: counted}
	groups := newStream(g.first, "groups")
	groups.described.grouped = true
	if distinct != nil {
		groups.described.columns, groups.described.readers = bound.GroupStats(), g.q.engine.Threads()
	}
	g.q.in = groups
	return merge, true, nil
}

// merging are the functions whose result for the whole is the function of their results for the
// parts.
var merging = []query.Func{query.Sum, query.Min, query.Max, query.BoolAnd, query.BoolOr, query.BitAnd, query.BitOr, query.BitXor}

// narrow says whether sums of a column are far from their type's bounds, so that a mean may be
// computed of a sum.
func (g *grouping) narrow(column string) bool {
	const digitsMax = 18
	at := g.q.source().Schema().FieldIndices(column)
	if len(at) != 1 {
		return false
	}
	switch dt := valueType(g.q.source().Schema().Field(at[0]).Type).(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type,
		*arrow.Float32Type, *arrow.Float64Type:
		return true
	case arrow.DecimalType:
		return dt.GetPrecision() <= digitsMax
	}
	return false
}

// splitSets makes groups of all keys first, where a grouping set has all keys and the aggregates
// merge. Rows become few before they are multiplied, and the groups are the answer for the set with
// all keys. finest is the index of this set, or -1 where the groups' columns have other types than the
// merged groups' columns.
func (g *grouping) splitSets(asked query.Query) (merge query.Query, finest int, ok bool) {
	finest = slices.IndexFunc(g.sets, func(set []int) bool {
		for k := range g.keys {
			if !slices.Contains(set, k) {
				return false
			}
		}
		return true
	})
	if finest < 0 || !g.q.rules.allows(FinestFirst) || g.distinct != nil || asked.Deterministic || len(asked.Keys) == 0 {
		return asked, -1, false
	}
	merge, ok, err := g.split(asked, nil)
	if !ok || err != nil {
		return asked, -1, false
	}
	groups := g.q.source().Schema()
	bound, err := rowdata.Bind(merge, groups, nil)
	if err != nil {
		return asked, -1, false
	}
	for i, f := range bound.Schema.Fields() {
		if !arrow.TypeEqual(f.Type, groups.Field(i).Type) {
			finest = -1
		}
	}
	return merge, finest, true
}

// groupFirst decides whether groups of the keys and of distinct values come first. Devices count the values of
// each group in less time than they group twice.
func (g *grouping) groupFirst(ctx context.Context, asked query.Query) error {
	if !g.q.rules.allows(DistinctGroups) {
		return nil
	}
	if g.distinct = g.groupedFirst(asked); g.distinct == nil || len(g.orders) > 0 || len(g.sets) > 1 {
		return nil
	}
	alone, err := g.q.engine.OnDevices(ctx, g.q.source(), asked)
	if alone {
		g.distinct = nil
	}
	return err
}

// groupedFirst returns the arguments of the aggregates with DISTINCT, where groups of the keys and
// of these columns can be made first: such groups take a tenth of the time that a set of values for
// each group takes, and can be written to disk. It returns nil where two such aggregates have other
// arguments, or where another aggregate over the groups would not be what it is over the rows.
func (g *grouping) groupedFirst(q query.Query) (distinct []string) {
	if q.Deterministic {
		return nil
	}
	for i, a := range q.Aggregates {
		switch f := a.Func; {
		case g.infos[i].distinct && distinct == nil:
			distinct = a.Args
		case g.infos[i].distinct:
			if !slices.Equal(a.Args, distinct) {
				return nil
			}
		case f == query.CountStar, f == query.Count:
		case f == query.Sum, f == query.Avg: // sums of parts may pass bounds that the whole keeps
			if !g.narrow(a.Args[0]) {
				return nil
			}
		case !slices.Contains(merging, f):
			return nil
		}
	}
	return distinct
}

// expand makes a row for each grouping set of each row, except for the set answered; -1 makes rows
// for all sets.
func (g *grouping) expand(asked query.Query, answered int) (query.Query, [][]bool) {
	x := &expanded{wider: wider{Source: g.q.source()}}
	asked.Keys = slices.Clone(asked.Keys)
	for i := range asked.Keys {
		k := &asked.Keys[i]
		k.Name = k.ResultName()
		x.keys = append(x.keys, x.Source.Schema().FieldIndices(k.Column)[0])
		k.Column = g.names.unique("key " + k.Name)
		x.names = append(x.names, k.Column)
	}
	for i, set := range g.sets {
		present := make([]bool, len(g.keys))
		for _, k := range set {
			present[k] = true
		}
		x.sets = append(x.sets, present)
		if i != answered {
			x.made = append(x.made, i)
		}
	}
	g.set = g.beside("grouping set")
	x.names = append(x.names, g.set)
	asked.Keys = append(asked.Keys, query.Key{Column: g.set, Name: g.set})
	x.describe()
	g.q.in = &expandNode{g.q.in, x}
	return asked, x.sets
}

// rowsOptions are the options for reading the columns of a projection.
func rowsOptions(p *projection, eng *engine.Engine) engine.RowsOptions {
	inputs := p.columnsRead()
	p = p.narrowed(inputs)
	return engine.RowsOptions{
		Columns: inputs,
		Schema:  p.schema,
		NewMap:  func() engine.RowMap { return newProjector(p, eng.Allocator()) },
	}
}
