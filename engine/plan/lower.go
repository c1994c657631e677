package plan

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/rules"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
)

// planner makes the nodes that run of logical nodes.
type planner struct {
	ctx    context.Context
	engine *engine.Engine
	query  *Query // which gets the conditions

	// filters are the filters that have been made: a rule may ask about rows that are read in the end, and
	// what a condition leaves out unread is found out once.
	filters map[*logical.Filter]*filterNode
	bodies  map[*logical.Body]*bodyNode // of WITH, that have been made

	estimates *rules.Estimator
	inParts   bool                   // rows may be made elsewhere, where other ranges of the tables are known
	limited   map[*logical.Join]bool // LIMIT may end them before all of their rows are made

	joinsOnDevice bool // a device makes the pairs of a join, by the algorithm that was asked for
}

// input is a node with the places of the columns of a logical node in its rows.
type input struct {
	node   sourceNode
	places map[expr.ID]int
}

// columns returns the columns, for expressions over them.
func (in *input) columns() expr.Columns { return expr.Columns{Schema: in.schema(), Places: in.places} }

func (in *input) schema() *arrow.Schema     { return in.node.rows(nil).Schema() }
func (in *input) stats() []scan.ColumnStats { return in.node.rows(nil).Stats().Columns }

// name returns the name of a column in the rows.
func (in *input) name(id expr.ID) string { return in.schema().Field(in.places[id]).Name }

// names returns the names of the columns in the rows.
func (in *input) names() map[expr.ID]string {
	names, schema := make(map[expr.ID]string, len(in.places)), in.schema()
	for id, at := range in.places {
		names[id] = schema.Field(at).Name
	}
	return names
}

// source makes a node whose rows all threads read. Columns for which isSum is true may have a narrower
// type: only sums, means and counts are made of them.
func (p *planner) source(n logical.Node, isSum func(expr.ID) bool) (*input, error) {
	switch n := n.(type) {
	case *logical.Scan:
		return &input{&tableNode{n.Source, n.Name}, logical.PlacesOf(n.Columns())}, nil
	case *logical.Statistics:
		in, err := p.source(n.In, isSum)
		if err != nil {
			return nil, err
		}
		return &input{&statisticsNode{in.node, n.Source}, logical.PlacesOf(n.Columns())}, nil
	case *logical.Filter:
		in, err := p.source(n.In, nil)
		if err != nil {
			return nil, err
		}
		made := p.filters[n]
		if made == nil {
			if made, err = p.filtered(in, n); err != nil {
				return nil, err
			}
			if _, isTable := in.node.(*tableNode); isTable { // the rows of a spilled join are read once
				p.filters[n] = made
			}
		}
		return &input{made, in.places}, nil
	case *logical.Project:
		if n.Groups() == nil {
			return p.computed(n, isSum)
		}
	case *logical.Unnest:
		return p.unnested(n)
	case *logical.Join:
		return p.join(n)
	case *logical.Union:
		return p.union(n)
	case *logical.Shared:
		return p.shared(n)
	case *logical.Iteration:
		return p.iteration(n), nil
	}
	rows, err := p.reader(n)
	if err != nil {
		return nil, err
	}
	of := newStream(rows, "derived table")
	of.described.grouped, of.described.isResult = isGrouped(n), true
	if !p.inParts {
		of.described.columns = rangesOf(n)
	}
	return &input{of, logical.PlacesOf(n.Columns())}, nil
}

// rangesOf returns what is known of the values of a node's columns.
func rangesOf(n logical.Node) []scan.ColumnStats {
	known := logical.StatsOf(n)
	for i, c := range known {
		known[i] = scan.ColumnStats{HasRange: c.HasRange, Min: c.Min, Max: c.Max, NoNulls: c.NoNulls}
		if expr.HasOtherUnit(n.Columns()[i].Type) { // than the rows have
			known[i].HasRange = false
		}
	}
	return known
}

// isGrouped says whether rows are groups.
func isGrouped(n logical.Node) bool {
	for {
		switch n.(type) {
		case *logical.Aggregate, *logical.Summary:
			return true
		}
		if len(n.Inputs()) != 1 {
			return false
		}
		n = n.Inputs()[0]
	}
}

// computed adds the columns of a projection to its input's.
func (p *planner) computed(n *logical.Project, isSum func(expr.ID) bool) (*input, error) {
	in, err := p.source(n.In, nil)
	if err != nil {
		return nil, err
	}
	made := &input{in.node, make(map[expr.ID]int, len(n.Exprs))}
	var names []string
	var exprs []*expr.Expr
	var sums []bool
	var taken logical.Names // before the first expression: nil
	own := in.schema().NumFields()
	for i, c := range n.Columns() {
		x := n.Exprs[i]
		if x.Op == expr.OpColumn {
			made.places[c.ID] = in.places[x.ID]
			continue
		}
		if taken == nil {
			taken = logical.NamesOf(in.schema())
		}
		made.places[c.ID] = own + len(exprs)
		names, exprs = append(names, taken.Unique(c.Name)), append(exprs, x)
		sums = append(sums, isSum != nil && isSum(c.ID))
	}
	made.node, err = withColumns(p.ctx, in, names, exprs, sums)
	return made, err
}

// unnested makes a row for each element of a list.
func (p *planner) unnested(n *logical.Unnest) (*input, error) {
	in, err := p.source(n.In, nil)
	if err != nil {
		return nil, err
	}
	rows := in.node.rows(nil)
	element := n.Columns()[len(n.Columns())-1]
	of := &unnestNode{in: in.node, list: in.places[n.List], name: logical.NamesOf(rows.Schema()).Unique(element.Name)}
	if n.Pruned != nil {
		program, err := expr.BindCondition(p.ctx, in.columns(), n.Pruned)
		if err != nil {
			return nil, err
		}
		if of.pruned, err = scan.Filter(p.ctx, rows, predicateOf(program)); err != nil {
			return nil, err
		}
		rows = of.pruned
	}
	if of.described, err = scan.Unnest(rows, of.list, of.name); err != nil {
		return nil, err
	}
	in.places[element.ID] = rows.Schema().NumFields()
	in.node = of
	return in, nil
}

// reader makes a node whose rows are read in their order, with the columns of a logical node.
func (p *planner) reader(n logical.Node) (readerNode, error) {
	switch n := n.(type) {
	case *logical.Limit:
		if sort, ok := n.In.(*logical.Sort); ok {
			return p.sorted(sort.In, sort.Keys, n)
		}
		return p.sorted(n.In, nil, n)
	case *logical.Sort:
		return p.sorted(n.In, n.Keys, &logical.Limit{})
	case *logical.First:
		return p.first(n)
	case *logical.Project:
		return p.projected(n)
	case *logical.Summary:
		figures, err := p.reader(n.In)
		if err != nil {
			return nil, err
		}
		return &summaryNode{figures, n.Of}, nil
	case *logical.Explain:
		return p.explained(n)
	case *logical.Recursion:
		return p.recursion(n)
	case *logical.Window:
		return p.window(n)
	case *logical.Repeat:
		in, err := p.reader(n.In)
		if err != nil {
			return nil, err
		}
		return &repeatNode{in, logical.PlaceOf(n.In, n.Times)}, nil
	}
	exprs := make([]*expr.Expr, len(n.Columns()))
	for i, c := range n.Columns() {
		exprs[i] = c.Expr()
	}
	same, err := logical.NewProject(p.ctx, n, n.Columns(), exprs)
	if err != nil {
		return nil, err
	}
	return p.projected(same)
}

// sorted orders and limits rows.
func (p *planner) sorted(n logical.Node, keys []logical.Key, limit *logical.Limit) (readerNode, error) {
	in, err := p.reader(n)
	if err != nil {
		return nil, err
	}
	if rows, ok := in.(*rowsNode); ok {
		rows.inOrder = len(keys) == 0 // the first rows are the first of the input
	}
	return &sortNode{in, orderBy(logical.PlacesOf(n.Columns()), keys, limit)}, nil
}

// orderBy returns an order of columns that have some places.
func orderBy(places map[expr.ID]int, keys []logical.Key, limit *logical.Limit) order.By {
	by := order.By{Limited: limit.Limited, Limit: limit.Limit, Offset: limit.Offset,
		IsShare: limit.IsShare, Share: limit.Share}
	for _, k := range keys {
		by.Keys = append(by.Keys, order.Key{Column: places[k.Column], Descending: k.Descending, NullsFirst: k.NullsFirst})
	}
	return by
}

// projected makes the columns of a projection.
func (p *planner) projected(n *logical.Project) (readerNode, error) {
	names := make([]string, len(n.Columns()))
	for i, c := range n.Columns() {
		names[i] = c.Name
	}
	if of := n.Groups(); of != nil {
		groups, err := p.groups(of)
		if err != nil {
			return nil, err
		}
		var having *expr.Expr
		if f, ok := n.In.(*logical.Filter); ok {
			having = f.Condition
		}
		made := expr.Columns{Schema: groups.made, Places: logical.PlacesOf(of.Columns())}
		post, err := newProjection(p.ctx, made, names, n.Exprs, having, false)
		return &projectNode{groups, post}, err
	}
	if isOrdered(n.In) && !slices.ContainsFunc(n.Exprs, func(x *expr.Expr) bool { return x.Op != expr.OpColumn }) {
		return p.picked(n, names)
	}
	in, err := p.source(n.In, nil)
	if err != nil {
		return nil, err
	}
	post, err := newProjection(p.ctx, in.columns(), names, n.Exprs, nil, true)
	return &rowsNode{in: in.node, post: post}, err
}

// isOrdered says whether one goroutine makes the rows of a node.
func isOrdered(n logical.Node) bool {
	switch n.(type) {
	case *logical.Limit, *logical.Sort, *logical.First, *logical.Summary, *logical.Explain, *logical.Repeat,
		*logical.Window:
		return true
	}
	return false
}

// picked picks columns of ordered rows.
func (p *planner) picked(n *logical.Project, names []string) (readerNode, error) {
	in, err := p.reader(n.In)
	if err != nil {
		return nil, err
	}
	places, fields := logical.PlacesOf(n.In.Columns()), make([]arrow.Field, len(names))
	pick := &pickNode{in: in}
	for i, x := range n.Exprs {
		fields[i] = in.schema().Field(places[x.ID])
		fields[i].Name = names[i]
		pick.columns = append(pick.columns, places[x.ID])
	}
	pick.made = arrow.NewSchema(fields, nil)
	return pick, nil
}

// groups makes the groups of an aggregation:
//
//	rows -> groups
//	rows -> rows in the orders of aggregates -> rows of each grouping set -> groups
//	groups of keys and distinct values -> groups
//	groups of all keys -> rows of each grouping set -> groups
//	groups of all keys -> groups of a grouping set -> groups of the next set
func (p *planner) groups(n *logical.Aggregate) (*groupsNode, error) {
	of, answers, err := p.aggregate(n, n.Again)
	if err != nil {
		return nil, err
	}
	made := &groupsNode{of: of, sets: n.Sets, made: of.made, answers: answers}
	for below := of.merged(); below != nil; below = below.merged() {
		made.first = below
	}
	if union, ok := of.in.(*unionNode); ok && n.Apart {
		made.part = union.in[0].(*streamNode).in.(*projectNode).in
	}
	if n.OfNothing() && n.Sets != nil { // functions that are NULL for no rows
		fields := slices.Clone(of.made.Fields())
		for i, c := range n.Columns() {
			fields[i].Nullable = fields[i].Nullable || c.Nullable
		}
		made.made = arrow.NewSchema(fields, nil)
	}
	for _, a := range answers {
		if err := p.answer(a, n, made.made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// answer says how groups of one grouping set become groups of an aggregation by several, of a schema.
func (p *planner) answer(a *answersNode, n *logical.Aggregate, made *arrow.Schema) (err error) {
	from := make([]expr.ID, 0, made.NumFields()) // by column: the column of a's groups; 0 of the set's number
	for _, k := range a.by.Keys {
		from = append(from, k.Of)
	}
	from = slices.Insert(from, n.KeysOfSets(), 0)
	for _, c := range a.by.Calls {
		from = append(from, c.Args[0])
	}
	names, exprs := make([]string, len(from)), make([]*expr.Expr, len(from))
	places := logical.PlacesOf(a.by.In.Columns())
	for i, f := range made.Fields() {
		names[i], exprs[i] = f.Name, expr.Constant(int64(a.by.Answered))
		own := arrow.DataType(arrow.PrimitiveTypes.Int64)
		if at, ok := places[from[i]]; ok {
			c := a.by.In.Columns()[at]
			exprs[i], own = c.Expr(), rowdata.ValueType(c.Type)
		}
		if !arrow.TypeEqual(own, f.Type) {
			t, err := expr.TypeOf(f.Type)
			if err != nil {
				return err
			}
			exprs[i] = expr.Cast(exprs[i], t)
		}
	}
	a.post, err = newProjection(p.ctx, expr.Columns{Schema: a.schema(), Places: places}, names, exprs, nil, true)
	return err
}

// aggregate makes an aggregation, whose groups may be grouped again, and returns the groups below it that
// are groups of grouping sets already.
func (p *planner) aggregate(n *logical.Aggregate, again bool) (*aggregateNode, []*answersNode, error) {
	in, answers, err := p.grouped(n)
	if err != nil {
		return nil, nil, err
	}
	names := in.names()
	q := n.Query(names)
	if len(orders(n)) > 0 {
		if err := p.ordered(in, n, &q); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case n.Sets != nil && n.Expanded == 0:
		expand(in, n, &q)
	case n.Sets != nil:
		q.Keys = append(q.Keys, query.Key{Column: names[n.Expanded], Name: setName(n, &q, names[n.Expanded])})
	}
	made := &aggregateNode{in: in.node, query: q, coded: again,
		expected: rowCount(p.estimates.Rows(n)), isDomain: n.Domain}
	if m := n.Most; m != nil {
		made.most = &engine.Most{N: m.N, Count: m.Count, Ties: m.Ties}
	}
	var bound *rowdata.Bound
	if again {
		for i, c := range n.Columns()[:len(q.Keys)] {
			if slices.Contains(n.Counted, c.ID) {
				made.counted = append(made.counted, q.Keys[i].Name)
			}
		}
		bound, err = rowdata.BindCoded(q, in.schema(), in.stats(), made.counted)
	} else {
		bound, err = rowdata.Bind(q, in.schema(), in.stats())
	}
	if err != nil {
		return nil, nil, err
	}
	made.made, made.stats = bound.Schema, nil
	if again {
		made.stats = bound.GroupStats()
	}
	return made, answers, nil
}

// rowCount returns an estimate as a number of rows.
func rowCount(estimate float64) int64 { return int64(min(estimate, math.MaxInt64/2)) }

// grouped makes the rows of an aggregation, which may be groups that are grouped again. It returns the
// nodes below whose groups are groups of grouping sets already.
func (p *planner) grouped(n *logical.Aggregate) (*input, []*answersNode, error) {
	first, ok := n.In.(*logical.Aggregate)
	if !ok && n.Answered < 0 {
		in, err := p.source(n.In, sumsOf(n))
		return in, nil, err
	}
	var of readerNode
	var answers []*answersNode
	var known []scan.ColumnStats
	readers := 0
	if ok {
		groups, below, err := p.aggregate(first, first.Again || n.Answered >= 0)
		if err != nil {
			return nil, nil, err
		}
		of, answers = groups, below
		switch {
		case groups.coded:
			known, readers = groups.stats, p.engine.Threads()
		case !p.inParts:
			known = rangesOf(first)
		}
	} else {
		var err error
		if of, err = p.reader(n.In); err != nil {
			return nil, nil, err
		}
	}
	if n.Answered >= 0 {
		a := &answersNode{in: of, by: n}
		of, answers, readers = a, append(answers, a), p.engine.Threads()
	}
	groups := newStream(of, "groups")
	groups.described.grouped, groups.described.columns, groups.described.readers = true, known, readers
	return &input{groups, logical.PlacesOf(n.In.Columns())}, answers, nil
}

// sumsOf returns a function that says whether nothing but sums, means and counts are made of a column.
func sumsOf(n *logical.Aggregate) func(expr.ID) bool {
	others := map[expr.ID]bool{}
	for _, k := range n.Keys {
		others[k.Of] = true
	}
	for _, c := range n.Calls {
		f := c.Function.Func
		isSum := !c.Distinct && (f == query.Sum || f == query.Avg || f == query.Count)
		for _, id := range c.Args {
			others[id] = others[id] || !isSum
		}
		for _, k := range c.Order {
			others[k.Column] = true
		}
	}
	return func(id expr.ID) bool { return !others[id] }
}

// setName returns a name for the number of the grouping set, which no other column has.
func setName(n *logical.Aggregate, q *query.Query, name string) string {
	taken := logical.Names{}
	for _, k := range q.Keys {
		taken.Unique(k.Name)
	}
	for _, a := range q.Aggregates {
		taken.Unique(a.Name)
	}
	if name == "" {
		name = n.Set.Name
	}
	return taken.Unique(name)
}

// expand makes a row for each grouping set of each row, except for the set whose groups the rows are.
func expand(in *input, n *logical.Aggregate, q *query.Query) {
	src := in.node.rows(nil)
	x := &expanded{sets: n.Sets}
	taken := logical.NamesOf(src.Schema())
	for i := range n.KeysOfSets() {
		k := &q.Keys[i]
		x.keys = append(x.keys, in.places[n.Keys[i].Of])
		k.Column = taken.Unique("key " + k.Name)
		x.names = append(x.names, k.Column)
	}
	if x.made = n.Made; x.made == nil {
		for i := range n.Sets {
			x.made = append(x.made, i)
		}
	}
	set := taken.Unique(setName(n, q, ""))
	x.names = append(x.names, set)
	q.Keys = slices.Insert(q.Keys, n.KeysOfSets(), query.Key{Column: set, Name: setName(n, q, set)})
	in.node = &expandNode{stepNode{in.node, x.over(src)}, x}
}

// statisticsNode has the bounds of columns in place of the rows of its input, which are not read.
type statisticsNode struct {
	in   sourceNode
	made scan.Source
}

func (n *statisticsNode) input() node           { return n.in }
func (n *statisticsNode) rows(*run) scan.Source { return n.made }

// onDevices says whether devices alone make the groups of an aggregation.
func (p *planner) onDevices(n *logical.Aggregate) (bool, error) {
	in, _, err := p.grouped(n)
	if err != nil {
		return false, err
	}
	return p.engine.OnDevices(p.ctx, in.node.rows(nil), n.Query(in.names()))
}

// rowsOptions are the options for reading the columns of a projection in a run.
func rowsOptions(p *projection, r *run) engine.RowsOptions {
	inputs := p.columnsRead()
	p = p.narrowed(inputs)
	return engine.RowsOptions{
		Columns: inputs,
		Schema:  p.schema,
		NewMap:  func() engine.RowMap { return newProjector(p, r.statement.Allocator()) },
		Code:    p.code,
	}
}

// orders returns the different orders in which aggregates take the rows.
func orders(n *logical.Aggregate) (list [][]logical.Key) {
	for _, c := range n.Calls {
		same := func(keys []logical.Key) bool { return slices.Equal(keys, c.Order) }
		if len(c.Order) > 0 && !slices.ContainsFunc(list, same) {
			list = append(list, c.Order)
		}
	}
	return list
}

// describeKeys names an order.
func describeKeys(n logical.Node, keys []logical.Key) string {
	places, text := logical.PlacesOf(n.Columns()), ""
	for i, k := range keys {
		if i > 0 {
			text += ", "
		}
		o := expr.Order{Expr: n.Columns()[places[k.Column]].Expr(), Descending: k.Descending, NullsFirst: k.NullsFirst}
		text += o.String()
	}
	return text
}

// explained makes what EXPLAIN tells about a statement.
func (p *planner) explained(n *logical.Explain) (readerNode, error) {
	root, err := p.reader(n.In)
	if err != nil {
		return nil, logical.Located(n.Of, err)
	}
	about := &Query{engine: p.engine, text: n.Of, statement: p.query.statement, root: root}
	return &explainNode{p.query, about, n.Analyze}, nil
}
