package logical

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// grouping is a statement with groups while it is bound: its keys and aggregates, each once, and the
// columns of the groups that hold them.
type grouping struct {
	b    *binder
	st   *statement
	rows Node         // what is grouped
	keys []*expr.Expr // over the columns of rows
	made []Column     // by key: the column of the groups
	sets [][]int      // by grouping set: places in keys; for a plain GROUP BY a single set of all keys
	set  Column       // the number of the grouping set, where there are several

	places map[string]int // in keys, of the first key of a Key

	// Of several grouping sets: see keyOfSets.
	elements map[string]int // place in keys, by the Key of the element of GROUP BY, or "expression " and a Key
	itemOf   map[int]bool   // items that elements of GROUP BY have named already, by their place
	unnamed  map[int]bool   // keys that no expression of the statement stands for, by their place

	calls  []Call
	column map[string]*Column // of the groups, which holds a key or an aggregate, by Key
	orders []string           // the different orders in which aggregates take the rows

	// The projection below the groups: keys, arguments and what orders go by.
	columns    []Column
	exprs      []*expr.Expr
	argumentAt map[string]int // place in columns, by Key
}

// group binds a statement with groups of rows.
func (b *binder) group(ctx context.Context, st *statement, rows Node) (Node, error) {
	g := &grouping{
		b: b, st: st.clone(), rows: rows, places: map[string]int{}, elements: map[string]int{}, itemOf: map[int]bool{},
		unnamed: map[int]bool{}, column: map[string]*Column{}, argumentAt: map[string]int{},
	}
	st = g.st
	if err := g.findKeys(); err != nil {
		return nil, err
	}
	for _, k := range g.keys {
		g.argument(k) // before arguments
	}
	having, err := st.condition(st.Having, "HAVING")
	if err != nil {
		return nil, err
	}
	if err := g.findCalls(ctx, having); err != nil {
		return nil, err
	}
	groups, err := g.aggregation(ctx)
	if err != nil {
		return nil, err
	}
	if having != nil {
		if having, err = g.overGroups(having); err != nil {
			return nil, err
		}
	}
	if st.domain != nil && isGlobal(st.Select) {
		o := st.scope.outer
		items := st.items[:1]
		if o.isLateral {
			items = st.items
		}
		for _, it := range items {
			empty, err := g.ofNothing(it.expr, having, groups)
			if err != nil {
				return nil, err
			}
			o.empty = append(o.empty, empty)
		}
	}
	of := Node(groups)
	if having != nil {
		if of, err = b.filtered(ctx, st.scope, groups, having); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx, st, of, g.overGroups)
}

// ofNothing returns an item of a group of no rows, over the domain of a subquery.
func (g *grouping) ofNothing(item, having *expr.Expr, groups *Aggregate) (*expr.Expr, error) {
	x, err := g.overGroups(item)
	if err != nil {
		return nil, err
	}
	if having != nil {
		x = expr.Call("case", having, x)
	}
	if inner := firstSubquery(x); inner != nil {
		return nil, errorAt(inner.At, "not supported: a subquery beside an aggregate "+correlated)
	}
	calls := groups.Columns()[len(groups.Keys):]
	made := x.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpColumn {
			return nil
		}
		if key := g.keyMade(x); key >= 0 {
			return g.keys[key]
		}
		i := slices.IndexFunc(calls, func(c Column) bool { return c.ID == x.ID })
		if slices.Contains(counts, groups.Calls[i].Function.Func) {
			return expr.Cast(expr.Constant(int64(0)), expr.Type{ID: expr.Int64})
		}
		t, err := expr.TypeOf(calls[i].Type)
		if err != nil {
			return expr.Constant(nil)
		}
		return expr.Cast(expr.Constant(nil), t)
	})
	return made, nil
}

// counts are the functions that are 0 for no rows. The others are NULL.
var counts = []query.Func{query.CountStar, query.Count, query.CountDistinct, query.ApproxCountDistinct}

// findCalls finds the aggregates of the statement, and notes which column holds which key.
func (g *grouping) findCalls(ctx context.Context, having *expr.Expr) error {
	for i, k := range g.keys {
		if !g.unnamed[i] {
			g.column[k.Key()] = &g.made[i] // of two keys of one expression, the last
		}
	}
	orders, err := g.st.orders()
	if err != nil {
		return err
	}
	condition, err := g.st.qualify()
	if err != nil {
		return err
	}
	all := make([]*expr.Expr, 0, len(g.st.items)+len(orders)+2)
	for _, it := range g.st.items {
		all = append(all, it.expr)
	}
	for _, o := range orders {
		all = append(all, o.Expr)
	}
	g.calls = make([]Call, 0, len(all))
	for _, x := range append(all, having, condition) {
		failed := context.Cause(ctx)
		x.Walk(func(x *expr.Expr) bool {
			key := x.Key()
			switch {
			case failed != nil || g.column[key] != nil:
				return false
			case x.Op != expr.OpAggregate:
				return true
			}
			var c Call
			if c, failed = g.aggregate(ctx, x); failed == nil {
				made := Column{ID: g.b.ids.New(), Name: x.String()}
				c.Column, g.column[key] = made, &made
				g.calls = append(g.calls, c)
			}
			return false
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// aggregation returns the node of the groups.
func (g *grouping) aggregation(ctx context.Context) (*Aggregate, error) {
	n := &Aggregate{Answered: -1, Overflow: g.b.opt.Overflow, Deterministic: g.b.opt.Deterministic, Calls: g.calls}
	for i, k := range g.keys {
		n.Keys = append(n.Keys, Group{g.argument(k), g.made[i]})
	}
	if len(g.sets) > 1 {
		g.set = SetColumn(&g.b.ids, "grouping set", len(g.sets))
		n.Set = g.set
		for _, set := range g.sets {
			has := make([]bool, len(g.keys))
			for _, k := range set {
				has[k] = true
			}
			n.Sets = append(n.Sets, has)
		}
	}
	if len(n.Keys) == 0 && len(n.Calls) == 0 { // it is asked for nothing but whether there is a group
		rows := query.Aggregate{Func: query.CountStar}
		n.Calls = []Call{{Function: rows, Column: Column{ID: g.b.ids.New(), Name: "count(*)"}, At: -1}}
	}
	a := g.b.attach(ctx, g.st.scope, g.rows)
	for i, x := range g.exprs {
		of, err := a.expr(x)
		if err != nil {
			return nil, err
		}
		g.exprs[i] = of
	}
	in, err := NewProject(ctx, a.node, g.columns, g.exprs)
	if err != nil {
		return nil, err
	}
	n.In = in
	typed, err := n.Typed()
	if err != nil {
		return nil, g.bindError(n, err)
	}
	return typed, nil
}

// argument returns the column below the groups that has the values of an expression.
func (g *grouping) argument(x *expr.Expr) expr.ID {
	key := x.Key()
	at, ok := g.argumentAt[key]
	if !ok {
		at = len(g.columns)
		c := Column{ID: x.ID, Name: x.String()}
		if x.Op != expr.OpColumn {
			c.ID = g.b.ids.New()
		}
		g.argumentAt[key], g.columns, g.exprs = at, append(g.columns, c), append(g.exprs, x)
	}
	return g.columns[at].ID
}

// aggregate turns a call into what the engine computes.
func (g *grouping) aggregate(ctx context.Context, x *expr.Expr) (c Call, err error) {
	c.At = x.At
	for _, arg := range x.Args {
		if inner := firstAggregate(arg); inner != nil {
			return c, errorAt(inner.At, "an aggregate function within another: %s", inner)
		}
		if inner := arg.FirstWindow(); inner != nil {
			return c, errorAt(inner.At, "a window function within an aggregate function: %s", inner)
		}
	}
	if inner := firstAggregate(x.Filter); inner != nil {
		return c, errorAt(inner.At, "an aggregate function in FILTER: %s", inner)
	}
	f, ok := query.LookupFunc(x.Name, len(x.Args) > 1)
	if x.Name == "count_star" {
		f, ok = query.CountStar, true
	}
	switch {
	case !ok:
		return c, errorAt(x.At, "no aggregate function is named %s", x.Name)
	case x.Distinct && f == query.Count:
		f, c.Distinct = query.CountDistinct, true
	case x.Distinct:
		c.Distinct = !slices.Contains(ofSets, f)
		c.Function.Distinct = c.Distinct
	case f == query.Count && len(x.Args) == 1 && x.Args[0].Op == expr.OpConstant && x.Args[0].Value != nil:
		f, x = query.CountStar, &expr.Expr{Op: expr.OpAggregate, Name: x.Name, Filter: x.Filter, At: x.At}
	}
	if f == query.CountStar && x.Filter != nil {
		f = query.Count
		args := []*expr.Expr{expr.Constant(true)}
		x = &expr.Expr{Op: expr.OpAggregate, Name: "count", Args: args, Filter: x.Filter, At: x.At}
	}
	c.Function.Func = f
	args, err := parameters(ctx, &c.Function, x)
	if err != nil {
		return c, err
	}
	for i, arg := range args {
		if x.Filter != nil && i == 0 { // a row with a NULL argument does not count
			arg = &expr.Expr{Op: expr.OpCall, Name: "case", Args: []*expr.Expr{x.Filter, arg}, At: arg.At}
		}
		c.Args = append(c.Args, g.argument(arg))
	}
	if len(x.OrderBy) > 0 {
		err = g.order(ctx, &c, x)
	}
	return c, err
}

// order gives an aggregate the order that is written in its call. Functions of sets of values, as sum
// and count, have the same result in any order, which must be one.
func (g *grouping) order(ctx context.Context, c *Call, x *expr.Expr) error {
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
		if _, err := expr.BindTo(ctx, ColumnsOf(g.rows), o.Expr); err != nil {
			return err
		}
	}
	a := &c.Function
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
	case x.Distinct && len(c.Args) == 1 && slices.Contains(OfOrder, f): // the first or the last of the distinct values
		a.Func, a.Distinct, c.Distinct = query.Min, false, false
		if descending != (f == query.Last) {
			a.Func = query.Max
		}
	case slices.Contains(OfOrder, f):
		text := orderText(x.OrderBy)
		if !slices.Contains(g.orders, text) {
			if len(g.orders) == ordersMax {
				return errorAt(x.OrderBy[0].Expr.At, "not supported: more than %d different ORDER BY in aggregates", ordersMax)
			}
			g.orders = append(g.orders, text)
		}
		for _, o := range x.OrderBy {
			c.Order = append(c.Order, Key{g.argument(o.Expr), o.Descending, o.NullsFirst})
		}
	}
	return nil
}

func orderText(list []expr.Order) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].String()
	}
	return strings.Join(texts, ", ")
}

// ofSets are the functions whose result for the rows is their result for the distinct values.
var ofSets = []query.Func{
	query.Min, query.Max, query.BoolAnd, query.BoolOr, query.BitAnd, query.BitOr, query.ApproxCountDistinct,
	query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax,
}

// OfOrder are the functions whose results depend on the order of rows.
// Not to be changed.
var OfOrder = []query.Func{query.First, query.Last, query.AnyValue, query.Mode, query.ArgMin, query.ArgMax, query.List,
	query.StringAgg}

// ordersMax bounds the orders of a statement: for each of them all rows are sorted.
const ordersMax = 64

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

// bindError points at the key or the aggregate that does not suit its column's type.
func (g *grouping) bindError(n *Aggregate, err error) error {
	one := func(of Aggregate, at int, args []expr.ID) error {
		of.In = n.In
		if _, err := of.Typed(); err != nil {
			failed := &expr.Error{Message: err.Error(), At: at}
			for _, c := range n.In.Columns() {
				if slices.Contains(args, c.ID) && arrow.IsBaseBinary(c.Type.ID()) {
					failed.Texts = append(failed.Texts, c.Name)
				}
			}
			return failed
		}
		return nil
	}
	for i := range n.Keys {
		if err := one(Aggregate{Keys: n.Keys[i : i+1]}, g.keys[i].At, nil); err != nil {
			return err
		}
	}
	for i, c := range n.Calls {
		if err := one(Aggregate{Calls: n.Calls[i : i+1]}, c.At, c.Args); err != nil {
			return err
		}
	}
	return err
}

// groupingCall is the name of the function that tells which keys the grouping set of a row has.
const groupingCall = "grouping"

// overGroups turns an expression over the columns that are grouped into an expression over the columns
// of the groups.
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
		if c := g.column[x.Key()]; c != nil && (x.Op != expr.OpConstant || len(g.sets) > 1) {
			made := c.Expr()
			made.At = x.At
			return made
		}
		if x.Op == expr.OpColumn && g.keyMade(x) < 0 {
			failed = errorAt(x.At, "column %q must stand in GROUP BY or in an aggregate function", x.Name)
		}
		if x.Op == expr.OpColumn {
			return x
		}
		return nil
	})
	return x, failed
}

// keyMade returns the place of the key whose column of the groups an expression is, or -1.
func (g *grouping) keyMade(x *expr.Expr) int {
	return slices.IndexFunc(g.made, func(c Column) bool { return x.Op == expr.OpColumn && c.ID == x.ID })
}

// groupingOf turns GROUPING(a, b) into bits: 1 for a key that a row's set does not have, the last
// key lowest.
func (g *grouping) groupingOf(x *expr.Expr) (*expr.Expr, error) {
	var sum *expr.Expr
	for _, a := range x.Args {
		if g.column[a.Key()] == nil && g.keyMade(a) < 0 {
			return x, errorAt(a.At, "GROUPING takes keys of GROUP BY, not %s", a)
		}
		bit := g.absent(a)
		if sum == nil {
			sum = bit
			continue
		}
		sum = expr.Call("+", expr.Call("*", sum, expr.Constant(int64(2))), bit)
	}
	number := expr.Cast(sum, expr.Type{ID: expr.Int64})
	number.At = x.At
	return number, nil
}

// absent returns an expression that is 1 for groups of the sets without a key, else 0.
func (g *grouping) absent(key *expr.Expr) *expr.Expr {
	k := g.keyMade(key)
	for i, x := range g.keys {
		if x.Key() == key.Key() && !g.unnamed[i] {
			k = i // of two keys of one expression, the last
		}
	}
	in := expr.Call("in", g.set.Expr())
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
