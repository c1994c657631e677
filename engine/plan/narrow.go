package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/expr"
)

// narrow plans derived tables anew, from the statement inwards: without the columns that nobody
// asks for, and without rows that the condition of the statement around them leaves out. They have
// been planned whole before, so that errors in such columns are told.
func (p *planner) narrow(ctx context.Context, q *Query) error {
	of, ok := q.base.node.(*streamNode)
	if !ok {
		return nil
	}
	inner, ok := of.in.(*Query)
	if !ok {
		return nil
	}
	src := of.described
	unused, err := q.unused(src.schema)
	if err != nil {
		return err
	}
	if !slices.Contains(unused, false) {
		unused[inner.st.cheapest()] = false // rows are counted by some column
	}
	if !p.rules.allows(PruneColumns) {
		clear(unused)
	}
	var where *expr.Expr
	if p.rules.allows(PushFilters) {
		where = inner.pushed(q.base.where, src.schema)
	}
	p.rules.note(PushFilters, where != nil)
	p.rules.note(PruneColumns, slices.Contains(unused, true))
	if where != nil || slices.Contains(unused, true) {
		if err := p.replan(ctx, inner, unused, where); err != nil {
			return located(inner.text, err)
		}
		src.made = make([]int, len(unused))
		next := 0
		for i := range unused {
			src.made[i] = -1
			if !unused[i] {
				src.made[i] = next
				next++
			}
		}
	}
	return p.narrow(ctx, inner)
}

// unused says of each column of a table that a query reads whether the query does not need it.
func (q *Query) unused(of *arrow.Schema) ([]bool, error) {
	unused := slices.Repeat([]bool{true}, of.NumFields())
	for _, x := range append(q.uses, q.base.where) {
		for _, name := range x.Columns() {
			if strings.HasPrefix(name, keyReference) {
				continue // the key is used
			}
			at, err := expr.FindColumn(of, expr.Column(name))
			if err != nil {
				return nil, err
			}
			unused[at] = false
		}
	}
	return unused, nil
}

// cheapest returns the place of the item that costs least: an item without aggregates, if there is
// such an item.
func (st *statement) cheapest() int {
	return max(0, slices.IndexFunc(st.items, func(it item) bool { return firstAggregate(it.expr) == nil }))
}

// replan plans a query without its unused items, and only for rows for which where, too, is TRUE;
// where may be nil.
func (p *planner) replan(ctx context.Context, q *Query, unused []bool, where *expr.Expr) (err error) {
	st, base := *q.st, *q.base
	st.unused = unused
	base.where = conjunction(base.where, where)
	*q = Query{
		engine: q.engine, rules: q.rules, text: q.text, st: &st, base: &base, where: q.where, subqueries: q.subqueries,
	}
	if where != nil {
		if q.where, err = p.filtered(ctx, base.node, base.where); err != nil {
			return err
		}
	}
	return p.complete(ctx, q)
}

// pushed returns what a condition on a query's result says of the rows that the query reads, over
// the columns of these rows: the parts of an AND that compare nothing but constants and values that
// all rows of a group share. It returns nil where there is no such part. The condition still has to
// be asked of the result.
func (q *Query) pushed(where *expr.Expr, of *arrow.Schema) *expr.Expr {
	oneGroup := q.groups != nil && len(q.groups.of.query.Keys) == 0 // even where no row is read
	if where == nil || oneGroup || q.groups != nil && q.groups.sets != nil || q.by.Limited || q.by.Offset > 0 {
		return nil
	}
	if where.Op == expr.OpCall && where.Name == "and" {
		var all *expr.Expr
		for _, part := range where.Args {
			all = conjunction(all, q.pushed(part, of))
		}
		return all
	}
	if !compares(where) {
		return nil
	}
	shared := true
	within := where.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpColumn {
			return nil
		}
		at, err := expr.FindColumn(of, x)
		if err != nil || ofGroups(q.st.items[at].expr) {
			shared = false
			return x
		}
		return q.st.items[at].expr
	})
	if !shared {
		return nil
	}
	return within
}

// compares says whether an expression does nothing but compare columns and constants, which is an
// error for no row.
func compares(e *expr.Expr) bool {
	switch {
	case len(e.Columns()) == 0, e.Op == expr.OpColumn:
		return true
	case e.Op != expr.OpCall:
		return false
	}
	if _, isTerm := termOps[e.Name]; !isTerm && !slices.Contains([]string{"and", "or", "not", "between"}, e.Name) {
		return false
	}
	return !slices.ContainsFunc(e.Args, func(arg *expr.Expr) bool { return !compares(arg) })
}

// ofGroups says whether an expression is computed of groups, not of rows.
func ofGroups(e *expr.Expr) (found bool) {
	e.Walk(func(x *expr.Expr) bool {
		found = found || x.Op == expr.OpAggregate || x.Op == expr.OpCall && x.Name == groupingCall
		return !found
	})
	return found
}
