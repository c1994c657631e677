package logical

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
)

// statement is a statement while it is bound.
type statement struct {
	*sql.Select
	scope   *scope                // what stands behind FROM
	items   []item                // what stands behind SELECT
	aliases map[string]*expr.Expr // what stands behind AS, in lower case
	groups  bool                  // whether there are aggregates or keys
	keys    map[string]bool       // the expressions that the statement groups by, by Key
	domain  []Column              // of a subquery: what it reads of the rows around it, which its result has, too
}

// item is an element of the result.
type item struct {
	expr    *expr.Expr // over the columns of the scope, with aggregates
	name    string     // no two items have the same
	isConst bool       // no column of the scope is in it
}

// over binds a statement over what stands behind its FROM.
func (b *binder) over(ctx context.Context, s *sql.Select, r *scope) (Node, error) {
	s, err := r.expandColumns(s) // whose types retype asks for
	if err == nil {
		s, err = b.correlate(ctx, r.retype(ctx, b.parameters.bind(ctx, s, r), &b.opt), r)
	}
	if err != nil {
		return nil, err
	}
	st := &statement{Select: s, scope: r, aliases: map[string]*expr.Expr{}, keys: map[string]bool{}}
	if r.outer != nil {
		st.domain = r.outer.domain
	}
	nodes, err := st.resolveItems(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.held.Resize(b.held.Bytes() + int64(nodes)*nodeBytes); err != nil {
		return nil, fmt.Errorf("a statement of %s parts of expressions: %w", humanize.Comma(int64(nodes)), err)
	}
	where, err := st.condition(s.Where, "WHERE")
	if err != nil {
		return nil, err
	}
	rows := r.node
	if where != nil {
		if rows, err = b.filtered(ctx, r, rows, where); err != nil {
			return nil, err
		}
	}
	if st.groups, err = st.grouped(); err != nil {
		return nil, err
	}
	if u, ok := s.From.(*sql.Unnest); ok && u.InRow && st.hasWindows() {
		const behind = "not supported: unnest beside a window function, which is of the rows before; write FROM t, unnest(list)"
		return nil, errorAt(u.List.At, behind)
	}
	if s.Distinct && st.hasWindows() {
		return b.distinct(ctx, st, rows)
	}
	if !st.groups && !s.Distinct {
		var checked []*expr.Expr // also the columns that nobody may ask for
		for _, it := range st.items {
			if firstSubquery(it.expr) == nil && it.expr.FirstWindow() == nil {
				checked = append(checked, it.expr)
			}
		}
		if _, err := expr.BindTo(ctx, ColumnsOf(rows), checked...); err != nil {
			return nil, err
		}
		return b.finish(ctx, st, rows, func(e *expr.Expr) (*expr.Expr, error) { return e, nil })
	}
	if s.Distinct && st.groups {
		return b.distinct(ctx, st, rows)
	}
	return b.group(ctx, st, rows)
}

// resolveItems looks up the columns of the items, and gives every item a name of its own. It returns how many
// parts the items have.
func (st *statement) resolveItems(ctx context.Context) (nodes int, err error) {
	for _, it := range st.Items {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if it.Expr == nil {
			list, err := st.scope.star(it)
			if fields := st.fieldsOf(ctx, it); err != nil && fields != nil {
				isNamed := func(i int, path []string) bool { return len(path) == 1 && strings.EqualFold(fields[i].name, path[0]) }
				if err := st.starOf(it, fields, isNamed); err != nil {
					return 0, err
				}
				continue
			}
			if err != nil {
				return 0, err
			}
			if columns := len(st.items) + len(list); columns > sql.ItemsMax {
				return 0, errorAt(0, "not supported: a result of %d columns, more than %d", columns, sql.ItemsMax)
			}
			if err := st.star(it, list); err != nil {
				return 0, err
			}
			continue
		}
		x, err := st.scope.resolve(it.Expr, st.aliases, nil)
		if err != nil {
			return 0, err
		}
		if fields := st.scope.spreadFields(x); fields != nil {
			st.items = append(st.items, fields...)
			continue
		}
		name := it.Name
		if name == "" {
			name = st.scope.nameOf(it.Expr)
		} else {
			st.named(name, x)
		}
		st.items = append(st.items, item{x, name, len(x.Columns()) == 0 && !x.IsDrawn()})
	}
	most := nodesMax + nodesPerColumn*len(st.scope.columns)
	for _, it := range st.items {
		it.expr.Walk(func(*expr.Expr) bool {
			nodes++
			return nodes <= most
		})
	}
	switch {
	case len(st.items) == 0:
		return 0, errorAt(0, "a statement without columns: there is no table to take * from")
	case nodes > most:
		return 0, errorAt(0, "not supported: expressions of more than %d parts, with what their names stand for", most)
	}
	written := make([]string, len(st.items))
	for i, it := range st.items {
		written[i] = it.name
	}
	for i, name := range apart(written) {
		st.items[i].name = name
	}
	return nodes, nil
}

// fieldsOf returns the fields of a struct before a *; nil where no struct stands there.
func (st *statement) fieldsOf(ctx context.Context, it sql.Item) (items []item) {
	if len(it.Of) == 0 {
		return nil
	}
	name := &expr.Expr{Op: expr.OpColumn, Name: strings.Join(it.Of, "."), At: it.At}
	if len(it.Of) > 1 {
		name.Path, name.Qualified = it.Of, true
	}
	x, err := st.scope.resolve(name, st.aliases, nil)
	if err != nil {
		return nil
	}
	of, isStruct := nested.Of(st.scope.typeOf(ctx, name)).(*arrow.StructType)
	if !isStruct || nested.IsTuple(of) {
		return nil
	}
	for _, f := range of.Fields() {
		items = append(items, item{expr: expr.Call("struct_extract", x, expr.Constant(f.Name)), name: f.Name})
	}
	return items
}

// named notes what a name behind AS or RENAME stands for, unless it stands for something.
func (st *statement) named(name string, x *expr.Expr) {
	if _, taken := st.aliases[strings.ToLower(name)]; !taken {
		st.aliases[strings.ToLower(name)] = x
	}
}

// star adds the columns that a * has to the items.
func (st *statement) star(it sql.Item, columns []int) error {
	items := make([]item, len(columns))
	for i, column := range columns {
		c := st.scope.columns[column]
		items[i] = item{expr: c.Expr(), name: c.Name}
	}
	return st.starOf(it, items, func(i int, path []string) bool { return st.scope.isNamed(columns[i], path) })
}

// starOf adds items, which are columns or the fields of a struct, as what stands behind their * has them.
func (st *statement) starOf(it sql.Item, items []item, isNamed func(i int, path []string) bool) error {
	star := cmp.Or(it.Star, &sql.Star{})
	used := map[string]bool{}
	named := func(names int, name func(int) string, column string) int {
		for i := range names {
			if strings.EqualFold(name(i), column) {
				used[strings.ToLower(column)] = true
				return i
			}
		}
		return -1
	}
	exclude := func(i int) string { return strings.Join(star.Exclude[i], ".") }
	replace := func(i int) string { return star.Replace[i].Name }
	rename := func(i int) string { return star.Rename[i][0] }
	for i, made := range items {
		isLeftOut := func(path []string) bool { return isNamed(i, path) }
		if at := slices.IndexFunc(star.Exclude, isLeftOut); at >= 0 {
			used[strings.ToLower(exclude(at))] = true
			continue
		}
		column := made.name
		if at := named(len(star.Replace), replace, column); at >= 0 {
			x, err := st.scope.resolve(star.Replace[at].Expr, st.aliases, nil)
			if err != nil {
				return err
			}
			made.expr, made.isConst = x, len(x.Columns()) == 0 && !x.IsDrawn()
		}
		if at := named(len(star.Rename), rename, column); at >= 0 {
			made.name = star.Rename[at][1]
			st.named(made.name, made.expr)
		}
		st.items = append(st.items, made)
	}
	for _, list := range []struct {
		names int
		name  func(int) string
		word  string
	}{
		{len(star.Exclude), exclude, "EXCLUDE"}, {len(star.Replace), replace, "REPLACE"},
		{len(star.Rename), rename, "RENAME"},
	} {
		for i := range list.names {
			if name := list.name(i); !used[strings.ToLower(name)] {
				return errorAt(it.At, "%s: * has no column %q", list.word, name)
			}
		}
	}
	return nil
}

// condition looks up the names of WHERE or HAVING. Only HAVING may have aggregates.
func (st *statement) condition(e *expr.Expr, clause string) (*expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	behind := st.behind
	if clause == "WHERE" {
		behind = nil
	}
	x, err := st.scope.resolve(e, st.aliases, behind)
	if err != nil {
		return nil, err
	}
	if a := firstAggregate(x); a != nil && clause == "WHERE" {
		return nil, errorAt(a.At, "%s: an aggregate function cannot stand in WHERE; HAVING is for groups", a)
	}
	if w := x.FirstWindow(); w != nil {
		return nil, errorAt(w.At, "%s: a window function cannot stand in %s; QUALIFY is for them", w, clause)
	}
	return x, nil
}

// qualify looks up the names of QUALIFY, whose condition is of the rows with window functions. DISTINCT ON is such a
// condition, too.
func (st *statement) qualify() (*expr.Expr, error) {
	switch {
	case st.DistinctOn != nil && st.Qualify != nil:
		return nil, errorAt(st.Qualify.At, "not supported: QUALIFY beside DISTINCT ON")
	case st.DistinctOn != nil:
		return st.firstOfEach()
	case st.Qualify == nil:
		return nil, nil
	}
	x, err := st.scope.resolve(st.Qualify, st.aliases, st.behind)
	isWindow := func(it item) bool { return it.expr.FirstWindow() != nil }
	if err == nil && x.FirstWindow() == nil && !slices.ContainsFunc(st.items, isWindow) {
		const none = "QUALIFY is for window functions, and there is none; WHERE is for rows, HAVING for groups"
		err = errorAt(st.Qualify.At, none)
	}
	return x, err
}

// firstOfEach returns the condition that a row is the first in the statement's order, of rows that are equal in what
// DISTINCT ON has.
func (st *statement) firstOfEach() (*expr.Expr, error) {
	number := &expr.Expr{Op: expr.OpWindow, Name: "row_number", At: st.DistinctOn[0].At}
	for _, x := range st.DistinctOn {
		of, err := st.orderExpr(x)
		if err != nil {
			return nil, err
		}
		number.Args = append(number.Args, of)
	}
	number.Value = expr.Window{Partition: len(number.Args)}
	var err error
	if number.OrderBy, err = st.orders(); err != nil {
		return nil, err
	}
	return expr.Call("=", number, expr.Constant(int64(1))), nil
}

// hasWindows says whether the statement has window functions.
func (st *statement) hasWindows() bool {
	if st.Qualify != nil {
		return true
	}
	for _, it := range st.items {
		if it.expr.FirstWindow() != nil {
			return true
		}
	}
	for _, o := range st.OrderBy {
		if x, err := st.orderExpr(o.Expr); err == nil && x.FirstWindow() != nil {
			return true
		}
	}
	return false
}

// indexOf returns the place of the first expression of a list that is written as x is, or -1.
func indexOf(list []*expr.Expr, x *expr.Expr) int {
	key := x.Key()
	return slices.IndexFunc(list, func(y *expr.Expr) bool { return y.Key() == key })
}

// firstAggregate returns the first call of an aggregate function in an expression, or nil.
func firstAggregate(e *expr.Expr) *expr.Expr {
	return e.First(func(x *expr.Expr) bool { return x.Op == expr.OpAggregate })
}

// grouped says whether the statement has groups.
func (st *statement) grouped() (bool, error) {
	if len(st.GroupBy) > 0 || st.Having != nil {
		return true, nil
	}
	for _, it := range st.items {
		if firstAggregate(it.expr) != nil || st.GroupAll && !it.isConst { // ALL leaves constants out
			return true, nil
		}
	}
	for _, o := range st.OrderBy {
		if x, err := st.orderExpr(o.Expr); err == nil && firstAggregate(x) != nil {
			return true, nil
		}
	}
	return firstAggregate(st.Qualify) != nil, nil
}

// ordinal returns the item that an integer constant stands for, or, in ORDER BY, the number of a column, #1.
func (st *statement) ordinal(e *expr.Expr, clause string) (*expr.Expr, bool, error) {
	n, ok := e.Value.(int64)
	isPlace := e.Op == expr.OpColumn && clause == "ORDER BY"
	if e.Op != expr.OpConstant && !isPlace || !ok || e.Type.ID == expr.Decimal { // a decimal's digits are an int64, too
		return nil, false, nil
	}
	if n < 1 || n > int64(len(st.items)) {
		return nil, true, errorAt(e.At, "%s %d: there are %d columns", clause, n, len(st.items))
	}
	return st.items[n-1].expr, true, nil
}

// behind says whether an alias comes before a column of the same name: where rows are grouped, but
// not by the column.
func (st *statement) behind(column *expr.Expr) bool { return st.groups && !st.keys[column.Key()] }

// orderExpr looks up an element of ORDER BY: a number, an alias, or an expression.
func (st *statement) orderExpr(e *expr.Expr) (*expr.Expr, error) {
	if x, ok, err := st.ordinal(e, "ORDER BY"); ok {
		return x, err
	}
	if e.Op == expr.OpConstant {
		return nil, ordersNothing(e)
	}
	if alias := st.aliases[strings.ToLower(e.Name)]; mayBeAlias(e) && alias != nil {
		return alias, nil
	}
	return st.scope.resolve(e, st.aliases, st.behind)
}

// ordersNothing is the error of a constant in ORDER BY.
func ordersNothing(e *expr.Expr) error {
	return errorAt(e.At, "ORDER BY %s: a constant orders nothing; a name stands without quotes or in double ones", e)
}

// orders returns what rows are ordered by.
func (st *statement) orders() ([]sql.Order, error) {
	var list []sql.Order
	if all := st.OrderAll; all != nil {
		for _, it := range st.items {
			list = append(list, sql.Order{Expr: it.expr, Descending: all.Descending, NullsFirst: all.NullsFirst})
		}
	}
	for _, o := range st.OrderBy {
		x, err := st.orderExpr(o.Expr)
		if err != nil {
			return nil, err
		}
		o.Expr = x
		list = append(list, o)
	}
	return list, nil
}

// finish binds what comes behind rows or groups: the items, the order, the limit. of turns an
// expression over the columns of the scope into one over the rows.
func (b *binder) finish(
	ctx context.Context, st *statement, rows Node, of func(*expr.Expr) (*expr.Expr, error),
) (Node, error) {
	var columns []Column
	var exprs []*expr.Expr
	places := make(map[string]int) // in columns, by Key
	add := func(name string, x *expr.Expr) int {
		key := x.Key()
		if _, ok := places[key]; !ok {
			places[key] = len(columns)
		}
		columns, exprs = append(columns, Column{ID: b.ids.New(), Name: name}), append(exprs, x)
		return len(columns) - 1
	}
	n, all, orders, err := b.computed(ctx, st, rows, of)
	if err != nil {
		return nil, err
	}
	result := len(st.items) + len(st.domain)
	for i, it := range st.items {
		add(it.name, all[i])
	}
	for i, c := range st.domain {
		add(c.Name, all[len(st.items)+i])
	}
	var keys []Key
	for i, o := range orders {
		x := all[result+i]
		at, ok := places[x.Key()]
		if !ok {
			at = add(fmt.Sprintf("order by %d", len(columns)-result+1), x)
		}
		keys = append(keys, Key{columns[at].ID, o.Descending, o.NullsFirst})
	}
	if n, err = NewProject(ctx, n, columns, exprs); err != nil {
		return nil, err
	}
	switch isValue := firstSubquery(st.Limit) != nil || firstSubquery(st.Offset) != nil; {
	case isValue:
		n, err = b.limitedByValues(ctx, st, n, keys, columns[len(st.items):result])
	case st.domain != nil && (st.Limit != nil || st.Offset != nil):
		n, err = b.limitedEach(ctx, st, n, keys, columns[len(st.items):result])
	default:
		if len(keys) > 0 {
			n = &Sort{n, keys}
		}
		if n, err = limited(ctx, n, st.Select); err == nil && len(columns) == result {
			return n, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return b.first(ctx, n, columns[:result])
}

// computed returns the rows that the result of a statement is made of, and expressions over them: the items, the
// domain, and what the orders go by. Subqueries and window functions are columns of the rows, which QUALIFY leaves.
func (b *binder) computed(
	ctx context.Context, st *statement, rows Node, of func(*expr.Expr) (*expr.Expr, error),
) (n Node, all []*expr.Expr, orders []sql.Order, err error) {
	if orders, err = st.orders(); err != nil {
		return nil, nil, nil, err
	}
	condition, err := st.qualify()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, it := range st.items {
		all = append(all, it.expr)
	}
	for _, c := range st.domain {
		all = append(all, c.Expr())
	}
	domain := len(all)
	for _, o := range orders {
		all = append(all, o.Expr)
	}
	if condition != nil {
		all = append(all, condition)
	}
	a := b.attach(ctx, st.scope, rows)
	for i, x := range all {
		if x, err = of(x); err == nil {
			all[i], err = a.exprOfRows(x)
		}
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return nil, nil, nil, err
		}
	}
	w := &windows{b: b, ctx: ctx, st: st, node: a.node, by: all[len(st.items):domain], made: map[string]*expr.Expr{}}
	if all, err = w.exprs(all); err != nil {
		return nil, nil, nil, err
	}
	a = b.attach(ctx, st.scope, w.node)
	for i, x := range all {
		if all[i], err = a.expr(x); err != nil {
			return nil, nil, nil, err
		}
	}
	if condition == nil {
		return a.node, all, orders, nil
	}
	condition, all = all[len(all)-1], all[:len(all)-1]
	if _, err := expr.BindCondition(ctx, ColumnsOf(a.node), condition); err != nil {
		return nil, nil, nil, err
	}
	return &Filter{a.node, condition}, all, orders, nil
}

// first returns the first columns of rows, without the keys of an order.
func (b *binder) first(ctx context.Context, n Node, shown []Column) (Node, error) {
	exprs := exprsOf(shown)
	for i := range shown {
		shown[i].ID = b.ids.New()
	}
	return NewProject(ctx, n, shown, exprs)
}

// distinct binds DISTINCT over groups, or over rows with window functions: groups of these.
func (b *binder) distinct(ctx context.Context, st *statement, rows Node) (Node, error) {
	if st.domain != nil {
		return nil, errorAt(0, "not supported: DISTINCT over groups or window functions "+correlated)
	}
	inner := *st.Select
	inner.Distinct, inner.OrderBy, inner.OrderAll, inner.Limit, inner.Offset = false, nil, nil, nil, nil
	of := *st
	of.Select = &inner
	bind := func() (Node, error) {
		if st.groups {
			return b.group(ctx, &of, rows)
		}
		return b.finish(ctx, &of, rows, func(e *expr.Expr) (*expr.Expr, error) { return e, nil })
	}
	made, err := bind()
	if err != nil {
		return nil, err
	}
	outer := &sql.Select{Text: st.Text, GroupAll: true, OrderAll: st.OrderAll, Limit: st.Limit, Offset: st.Offset}
	for _, it := range st.items {
		outer.Items = append(outer.Items, sql.Item{Expr: expr.Column(it.name), Name: it.name})
	}
	for _, o := range st.OrderBy {
		x, err := st.orderExpr(o.Expr)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(st.items, func(it item) bool { return it.expr.Key() == x.Key() })
		if at < 0 {
			return nil, errorAt(o.Expr.At, "ORDER BY beside DISTINCT takes what stands behind SELECT")
		}
		o.Expr = expr.Column(st.items[at].name)
		outer.OrderBy = append(outer.OrderBy, o)
	}
	return b.over(ctx, outer, scopeOf(made))
}
