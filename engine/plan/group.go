package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// grouping is a statement with groups while it is planned: its keys and aggregates, each once, and
// the columns that the aggregation returns for them.
type grouping struct {
	st   *statement
	q    *Query       // the query that is planned
	opt  *Options     // of the statement
	keys []*expr.Expr // over the source's columns
	sets [][]int      // by grouping set: places in keys; for a plain GROUP BY a single set of all keys
	set  string       // name of the column with the number of the grouping set; "" for a single set

	places map[string]int // in keys, of the first key of a Key

	// Of several grouping sets: see keyOfSets.
	elements   map[string]int // place in keys, by the Key of the element of GROUP BY, or "expression " and a Key
	itemOf     map[int]bool   // items that elements of GROUP BY have named already, by their place
	references map[string]int // place in keys, by the Key of the column that stands for the key in an item
	unnamed    map[int]bool   // keys that no expression of the statement stands for, by their place

	calls    []*expr.Expr          // the aggregates of the query, as they were first written
	infos    []callInfo            // by aggregate of the query
	columns  map[string]string     // name of the groups' column that holds a key or an aggregate, by Key
	computed map[string]*expr.Expr // over columns of the groups: aggregates without a column of their own, by name
	shifted  map[string]*expr.Expr // over other aggregates: what stands for a sum, by the sum's Key

	first    *aggregateNode // whose groups the last aggregation merges; nil where it reads rows
	distinct []string       // arguments of DISTINCT aggregates, where groups by keys and these come first; else nil
	orders   []rowOrder     // in which aggregates with ORDER BY take the rows

	// The source must have further columns, which are computed of its own.
	added      []*expr.Expr   // the further columns
	addedNames []string       // by place in added
	addedAt    map[string]int // place in added, by Key
	sums       []bool         // by place in added: only sums, means and counts are made of the column
	names      names          // of all columns of the source
	made       names          // of all columns of the groups
}

// callInfo says which parts of a call the engine does not compute.
type callInfo struct {
	distinct bool // the function is of the distinct values of its arguments
	order    int  // place of the call's ORDER BY in grouping.orders; -1 where it has none
}

// rowOrder is an order of the rows.
type rowOrder struct {
	by      []expr.Order
	columns []string // by element of by: the source's column
}

func (o rowOrder) String() string {
	list := make([]string, len(o.by))
	for i := range o.by {
		list[i] = o.by[i].String()
	}
	return strings.Join(list, ", ")
}

// group plans a statement with groups.
func (p *planner) group(ctx context.Context, q *Query, st *statement) error {
	st = st.clone()
	g := &grouping{
		places: map[string]int{},
		st:     st, q: q, opt: &p.opt,
		elements: map[string]int{}, itemOf: map[int]bool{}, references: map[string]int{}, unnamed: map[int]bool{},
		columns: map[string]string{}, computed: map[string]*expr.Expr{}, shifted: map[string]*expr.Expr{},
		addedAt: map[string]int{}, names: namesOf(q.source().Schema()), made: names{},
	}
	if err := g.findKeys(); err != nil {
		return err
	}
	having, err := st.condition(st.Having, "HAVING")
	if err != nil {
		return err
	}
	asked, err := g.query(ctx, having)
	if err != nil {
		return err
	}
	q.uses = append(slices.Clone(g.keys), having)
	asked.Overflow, asked.Deterministic = p.opt.Overflow, p.opt.Deterministic
	if q.in, err = withColumns(ctx, q.in, g.addedNames, g.added, g.sums); err != nil {
		return err
	}
	if err := g.arrange(ctx, asked); err != nil {
		return err
	}
	if having != nil {
		if having, err = g.overGroups(having); err != nil {
			return err
		}
	}
	return q.finish(ctx, st, g.overGroups, having)
}

// dropDependent leaves out keys that follow from other keys: constants, and expressions over
// columns that are keys. They are computed of the groups. No key follows from floats: 0.0 and -0.0
// are one group, not one value.
func (g *grouping) dropDependent() {
	columns := map[string]bool{}
	for _, k := range g.keys {
		if k.Op != expr.OpColumn {
			continue
		}
		if f, ok := g.q.source().Schema().FieldsByName(k.Name); ok && !arrow.IsFloating(valueType(f[0].Type).ID()) {
			columns[k.Name] = true
		}
	}
	var kept []*expr.Expr
	for _, k := range g.keys {
		dependent := k.Op != expr.OpColumn
		for _, name := range k.Columns() {
			dependent = dependent && columns[name]
		}
		if !dependent {
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 && len(g.keys) > 0 {
		kept = g.keys[:1] // an empty table has no group, not even where all keys are constants
	}
	g.q.rules.note(DependentKeys, len(kept) < len(g.keys))
	g.keys, g.sets[0] = kept, nil
	for i := range kept {
		g.sets[0] = append(g.sets[0], i)
	}
}

// query makes the aggregation by all keys, and notes which column holds which key or aggregate.
func (g *grouping) query(ctx context.Context, having *expr.Expr) (query.Query, error) {
	var q query.Query
	named := func(x *expr.Expr) string { // a column's name may be empty, or read as another expression does
		return g.made.unique(cmp.Or(x.String(), "column"))
	}
	for i, k := range g.keys {
		name := named(k)
		if !g.unnamed[i] {
			g.columns[k.Key()] = name // of two keys of one expression, the last
		}
		for reference, key := range g.references {
			if key == i {
				g.columns[reference] = name
			}
		}
		q.Keys = append(q.Keys, query.Key{Column: g.argument(k, false), Name: name})
	}
	orders, err := g.st.orders()
	if err != nil {
		return q, err
	}
	var all []*expr.Expr
	for _, it := range g.st.results() {
		all = append(all, it.expr)
	}
	for _, o := range orders {
		all = append(all, o.Expr)
	}
	if having != nil {
		all = append(all, having)
	}
	for _, x := range all {
		failed := ended(ctx)
		var add func(x *expr.Expr) bool
		add = func(x *expr.Expr) bool {
			if x.Op != expr.OpAggregate || failed != nil {
				return failed == nil && g.columns[x.Key()] == ""
			}
			key := x.Key()
			if g.columns[key] != "" || g.shifted[key] != nil {
				return false
			}
			if made := g.shift(ctx, x); made != nil {
				g.shifted[key] = made
				made.Walk(add)
				return false
			}
			a, info, err := g.aggregate(ctx, x)
			if err != nil {
				failed = err
				return false
			}
			a.Name = named(x)
			g.calls, g.infos = append(g.calls, x), append(g.infos, info)
			g.columns[key] = a.Name
			q.Aggregates = append(q.Aggregates, a)
			return false
		}
		x.Walk(add)
		if failed != nil {
			return q, failed
		}
	}
	return q, nil
}

// argument returns the name of the source's column that has the values of an expression; the column
// is added where there is none. sum says that only a sum, a mean or a count is made of the column.
func (g *grouping) argument(x *expr.Expr, sum bool) string {
	if x.Op == expr.OpColumn {
		return x.Name
	}
	key := x.Key()
	if i, ok := g.addedAt[key]; ok {
		g.sums[i] = g.sums[i] && sum
		return g.addedNames[i]
	}
	name := g.names.unique(x.String())
	g.addedAt[key] = len(g.added)
	g.added, g.addedNames, g.sums = append(g.added, x), append(g.addedNames, name), append(g.sums, sum)
	return name
}

// beside returns a name that neither a column of the source nor one of the groups has.
func (g *grouping) beside(name string) string {
	own := g.names.unique(name)
	for g.made[strings.ToLower(own)] {
		own = g.names.unique(name)
	}
	g.made[strings.ToLower(own)] = true
	return own
}

// aggregate turns a call into what the engine computes.
func (g *grouping) aggregate(ctx context.Context, x *expr.Expr) (a query.Aggregate, info callInfo, err error) {
	info.order = -1
	for _, arg := range x.Args {
		if inner := firstAggregate(arg); inner != nil {
			return a, info, errorAt(inner.At, "an aggregate function within another: %s", inner)
		}
	}
	if inner := firstAggregate(x.Filter); inner != nil {
		return a, info, errorAt(inner.At, "an aggregate function in FILTER: %s", inner)
	}
	f, ok := query.LookupFunc(x.Name, len(x.Args) > 1)
	if x.Name == "count_star" {
		f, ok = query.CountStar, true
	}
	switch {
	case !ok:
		return a, info, errorAt(x.At, "no aggregate function is named %s", x.Name)
	case x.Distinct && f == query.Count:
		f, info.distinct = query.CountDistinct, true
	case x.Distinct:
		info.distinct = !slices.Contains(ofSets, f)
		a.Distinct = info.distinct
	case f == query.Count && len(x.Args) == 1 && x.Args[0].Op == expr.OpConstant && x.Args[0].Value != nil:
		f, x = query.CountStar, &expr.Expr{Op: expr.OpAggregate, Name: x.Name, Filter: x.Filter, At: x.At}
	}
	if f == query.CountStar && x.Filter != nil {
		f = query.Count
		args := []*expr.Expr{expr.Constant(true)}
		x = &expr.Expr{Op: expr.OpAggregate, Name: "count", Args: args, Filter: x.Filter, At: x.At}
	}
	a.Func = f
	args, err := parameters(ctx, &a, x)
	if err != nil {
		return a, info, err
	}
	for i, arg := range args {
		if x.Filter != nil && i == 0 { // a row with a NULL argument does not count
			arg = &expr.Expr{Op: expr.OpCall, Name: "case", Args: []*expr.Expr{x.Filter, arg}, At: arg.At}
		}
		a.Args = append(a.Args, g.argument(arg, !info.distinct && (f == query.Sum || f == query.Avg || f == query.Count)))
	}
	if len(x.OrderBy) > 0 {
		err = g.order(&a, &info, x)
	}
	return a, info, err
}

// order gives an aggregate the order that is written in its call. Functions of sets of values, as sum
// and count, have the same result in any order.
func (g *grouping) order(a *query.Aggregate, info *callInfo, x *expr.Expr) error {
	for _, o := range x.OrderBy {
		if inner := firstAggregate(o.Expr); inner != nil {
			return errorAt(inner.At, "an aggregate function in ORDER BY within another: %s", inner)
		}
		if o.Expr.Op == expr.OpConstant {
			return ordersNothing(o.Expr)
		}
		if x.Distinct && indexOf(x.Args, o.Expr) < 0 {
			return errorAt(o.Expr.At, "ORDER BY beside DISTINCT takes an argument of the function, not %s", o.Expr)
		}
	}
	descending := x.OrderBy[0].Descending
	switch f := a.Func; {
	case f.Param() == query.FractionParam:
		if o := x.OrderBy[0]; len(x.OrderBy) > 1 || o.Expr.Key() != x.Args[0].Key() {
			const alone = "%s is of its values in their own order: ORDER BY takes %s alone, ASC or DESC"
			return errorAt(o.Expr.At, alone, x.Name, x.Args[0])
		}
		a.Descending = descending
	case x.Distinct && (f == query.List || f == query.StringAgg):
		a.Descending = descending
	case x.Distinct && len(a.Args) == 1 && slices.Contains(ofOrder, f): // the first or the last of the distinct values
		a.Func, a.Distinct, info.distinct = query.Min, false, false
		if descending != (f == query.Last) {
			a.Func = query.Max
		}
	case slices.Contains(ofOrder, f):
		if info.order = g.orderBy(x.OrderBy); info.order >= ordersMax {
			return errorAt(x.OrderBy[0].Expr.At, "not supported: more than %d different ORDER BY in aggregates", ordersMax)
		}
	}
	return nil
}

// ofSets are the functions whose result for the rows is their result for the distinct values.
var ofSets = []query.Func{query.Min, query.Max, query.BoolAnd, query.BoolOr, query.BitAnd, query.BitOr, query.ApproxCountDistinct,
	query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax}

// ofOrder are the functions whose results depend on the order of rows.
var ofOrder = []query.Func{query.First, query.Last, query.AnyValue, query.Mode, query.ArgMin, query.ArgMax, query.List,
	query.StringAgg}

// ordersMax bounds the orders of a statement: for each of them all rows are sorted.
const ordersMax = 64

// orderBy notes an order in which an aggregate takes the rows, and returns the place of the order
// in grouping.orders.
func (g *grouping) orderBy(list []expr.Order) int {
	order := rowOrder{by: list}
	for _, o := range list {
		order.columns = append(order.columns, g.argument(o.Expr, false))
	}
	if at := slices.IndexFunc(g.orders, func(o rowOrder) bool { return o.String() == order.String() }); at >= 0 {
		return at
	}
	g.orders = append(g.orders, order)
	return len(g.orders) - 1
}

// parameters moves the constant of a call to the aggregate, and returns the other arguments.
func parameters(ctx context.Context, a *query.Aggregate, x *expr.Expr) ([]*expr.Expr, error) {
	n, most := a.Func.Args(), a.Func.Args()
	if a.Func.Param() != query.NoParam {
		most++
	}
	least := most
	if a.Func.Param() == query.SeparatorParam {
		least--
		a.Separator = ","
	}
	if len(x.Args) < least || len(x.Args) > most {
		return nil, errorAt(x.At, "%s takes %s, not %d", x.Name, signature(a.Func), len(x.Args))
	}
	if len(x.Args) == n {
		return x.Args, nil
	}
	p, err := expr.Bind(ctx, arrow.NewSchema(nil, nil), x.Args[n])
	if err != nil {
		return nil, err
	}
	value, ok := p.Constant(0)
	want := ""
	switch a.Func.Param() {
	case query.FractionParam:
		want = "a number from 0 to 1"
		a.Fraction, ok = p.Number(0)
	case query.LengthParam:
		want = "a whole number"
		var length int64
		length, ok = value.(int64)
		ok = ok && p.Type(0).ID != expr.Decimal
		a.Length = int(length)
	case query.SeparatorParam:
		want = "text in single quotes"
		a.Separator, ok = value.(string)
	}
	if !ok {
		return nil, errorAt(x.Args[n].At, "after the columns of %s comes %s", x.Name, want)
	}
	return x.Args[:n], nil
}

// signature says what a function takes.
func signature(f query.Func) string {
	text := fmt.Sprintf("%d arguments", f.Args())
	if f.Args() == 1 {
		text = "1 argument"
	}
	switch f.Param() {
	case query.FractionParam:
		text += " and a fraction"
	case query.LengthParam:
		text += " and a length"
	case query.SeparatorParam:
		text += " and a separator or none"
	}
	return text
}

// bindError points at the key or aggregate that does not suit its column's type.
func (g *grouping) bindError(asked query.Query, err error) error {
	bindOne := func(q query.Query, at int) error {
		schema := g.q.source().Schema()
		if _, err := rowdata.Bind(q, schema, nil); err != nil {
			return &expr.Error{Message: err.Error(), At: at, Texts: textArguments(q, schema)}
		}
		return nil
	}
	for i := range min(len(g.keys), len(asked.Keys)) {
		if err := bindOne(query.Query{Keys: asked.Keys[i : i+1]}, g.keys[i].At); err != nil {
			return err
		}
	}
	for i := range min(len(g.calls), len(asked.Aggregates)) {
		if err := bindOne(query.Query{Aggregates: asked.Aggregates[i : i+1]}, g.calls[i].At); err != nil {
			return err
		}
	}
	return err
}

// textArguments returns the arguments of aggregates that are text.
func textArguments(q query.Query, schema *arrow.Schema) (names []string) {
	for _, a := range q.Aggregates {
		for _, name := range a.Args {
			if i, err := query.FindColumn(schema, name); err == nil && arrow.IsBaseBinary(schema.Field(i).Type.ID()) {
				names = append(names, name)
			}
		}
	}
	return names
}

// groupingCall is the name of the function that tells which keys the grouping set of a row has.
const groupingCall = "grouping"

// overGroups turns an expression over the source's columns into an expression over the columns of the
// groups.
func (g *grouping) overGroups(e *expr.Expr) (*expr.Expr, error) {
	var failed error
	x := e.Replace(func(x *expr.Expr) *expr.Expr {
		if failed != nil {
			return x
		}
		if x.Op == expr.OpCall && x.Name == groupingCall {
			x, failed = g.groupingOf(x)
			return x
		}
		if made := g.shifted[x.Key()]; made != nil {
			made, failed = g.overGroups(made)
			return made
		}
		if name := g.columns[x.Key()]; name != "" && (x.Op != expr.OpConstant || len(g.sets) > 1) {
			made := *expr.Column(name)
			if c := g.computed[name]; c != nil {
				made = *c
			}
			made.At = x.At
			return &made
		}
		if x.Op == expr.OpColumn {
			failed = errorAt(x.At, "column %q must stand in GROUP BY or in an aggregate function", x.Name)
			return x
		}
		return nil
	})
	return x, failed
}

// groupingOf turns GROUPING(a, b) into bits: 1 for a key that a row's set does not have, the last
// key lowest.
func (g *grouping) groupingOf(x *expr.Expr) (*expr.Expr, error) {
	var sum *expr.Expr
	for _, a := range x.Args {
		if g.columns[a.Key()] == "" {
			return x, errorAt(a.At, "GROUPING takes keys of GROUP BY, not %s", a)
		}
		bit := g.absent(a)
		if sum == nil {
			sum = bit
			continue
		}
		sum = expr.Call("+", expr.Call("*", sum, expr.Constant(int64(2))), bit)
	}
	return &expr.Expr{Op: expr.OpCast, Type: expr.Type{ID: expr.Int64}, Args: []*expr.Expr{sum}, At: x.At}, nil
}

// absent returns an expression that is 1 for groups of the sets without a key, else 0.
func (g *grouping) absent(key *expr.Expr) *expr.Expr {
	k := -1
	for i, x := range g.keys {
		if x.Key() == key.Key() && !g.unnamed[i] {
			k = i // of two keys of one expression, the last
		}
	}
	in := expr.Call("in", expr.Column(g.set))
	for i, set := range g.sets {
		if len(g.sets) > 1 && !slices.Contains(set, k) {
			in.Args = append(in.Args, expr.Constant(int64(i)))
		}
	}
	if len(in.Args) == 1 {
		return expr.Constant(int64(0))
	}
	return expr.Call("case", in, expr.Constant(int64(1)), expr.Constant(int64(0)))
}
