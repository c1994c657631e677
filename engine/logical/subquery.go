package logical

import (
	"context"
	"maps"
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
)

// A subquery becomes a join of the rows that are around it with the rows of its statement, and a column of the join
// stands for it. Where the statement reads columns of the rows around it, it is bound over each of their distinct
// values, its domain: the domain is joined with what stands behind its FROM, its groups are made by the domain's
// columns, too, and the join around it is by these columns (Neumann and Kemper, "Unnesting Arbitrary Queries", BTW
// 2015). A rule takes the domain out again where an equality has its values.

// enclosing is the statement around one that is bound, whose columns may be read.
type enclosing struct {
	scope *scope
	reads []*expr.Expr // what is read, over the rows of scope, each once
	calls []*expr.Expr // aggregates that are read, as they are written
	early bool         // some of it by ON, or by a statement behind FROM: the domain is joined with the first table

	// While it is found out what is read, there is no domain, and NULL stands for it.
	domain []Column // by reads: a column of the statement's rows
	values Node     // has the distinct values of domain, until it is joined with what stands behind FROM

	// The domain is made of expressions over rows. A statement behind FROM that reads it, too, has one of its own, and
	// tie says that both are equal, until a join takes the condition; nil of none.
	rows Node
	of   []*expr.Expr
	tie  *expr.Expr

	iterates bool // a statement of WITH RECURSIVE is read in its own step
	isStep   bool // the statement is such a step, whose iterations have a domain, or stands behind FROM of it

	isLateral bool         // the statement stands behind FROM, beside tables whose columns it reads
	empty     []*expr.Expr // of a group of no rows: the first item, or all if isLateral, over domain; else nil
}

// aggregate returns what stands for an aggregate of the statement around, in the statement that is bound.
func (o *enclosing) aggregate(x *expr.Expr) (*expr.Expr, error) {
	c, err := o.scope.resolve(x, nil, nil)
	if err != nil {
		return nil, err
	}
	o.calls = append(o.calls, x)
	return o.read(c, x)
}

// hasAll says whether items have aggregates, and all of them are ones of the statement around.
func (o *enclosing) hasAll(items []sql.Item) bool {
	own, outer := 0, 0
	for _, it := range items {
		it.Expr.Walk(func(x *expr.Expr) bool {
			if x.Op == expr.OpAggregate && indexOf(o.calls, x) >= 0 {
				outer++
			} else if x.Op == expr.OpAggregate {
				own++
			}
			return true
		})
	}
	return outer > 0 && own == 0
}

// read returns what stands for an expression over the rows, or groups, around, which is written as x. Of a field, the
// value is read that has the field.
func (o *enclosing) read(c, x *expr.Expr) (*expr.Expr, error) {
	if c.Op == expr.OpCall && c.Name == fieldCall {
		of, err := o.read(c.Args[0], x)
		if err != nil {
			return nil, err
		}
		field := *c
		field.Args = []*expr.Expr{of, c.Args[1]}
		return &field, nil
	}
	at := indexOf(o.reads, c)
	if at < 0 {
		at = len(o.reads)
		o.reads = append(o.reads, c)
	}
	if o.domain == nil {
		return o.null(c)
	}
	if at >= len(o.domain) {
		const what = "not supported: %s, an aggregate of the statement around, behind FROM or in a set operation "
		return nil, errorAt(x.At, what+correlated, c)
	}
	of := o.domain[at].Expr()
	of.At = x.At
	return of, nil
}

// null returns a NULL of the type of what is read.
func (o *enclosing) null(c *expr.Expr) (*expr.Expr, error) {
	column := columnOf(c)
	switch {
	case c.Op == expr.OpAggregate: // its type is known when the groups are
		return expr.Constant(nil), nil
	case column == nil: // a NULL already
		return c, nil
	}
	t, err := expr.TypeOf(o.scope.node.Columns()[PlaceOf(o.scope.node, column.ID)].Type)
	if err != nil {
		return nil, errorAt(c.At, "not supported: column %q in a subquery: %v", column.Name, err)
	}
	null := expr.Cast(expr.Constant(nil), t)
	null.At = c.At
	return null, nil
}

// subquery is a subquery for which it is known what it reads of the rows around it.
type subquery struct {
	*sql.Subquery
	statement *sql.Select // without an order that does not matter
	reads     []*expr.Expr
	early     bool
	bound     Node // of a statement that reads nothing, until it is used; else nil
}

// correlated is where some things are refused.
const correlated = "in a subquery that reads columns of the statement around it"

// firstSubquery returns the first subquery in an expression, or nil.
func firstSubquery(e *expr.Expr) *expr.Expr {
	return e.First(func(x *expr.Expr) bool { return x.Op == expr.OpSubquery })
}

// inner binds the statement of a subquery.
func (b *binder) inner(ctx context.Context, s *sql.Select, o *enclosing) (Node, error) {
	around := b.outer
	b.outer = o
	defer func() { b.outer = around }()
	return b.statement(ctx, s)
}

// joinDomain joins the values of the domain of a subquery with what stands behind its FROM, or behind a part of it,
// unless that was done.
func (b *binder) joinDomain(ctx context.Context, r *scope) error {
	o := b.outer
	if o == nil || o.values == nil {
		return nil
	}
	n, err := NewJoin(ctx, sql.InnerJoin, o.values, r.node, nil)
	if err != nil {
		return err
	}
	o.values = nil
	r.take(n)
	return nil
}

// correlate finds out what the subqueries of a statement read of its rows.
func (b *binder) correlate(ctx context.Context, s *sql.Select, r *scope) (*sql.Select, error) {
	if len(s.Below()) == 0 {
		return s, nil
	}
	var failed error
	made := s.Replace(b.correlating(ctx, r, &failed))
	return made, failed
}

// correlating returns a function that finds out what a subquery reads of the rows of a statement.
func (b *binder) correlating(ctx context.Context, r *scope, failed *error) func(x *expr.Expr) *expr.Expr {
	var replace func(x *expr.Expr) *expr.Expr
	replace = func(x *expr.Expr) *expr.Expr {
		if *failed != nil || x.Op != expr.OpSubquery {
			return nil
		}
		of := *x
		of.Args = slices.Clone(x.Args)
		for i, arg := range of.Args {
			of.Args[i] = arg.Replace(replace)
		}
		q := &subquery{Subquery: x.Value.(*sql.Subquery)}
		stdin, once := b.stdin, maps.Clone(b.once)
		o := &enclosing{scope: r}
		q.statement = q.withoutOrder()
		q.bound, *failed = b.inner(ctx, q.statement, o)
		if len(o.reads) > 0 { // it is bound again
			b.stdin, b.once, q.bound = stdin, once, nil
		}
		if *failed == nil && q.Query.From != nil && o.hasAll(q.Query.Items) {
			const alone = "not supported: %s, an aggregate of the statement around, as the only one behind SELECT of a subquery"
			*failed = errorAt(max(o.calls[0].At, 0), alone, o.calls[0])
		}
		q.reads, q.early = o.reads, o.early
		of.Value, of.Args = q, append(of.Args, o.reads...)
		return &of
	}
	return replace
}

// withoutOrder returns the statement of the subquery without an order that does not matter.
func (q *subquery) withoutOrder() *sql.Select {
	s := *q.Query
	if s.Limit == nil && s.Offset == nil || q.Kind == sql.ExistsSubquery {
		s.OrderBy, s.OrderAll = nil, nil
	}
	if limitOf(&s) >= 1 && (q.Kind == sql.ExistsSubquery || isGlobal(&s)) {
		s.Limit = nil
	}
	return &s
}

// limitOf returns the number of rows that a statement is limited to from its first row on; 0 where that is no constant.
func limitOf(s *sql.Select) int64 {
	if s.Offset != nil || s.Limit == nil || s.Limit.Op != expr.OpConstant {
		return 0
	}
	n, _ := s.Limit.Value.(int64)
	return n
}

// isGlobal says whether a statement has one group, of all rows.
func isGlobal(s *sql.Select) bool {
	isGrouped := func(it sql.Item) bool { return firstAggregate(it.Expr) != nil }
	isKey := func(it sql.Item) bool { return it.Expr == nil || !isGrouped(it) && len(it.Expr.Columns()) > 0 }
	if len(s.GroupBy) > 0 || s.GroupAll && slices.ContainsFunc(s.Items, isKey) {
		return false
	}
	return s.Having != nil || slices.ContainsFunc(s.Items, isGrouped)
}

// hasGroup says whether the statement has one group, of all rows, for each value of a domain, without rows, too.
func (q *subquery) hasGroup() bool { return isGlobal(q.Query) && len(q.reads) > 0 }

// attacher adds columns to rows that stand for subqueries in expressions over the rows.
type attacher struct {
	b     *binder
	ctx   context.Context
	scope *scope                // of the statement whose expressions they are
	node  Node                  // the rows
	made  map[string]*expr.Expr // what stands for a subquery, by Key
}

func (b *binder) attach(ctx context.Context, r *scope, n Node) *attacher {
	return &attacher{b, ctx, r, n, map[string]*expr.Expr{}}
}

// expr returns an expression with columns in place of subqueries.
func (a *attacher) expr(x *expr.Expr) (*expr.Expr, error) {
	return a.exprWhere(x, func(*expr.Expr) bool { return true })
}

// exprOfRows is expr without the subqueries whose arguments have window functions, which are not columns yet.
func (a *attacher) exprOfRows(x *expr.Expr) (*expr.Expr, error) {
	return a.exprWhere(x, func(x *expr.Expr) bool { return x.FirstWindow() == nil })
}

// exprWhere is expr of the subqueries for which isMade is true.
func (a *attacher) exprWhere(x *expr.Expr, isMade func(*expr.Expr) bool) (*expr.Expr, error) {
	var failed error
	made := x.Replace(func(x *expr.Expr) *expr.Expr {
		if failed != nil || x.Op != expr.OpSubquery || !isMade(x) {
			return nil
		}
		var of *expr.Expr
		if of, failed = a.subquery(x); failed != nil {
			return x
		}
		return of
	})
	return made, failed
}

// filtered returns the rows of a node for which a condition is TRUE.
func (b *binder) filtered(ctx context.Context, r *scope, n Node, condition *expr.Expr) (Node, error) {
	plain := condition // without subqueries: it leaves fewer rows for these
	var others []*expr.Expr
	if firstSubquery(condition) != nil {
		var parts []*expr.Expr
		for _, x := range expr.Conjuncts(nil, condition) {
			if firstSubquery(x) == nil {
				parts = append(parts, x)
			} else {
				others = append(others, x)
			}
		}
		plain = expr.All(parts...)
	}
	if plain != nil {
		if _, err := expr.BindCondition(ctx, ColumnsOf(n), plain); err != nil {
			return nil, err
		}
		n = &Filter{n, plain}
	}
	a := b.attach(ctx, r, n)
	for _, x := range others {
		if err := a.filter(x); err != nil {
			return nil, err
		}
	}
	return a.node, nil
}

// filter leaves the rows for which a condition with subqueries is TRUE: by a SEMI or an ANTI join, if it is a
// subquery by itself.
func (a *attacher) filter(x *expr.Expr) error {
	of, isNot := x, false
	for of.Op == expr.OpCall && of.Name == "not" {
		of, isNot = of.Args[0], !isNot
	}
	if of.Op == expr.OpSubquery {
		q, of, err := a.parts(of)
		if err != nil {
			return err
		}
		switch {
		case q.hasGroup():
		case q.Kind == sql.ExistsSubquery && len(q.reads) > 0 || q.IsIn():
			return a.semi(q, of, isNot)
		case q.Kind == sql.AllSubquery && q.Operator == "<>":
			return a.semi(q, of, !isNot)
		}
	}
	made, err := a.expr(x)
	if err != nil {
		return err
	}
	return a.keep(made)
}

// keep leaves the rows for which a condition is TRUE.
func (a *attacher) keep(condition *expr.Expr) error {
	if _, err := expr.BindCondition(a.ctx, ColumnsOf(a.node), condition); err != nil {
		return err
	}
	a.node = &Filter{a.node, condition}
	return nil
}

// parts returns a subquery, and its expression with columns in place of other subqueries.
func (a *attacher) parts(x *expr.Expr) (*subquery, *expr.Expr, error) {
	q, ok := x.Value.(*subquery)
	if !ok {
		return nil, nil, errorAt(x.At, "not supported: a subquery here")
	}
	if q.Compared > 1 && !q.IsIn() {
		return nil, nil, errorAt(x.At, "not supported: several columns before %s %s; want one", q.Operator, q.Kind)
	}
	of := *x
	of.Args = slices.Clone(x.Args)
	for i := range of.Args {
		var err error
		if of.Args[i], err = a.expr(of.Args[i]); err != nil {
			return nil, nil, err
		}
	}
	return q, &of, nil
}

// bound is the rows of a subquery's statement.
type bound struct {
	node   Node
	values []Column // of the statement
	domain []Column // what it reads of the rows around it
	on     *expr.Expr
	empty  *expr.Expr // the value for no rows, over the rows around it; nil where that is NULL
}

// rows binds a statement of a subquery over the rows that are around it.
func (a *attacher) rows(q *subquery, x *expr.Expr, s *sql.Select) (*bound, error) {
	reads := x.Args[q.Compared:]
	o := &enclosing{scope: a.scope, reads: q.reads, early: q.early}
	n, err := q.bound, error(nil)
	switch {
	case len(reads) > 0:
		if (s.Limit != nil || s.Offset != nil) && isGlobal(s) {
			return nil, errorAt(x.At, "not supported: LIMIT or OFFSET of aggregates without GROUP BY "+correlated)
		}
		if err := a.domain(o, reads); err != nil {
			return nil, err
		}
		n, err = a.b.inner(a.ctx, s, o)
	case n == nil || s != q.statement:
		n, err = a.b.inner(a.ctx, s, o)
	}
	q.bound = nil
	if err != nil {
		return nil, err
	}
	columns := n.Columns()
	values := len(columns) - len(reads)
	of := &bound{node: n, values: columns[:values], domain: columns[values:]}
	of.on = on(reads, of.domain)
	if want := max(q.Compared, 1); values != want && q.Kind != sql.ExistsSubquery {
		return nil, errorAt(x.At, "a subquery of %d columns, where %d is compared or stands for a value", values, want)
	}
	if o.empty != nil {
		of.empty = o.empty[0].Replace(func(x *expr.Expr) *expr.Expr {
			at := slices.IndexFunc(o.domain, func(c Column) bool { return x.Op == expr.OpColumn && c.ID == x.ID })
			if at < 0 {
				return nil
			}
			return reads[at]
		})
		if p, err := expr.BindTo(a.ctx, ColumnsOf(a.node), of.empty); err != nil {
			return nil, err
		} else if v, isConst := p.Constant(0); isConst && v == nil {
			of.empty = nil
		}
	}
	return of, nil
}

// domain makes the distinct values of what a subquery reads.
func (a *attacher) domain(o *enclosing, reads []*expr.Expr) error {
	columns, groups := make([]Column, len(reads)), &Aggregate{Answered: -1, Domain: true}
	for i, x := range reads {
		columns[i] = Column{ID: a.b.ids.New(), Name: x.String()}
		groups.Keys = append(groups.Keys, Group{columns[i].ID, Column{ID: a.b.ids.New(), Name: x.String()}})
	}
	in, err := NewProject(a.ctx, a.node, columns, reads)
	if err != nil {
		return err
	}
	for i := range in.columns { // a rule may put values of other rows in place of the domain's
		in.columns[i].Stats = scan.ColumnStats{}
	}
	groups.In = in
	if groups, err = groups.Typed(); err != nil {
		return errorAt(reads[0].At, "not supported: a subquery that reads this: %v", err)
	}
	o.values, o.domain = groups, groups.Columns()
	o.rows, o.of = a.node, reads
	return nil
}

// groups makes groups by the domain, and by further columns, of the rows of a subquery, with aggregates of its value.
// The columns of the node are the keys, then the aggregates.
func (a *attacher) groups(of *bound, by []Column, functions ...query.Func) (keys, calls []Column, n Node, err error) {
	made := &Aggregate{In: of.node, Answered: -1}
	for _, c := range slices.Concat(by, of.domain) {
		made.Keys = append(made.Keys, Group{c.ID, Column{ID: a.b.ids.New(), Name: c.Name}})
	}
	for _, f := range functions {
		c := Call{Function: query.Aggregate{Func: f}, Column: Column{ID: a.b.ids.New(), Name: f.String()}, At: -1}
		if f != query.CountStar {
			c.Args = []expr.ID{of.values[0].ID}
		}
		made.Calls = append(made.Calls, c)
	}
	if made, err = made.Typed(); err != nil {
		return nil, nil, nil, err
	}
	columns := made.Columns()
	return columns[:len(made.Keys)], columns[len(made.Keys):], made, nil
}

// marked adds to rows a column that is TRUE.
func (a *attacher) marked(n Node) (Node, *expr.Expr, error) {
	columns := slices.Clone(n.Columns())
	mark := Column{ID: a.b.ids.New(), Name: "found"}
	made, err := NewProject(a.ctx, n, append(columns, mark), append(exprsOf(columns), expr.Constant(true)))
	return made, mark.Expr(), err
}

// on returns the condition that what a subquery reads is the values of some columns.
func on(reads []*expr.Expr, columns []Column) (condition *expr.Expr) {
	for i, c := range columns {
		read, value := reads[i], c.Expr()
		if nested.HoldsIntervals(c.Type) { // of intervals of one length the statement may make other results
			read, value = expr.Call(expr.BytesOfValue, read), expr.Call(expr.BytesOfValue, value)
		}
		condition = expr.Conjunction(condition, expr.Call("is not distinct from", read, value))
	}
	return condition
}

// join joins the rows with others: each has one partner at most, or there is one row of the others.
func (a *attacher) join(n Node, condition *expr.Expr) error {
	kind := sql.LeftJoin
	if condition == nil {
		kind = sql.InnerJoin
	}
	return a.joinBy(kind, n, condition)
}

func (a *attacher) joinBy(kind sql.JoinKind, n Node, condition *expr.Expr) error {
	made, err := NewJoin(a.ctx, kind, a.node, n, condition)
	if err != nil {
		return err
	}
	a.node = made
	return nil
}

// subquery returns what stands for a subquery in an expression.
func (a *attacher) subquery(x *expr.Expr) (*expr.Expr, error) {
	key := x.Key()
	if made := a.made[key]; made != nil {
		return made, nil
	}
	q, of, err := a.parts(x)
	if err != nil {
		return nil, err
	}
	var made *expr.Expr
	switch {
	case q.Kind == sql.ScalarSubquery:
		made, err = a.scalar(q, of, q.statement)
	case q.Kind == sql.ExistsSubquery:
		made, err = a.exists(q, of)
	case q.hasGroup() && q.Query.Having != nil:
		return nil, errorAt(x.At, "not supported: HAVING without GROUP BY "+correlated)
	case q.hasGroup():
		if made, err = a.scalar(q, of, q.statement); err == nil {
			made = expr.Call(q.Operator, of.Args[0], made)
		}
	case q.IsIn():
		made, err = a.in(q, of)
	case q.Kind == sql.AllSubquery && q.Operator == "<>":
		if made, err = a.in(q, of); err == nil {
			made = expr.Call("not", made)
		}
	default:
		made, err = a.quantified(q, of)
	}
	if err != nil {
		return nil, err
	}
	c := *made
	c.At = x.At
	a.made[key] = &c
	return &c, nil
}

// scalar attaches the value of the only row of a statement.
func (a *attacher) scalar(q *subquery, x *expr.Expr, s *sql.Select) (*expr.Expr, error) {
	isOfRows := !isGlobal(s) && len(s.GroupBy) == 0 && !s.GroupAll && !s.Distinct
	if len(q.reads) > 0 && limitOf(s) == 1 && isOfRows {
		s = firstRow(s)
	}
	isLimited := s.Limit != nil || s.Offset != nil
	of, err := a.rows(q, x, s)
	if err != nil {
		return nil, err
	}
	reads := x.Args[q.Compared:]
	if isGlobal(s) && !isLimited && (s.Having == nil || len(reads) > 0) {
		n, value := of.node, of.values[0].Expr()
		if of.empty == nil {
			return value, a.join(n, of.on)
		}
		n, found, err := a.marked(n)
		if err != nil {
			return nil, err
		}
		return expr.Call("case", expr.Call("is null", found), of.empty, value), a.join(n, of.on)
	}
	keys, calls, n, err := a.groups(of, nil, query.First, query.CountStar)
	if err != nil {
		return nil, errorAt(x.At, "a subquery: %v", err)
	}
	isRow := expr.Call("=", expr.Call(expr.AtMostOne, calls[1].Expr()), expr.Constant(int64(1)))
	isRow.Args[0].At = x.At
	return expr.Call("case", isRow, calls[0].Expr()), a.join(n, on(reads, keys))
}

// firstRow returns a statement of rows with an aggregate in place of its item: the item of the first row. Each value
// of a domain has such a row.
func firstRow(s *sql.Select) *sql.Select {
	of := *s
	of.Items = slices.Clone(s.Items)
	hasWindow := func(o sql.Order) bool { return o.Expr.FirstWindow() != nil }
	if len(of.Items) != 1 || of.Items[0].Expr == nil || of.Items[0].Expr.FirstWindow() != nil || s.Qualify != nil ||
		slices.ContainsFunc(s.OrderBy, hasWindow) {
		return s
	}
	of.OrderBy, of.OrderAll, of.Limit = nil, nil, nil
	item := &of.Items[0]
	order := s.OrderBy
	if s.OrderAll != nil {
		order = []sql.Order{*s.OrderAll}
		order[0].Expr = item.Expr
	}
	first := &expr.Expr{Op: expr.OpAggregate, Name: query.First.String(), OrderBy: order, At: item.Expr.At}
	first.Args = []*expr.Expr{item.Expr}
	item.Expr = first
	return &of
}

// exists attaches whether a statement has rows.
func (a *attacher) exists(q *subquery, x *expr.Expr) (*expr.Expr, error) {
	s := q.statement
	if q.hasGroup() {
		if s.Having == nil {
			return expr.Constant(true), nil
		}
		of := *s
		of.Items = []sql.Item{{Expr: expr.Constant(true)}}
		value, err := a.scalar(q, x, &of)
		return expr.Call("coalesce", value, expr.Constant(false)), err
	}
	of, err := a.rows(q, x, s)
	if err != nil {
		return nil, err
	}
	if len(q.reads) == 0 {
		of.node = &Limit{In: of.node, Limited: true, Limit: 1}
		_, calls, n, err := a.groups(of, nil, query.CountStar)
		if err != nil {
			return nil, err
		}
		return expr.Call(">", calls[0].Expr(), expr.Constant(int64(0))), a.join(n, nil)
	}
	keys, _, n, err := a.groups(of, nil)
	if err != nil {
		return nil, err
	}
	n, found, err := a.marked(n)
	if err != nil {
		return nil, err
	}
	return expr.Call("is not null", found), a.join(n, on(x.Args, keys))
}

// counted attaches, for the rows of a subquery, aggregates of the value behind their number and the number of its
// values that are not NULL. Both numbers are 0 for no rows.
func (a *attacher) counted(
	q *subquery, x *expr.Expr, functions ...query.Func,
) (rows, values *expr.Expr, others []Column, err error) {
	of, err := a.rows(q, x, q.statement)
	if err != nil {
		return nil, nil, nil, err
	}
	keys, calls, n, err := a.groups(of, nil, append([]query.Func{query.CountStar, query.Count}, functions...)...)
	if err != nil {
		return nil, nil, nil, errorAt(x.At, "a subquery: %v", err)
	}
	number := func(c Column) *expr.Expr { return expr.Call("coalesce", c.Expr(), expr.Constant(int64(0))) }
	return number(calls[0]), number(calls[1]), calls[2:], a.join(n, on(x.Args[q.Compared:], keys))
}

// in attaches whether a value is among the values of a statement.
func (a *attacher) in(q *subquery, x *expr.Expr) (*expr.Expr, error) {
	if q.Compared > 1 {
		return nil, errorAt(x.At, "not supported: IN of several columns other than as a condition of WHERE or HAVING")
	}
	of, err := a.rows(q, x, q.statement)
	if err != nil {
		return nil, err
	}
	keys, _, n, err := a.groups(of, of.values)
	if err != nil {
		return nil, errorAt(x.At, "a subquery: %v", err)
	}
	n, found, err := a.marked(n)
	if err != nil {
		return nil, err
	}
	value := x.Args[0]
	equal := expr.Conjunction(equality(value, keys[0].Expr(), x.At), on(x.Args[q.Compared:], keys[1:]))
	if err := a.join(n, equal); err != nil {
		return nil, err
	}
	isFound := expr.Call("is not null", found)
	if !mayBeNull(a.node, value) && !of.values[0].Nullable {
		return isFound, nil
	}
	rows, values, _, err := a.counted(q, x)
	if err != nil {
		return nil, err
	}
	unknown := expr.Call("or", expr.Call("is null", value), expr.Call("<", values, rows))
	return expr.Call("case", isFound, expr.Constant(true),
		expr.Call("=", rows, expr.Constant(int64(0))), expr.Constant(false),
		unknown, expr.Constant(nil), expr.Constant(false)), nil
}

func equality(a, b *expr.Expr, at int) *expr.Expr {
	x := expr.Call("=", a, b)
	x.At = at
	return x
}

// mayBeNull says whether an expression over the rows of a node may be NULL.
func mayBeNull(n Node, x *expr.Expr) bool {
	if x.Op == expr.OpConstant {
		return x.Value == nil
	}
	return x.Op != expr.OpColumn || n.Columns()[PlaceOf(n, x.ID)].Nullable
}

// quantified attaches a comparison with any or all values of a statement: with their least or greatest.
func (a *attacher) quantified(q *subquery, x *expr.Expr) (*expr.Expr, error) {
	rows, values, ends, err := a.counted(q, x, query.Min, query.Max)
	if err != nil {
		return nil, err
	}
	value, least, greatest := x.Args[0], ends[0].Expr(), ends[1].Expr()
	isAll, operator := q.Kind == sql.AllSubquery, q.Operator
	negated := operator == "<>" // <> ANY is not = ALL
	var compared *expr.Expr
	switch {
	case negated, operator == "=":
		isAll = true
		compared = expr.Conjunction(equality(value, least, x.At), equality(value, greatest, x.At))
	case (operator[0] == '<') == isAll:
		compared = expr.Call(operator, value, least)
	default:
		compared = expr.Call(operator, value, greatest)
	}
	compared.At = x.At
	if isAll {
		compared = expr.Call("not", compared)
	}
	unknown := expr.Call("or", expr.Call("is null", value), expr.Call("<", values, rows))
	made := expr.Call("case", expr.Call("=", rows, expr.Constant(int64(0))), expr.Constant(isAll),
		compared, expr.Constant(!isAll), unknown, expr.Constant(nil), expr.Constant(isAll))
	if negated {
		made = expr.Call("not", made)
	}
	return made, nil
}

// semi leaves the rows that have a partner among the rows of a subquery, or that have none.
func (a *attacher) semi(q *subquery, x *expr.Expr, isNot bool) error {
	rows, err := a.rows(q, x, q.statement)
	if err != nil {
		return err
	}
	condition := rows.on
	for i, value := range x.Args[:q.Compared] {
		equal := equality(value, rows.values[i].Expr(), x.At)
		if isNot && q.Compared > 1 && (mayBeNull(a.node, value) || rows.values[i].Nullable) {
			equal = expr.Call("coalesce", equal, expr.Constant(true)) // an unknown part leaves the others to decide
		}
		condition = expr.Conjunction(condition, equal)
	}
	if !isNot {
		return a.joinBy(sql.SemiJoin, rows.node, condition)
	}
	if err := a.joinBy(sql.AntiJoin, rows.node, condition); err != nil {
		return err
	}
	if q.Compared != 1 || !mayBeNull(a.node, x.Args[0]) && !rows.values[0].Nullable {
		return nil
	}
	number, values, _, err := a.counted(q, x)
	if err != nil {
		return err
	}
	known := expr.Call("and", expr.Call("is not null", x.Args[0]), expr.Call("=", values, number))
	return a.keep(expr.Call("or", expr.Call("=", number, expr.Constant(int64(0))), known))
}
