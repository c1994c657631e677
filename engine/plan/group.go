package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/expr"
	"github.com/mpga/mpga/engine/spec"
)

// grouping is a statement with groups, while it is planned: keys and aggregates, each once, as columns
// of what the aggregation returns.
type grouping struct {
	st   *statement
	q    *Query
	keys []*expr.Expr
	sets [][]int // of keys; one of all of them where nothing else was asked for

	calls    []*expr.Expr          // the aggregates, as they were first written
	infos    []callInfo            // of calls
	columns  map[string]string     // name of the column that holds a key or an aggregate, by its Key
	computed map[string]*expr.Expr // aggregates that are made of columns of other names, by their text
	shifted  map[string]*expr.Expr // sums that are made of other aggregates, by their Key
	set      string                // name of the column with the number of the grouping set; "" of one set

	oneStep  bool          // Options.OneStep
	overflow spec.Overflow // Options.Overflow

	distinct     []string // columns whose distinct values some aggregates are of, which are grouped first; nil where none is
	distinctCall int      // the first such aggregate

	order        []expr.Order // in which rows come to aggregates that depend on it; nil of the input's
	orderColumns []string     // the columns that these are

	added      []*expr.Expr // columns that the source must have besides its own
	addedNames []string
	addedAt    map[string]int  // index in added, by Key
	sums       []bool          // of them: nothing but sums is made of it
	names      map[string]bool // of all columns of the source
}

// callInfo says what is asked of an aggregate beside what the engine computes.
type callInfo struct {
	distinct bool
	ordered  bool // its ORDER BY is grouping.order
}

// group plans a statement with groups.
func (p *planner) group(q *Query, st *statement) error {
	g := &grouping{st: st, q: q, oneStep: p.opt.OneStep, overflow: p.opt.Overflow, columns: map[string]string{}, computed: map[string]*expr.Expr{}, shifted: map[string]*expr.Expr{}, addedAt: map[string]int{}, names: map[string]bool{}}
	for _, f := range q.source.Schema().Fields() {
		g.names[f.Name] = true
	}
	if err := g.findKeys(); err != nil {
		return err
	}
	having, err := st.condition(st.Having, "HAVING")
	if err != nil {
		return err
	}
	query, err := g.query(having)
	if err != nil {
		return err
	}
	q.uses = append(slices.Clone(g.keys), having)
	query.Overflow, query.Deterministic = p.opt.Overflow, p.opt.Deterministic
	if q.source, err = withColumns(q.source, g.addedNames, g.added, g.sums); err != nil {
		return err
	}
	q.read = q.source
	if err := g.arrange(query); err != nil {
		return err
	}
	if having != nil {
		if having, err = g.of(having); err != nil {
			return err
		}
	}
	return q.finish(st, g.of, having)
}

// findKeys reads GROUP BY.
func (g *grouping) findKeys() error {
	sets := [][]int{{}}
	for _, e := range g.st.GroupBy {
		lists := [][]*expr.Expr{{e.Expr}}
		if e.Sets != nil {
			lists = e.Sets
		}
		var product [][]int
		var parts [][]int
		for _, list := range lists {
			var part []int
			for _, x := range list {
				k, err := g.key(x)
				if err != nil {
					return err
				}
				part = append(part, k)
			}
			parts = append(parts, part)
		}
		for _, set := range sets {
			for _, part := range parts {
				product = append(product, append(append([]int{}, set...), part...))
			}
		}
		const setsMax = 64
		if sets = product; len(sets) > setsMax {
			return &expr.Error{Message: fmt.Sprintf("not supported: %d grouping sets, more than %d", len(sets), setsMax), At: e.At}
		}
	}
	if g.st.GroupAll || g.st.Distinct {
		for _, it := range g.st.items {
			constant := len(it.expr.Columns()) == 0 && !g.st.Distinct // which GROUP BY ALL leaves out
			if firstAggregate(it.expr) == nil && !constant {
				sets[0] = append(sets[0], g.addKey(it.expr))
			}
		}
	}
	g.sets = sets
	if len(sets) == 1 {
		g.dropDependent()
	}
	return nil
}

// key looks up an element of GROUP BY: a number, a column, an alias, or an expression.
func (g *grouping) key(e *expr.Expr) (int, error) {
	x, ok, err := g.st.ordinal(e, "GROUP BY")
	if !ok {
		x, err = g.st.rel.resolve(e, g.st.aliases, nil)
	}
	if err != nil {
		return 0, err
	}
	if a := firstAggregate(x); a != nil {
		return 0, &expr.Error{Message: a.String() + ": an aggregate function cannot stand in GROUP BY", At: e.At}
	}
	return g.addKey(x), nil
}

func (g *grouping) addKey(x *expr.Expr) int {
	key := x.Key()
	for i, k := range g.keys {
		if k.Key() == key {
			return i
		}
	}
	g.st.keys[key] = true
	g.keys = append(g.keys, x)
	return len(g.keys) - 1
}

// dropDependent leaves out keys that follow from others: constants, and expressions of columns that are keys. They are
// computed of the groups. Nothing follows from floats, of which 0.0 and -0.0 are one key.
func (g *grouping) dropDependent() {
	columns := map[string]bool{}
	for _, k := range g.keys {
		if k.Op != expr.OpColumn {
			continue
		}
		if f, ok := g.q.source.Schema().FieldsByName(k.Name); ok && !arrow.IsFloating(valueType(f[0].Type).ID()) {
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
		kept = g.keys[:1] // an empty table has no group, of a constant neither
	}
	g.keys, g.sets[0] = kept, nil
	for i := range kept {
		g.sets[0] = append(g.sets[0], i)
	}
}

// query makes the aggregation of all keys, and notes which column holds what.
func (g *grouping) query(having *expr.Expr) (spec.Query, error) {
	var query spec.Query
	taken := map[string]bool{}
	named := func(x *expr.Expr) string {
		name := cmp.Or(x.String(), "column") // which may have none, or be named as another expression is written
		for taken[name] {
			name += " "
		}
		taken[name] = true
		return name
	}
	for _, k := range g.keys {
		name := named(k)
		g.columns[k.Key()] = name
		query.Keys = append(query.Keys, spec.Key{Column: g.argument(k, false), Name: name})
	}
	orders, err := g.st.orders()
	if err != nil {
		return query, err
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
		var failed error
		var add func(x *expr.Expr) bool
		add = func(x *expr.Expr) bool {
			if x.Op != expr.OpAggregate || failed != nil {
				return failed == nil && g.columns[x.Key()] == ""
			}
			key := x.Key()
			if g.columns[key] != "" || g.shifted[key] != nil {
				return false
			}
			if made := g.shift(x); made != nil {
				g.shifted[key] = made
				made.Walk(add)
				return false
			}
			a, info, err := g.aggregate(x)
			if err != nil {
				failed = err
				return false
			}
			a.Name = named(x)
			g.calls, g.infos = append(g.calls, x), append(g.infos, info)
			g.columns[key] = a.Name
			query.Aggregates = append(query.Aggregates, a)
			return false
		}
		x.Walk(add)
		if failed != nil {
			return query, failed
		}
	}
	return query, g.checkOrder(query)
}

// argument returns the name of the source's column that an expression is, which may have to be added. sum says that
// nothing but a sum or the like is made of it.
func (g *grouping) argument(x *expr.Expr, sum bool) string {
	if x.Op == expr.OpColumn {
		return x.Name
	}
	key := x.Key()
	if i, ok := g.addedAt[key]; ok {
		g.sums[i] = g.sums[i] && sum
		return g.addedNames[i]
	}
	name := g.unique(x.String())
	g.addedAt[key] = len(g.added)
	g.added, g.addedNames, g.sums = append(g.added, x), append(g.addedNames, name), append(g.sums, sum)
	return name
}

// aggregate turns a call into what the engine computes.
func (g *grouping) aggregate(x *expr.Expr) (a spec.Aggregate, info callInfo, err error) {
	bad := func(at int, format string, args ...any) (spec.Aggregate, callInfo, error) {
		return a, info, &expr.Error{Message: fmt.Sprintf(format, args...), At: at}
	}
	for _, arg := range x.Args {
		if inner := firstAggregate(arg); inner != nil {
			return bad(inner.At, "an aggregate function within another: %s", inner)
		}
	}
	if inner := firstAggregate(x.Filter); inner != nil {
		return bad(inner.At, "an aggregate function in FILTER: %s", inner)
	}
	f, ok := spec.LookupFunc(x.Name, len(x.Args) > 1)
	if x.Name == "count_star" {
		f, ok = spec.CountStar, true
	}
	switch {
	case !ok:
		return bad(x.At, "no aggregate function is named %s", x.Name)
	case x.Distinct && f == spec.Count:
		f = spec.CountDistinct
	case x.Distinct:
		info.distinct = !slices.Contains(ofSets, f)
	case f == spec.Count && len(x.Args) == 1 && x.Args[0].Op == expr.OpConstant && x.Args[0].Value != nil:
		f, x = spec.CountStar, &expr.Expr{Op: expr.OpAggregate, Name: x.Name, Filter: x.Filter, At: x.At}
	}
	if f == spec.CountStar && x.Filter != nil {
		f = spec.Count
		x = &expr.Expr{Op: expr.OpAggregate, Name: "count", Args: []*expr.Expr{expr.Constant(true)}, Filter: x.Filter, At: x.At}
	}
	a.Func = f
	args, err := parameters(&a, x)
	if err != nil {
		return a, info, err
	}
	for i, arg := range args {
		if x.Filter != nil && i == 0 { // a row of which an argument is NULL does not count
			arg = &expr.Expr{Op: expr.OpCall, Name: "case", Args: []*expr.Expr{x.Filter, arg}, At: arg.At}
		}
		a.Args = append(a.Args, g.argument(arg, !info.distinct && (f == spec.Sum || f == spec.Avg || f == spec.Count)))
	}
	if info.distinct {
		if g.distinct == nil {
			g.distinct, g.distinctCall = a.Args, len(g.calls)
		}
		if !slices.Equal(g.distinct, a.Args) {
			return bad(x.At, "not supported: %s beside %s: DISTINCT of different values", x, g.calls[g.distinctCall])
		}
	}
	if len(x.OrderBy) > 0 && slices.Contains(ofOrder, f) {
		if info.ordered = true; g.order == nil {
			return a, info, g.orderBy(x.OrderBy)
		}
		if !slices.EqualFunc(g.order, x.OrderBy, func(a, b expr.Order) bool { return a.String() == b.String() }) {
			return bad(x.OrderBy[0].Expr.At, "not supported: aggregates in different orders: rows have one order at a time")
		}
	}
	return a, info, nil
}

// ofSets are the functions whose results are those of the distinct values.
var ofSets = []spec.Func{spec.Min, spec.Max, spec.BoolAnd, spec.BoolOr, spec.BitAnd, spec.BitOr, spec.ApproxCountDistinct}

// ofOrder are the functions whose results are those of rows in an order.
var ofOrder = []spec.Func{spec.First, spec.Last, spec.List, spec.StringAgg}

// orderBy notes the order in which rows are wanted.
func (g *grouping) orderBy(list []expr.Order) error {
	g.order = list
	for _, o := range list {
		if inner := firstAggregate(o.Expr); inner != nil {
			return &expr.Error{Message: "an aggregate function in ORDER BY within another: " + inner.String(), At: inner.At}
		}
		if o.Expr.Op == expr.OpConstant {
			return ordersNothing(o.Expr)
		}
		g.orderColumns = append(g.orderColumns, g.argument(o.Expr, false))
	}
	return nil
}

// checkOrder refuses aggregates of the input's order beside those of another.
func (g *grouping) checkOrder(query spec.Query) error {
	if g.order == nil {
		return nil
	}
	for i, a := range query.Aggregates {
		if !g.infos[i].ordered && slices.Contains(ofOrder, a.Func) {
			return &expr.Error{Message: fmt.Sprintf("not supported: %s in the order of the input beside an aggregate with ORDER BY; give both the same", g.calls[i]), At: g.calls[i].At}
		}
	}
	return nil
}

// parameters takes the constant of a call, and returns its other arguments.
func parameters(a *spec.Aggregate, x *expr.Expr) ([]*expr.Expr, error) {
	n, most := a.Func.Args(), a.Func.Args()
	if a.Func.Param() != spec.NoParam {
		most++
	}
	least := most
	if a.Func.Param() == spec.SeparatorParam {
		least--
		a.Separator = ","
	}
	if len(x.Args) < least || len(x.Args) > most {
		return nil, &expr.Error{Message: fmt.Sprintf("%s takes %s, not %d", x.Name, signature(a.Func), len(x.Args)), At: x.At}
	}
	if len(x.Args) == n {
		return x.Args, nil
	}
	p, err := expr.Bind(arrow.NewSchema(nil, nil), x.Args[n])
	if err != nil {
		return nil, err
	}
	value, ok := p.Constant(0)
	want := ""
	switch a.Func.Param() {
	case spec.FractionParam:
		want = "a number from 0 to 1"
		a.Fraction, ok = p.Number(0)
	case spec.LengthParam:
		want = "a whole number"
		var length int64
		length, ok = value.(int64)
		ok = ok && p.Type(0).ID != expr.Decimal
		a.Length = int(length)
	case spec.SeparatorParam:
		want = "text in single quotes"
		a.Separator, ok = value.(string)
	}
	if !ok {
		return nil, &expr.Error{Message: fmt.Sprintf("after the columns of %s comes %s", x.Name, want), At: x.Args[n].At}
	}
	return x.Args[:n], nil
}

// signature says what a function takes.
func signature(f spec.Func) string {
	text := fmt.Sprintf("%d arguments", f.Args())
	if f.Args() == 1 {
		text = "1 argument"
	}
	switch f.Param() {
	case spec.FractionParam:
		text += " and a fraction"
	case spec.LengthParam:
		text += " and a length"
	case spec.SeparatorParam:
		text += " and a separator or none"
	}
	return text
}

// bindError points at the key or aggregate that does not suit its column's type.
func (g *grouping) bindError(query spec.Query, err error) error {
	alone := func(q spec.Query, at int) error {
		if _, err := spec.Bind(q, g.q.source.Schema(), nil); err != nil {
			return &expr.Error{Message: err.Error(), At: at}
		}
		return nil
	}
	for i := range min(len(g.keys), len(query.Keys)) {
		if err := alone(spec.Query{Keys: query.Keys[i : i+1]}, g.keys[i].At); err != nil {
			return err
		}
	}
	for i := range min(len(g.calls), len(query.Aggregates)) {
		if err := alone(spec.Query{Aggregates: query.Aggregates[i : i+1]}, g.calls[i].At); err != nil {
			return err
		}
	}
	return err
}

// groupingCall is the name of the function that tells which keys a row's set has.
const groupingCall = "grouping"

// of turns an expression over the source's columns into one over those of the groups.
func (g *grouping) of(e *expr.Expr) (*expr.Expr, error) {
	var failed error
	column := func(name string, at int) *expr.Expr {
		c := expr.Column(name)
		c.At = at
		return c
	}
	x := e.Replace(func(x *expr.Expr) *expr.Expr {
		if failed != nil {
			return x
		}
		if x.Op == expr.OpCall && x.Name == groupingCall {
			return g.groupingOf(x, &failed)
		}
		if made := g.shifted[x.Key()]; made != nil {
			made, failed = g.of(made)
			return made
		}
		if name := g.columns[x.Key()]; name != "" && (x.Op != expr.OpConstant || len(g.sets) > 1) {
			if c := g.computed[name]; c != nil {
				made := *c
				made.At = x.At
				return &made
			}
			return column(name, x.At)
		}
		if x.Op == expr.OpColumn {
			failed = &expr.Error{Message: fmt.Sprintf("column %q must stand in GROUP BY or in an aggregate function", x.Name), At: x.At}
			return x
		}
		return nil
	})
	return x, failed
}

// groupingOf turns GROUPING(a, b) into bits: 1 for a key that a row's set does not have, the last key lowest.
func (g *grouping) groupingOf(x *expr.Expr, failed *error) *expr.Expr {
	var sum *expr.Expr
	for _, a := range x.Args {
		if g.columns[a.Key()] == "" {
			*failed = &expr.Error{Message: "GROUPING takes keys of GROUP BY, not " + a.String(), At: a.At}
			return x
		}
		bit := g.absent(a)
		if sum == nil {
			sum = bit
			continue
		}
		sum = expr.Call("+", expr.Call("*", sum, expr.Constant(int64(2))), bit)
	}
	return &expr.Expr{Op: expr.OpCast, Type: expr.Type{ID: expr.Int64}, Args: []*expr.Expr{sum}, At: x.At}
}

// absent is 1 for groups of the sets without a key, else 0.
func (g *grouping) absent(key *expr.Expr) *expr.Expr {
	k := slices.IndexFunc(g.keys, func(x *expr.Expr) bool { return x.Key() == key.Key() })
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
