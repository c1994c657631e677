package logical

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// limited binds LIMIT and OFFSET.
func limited(ctx context.Context, in Node, s *sql.Select) (Node, error) {
	count := func(e *expr.Expr, clause string) (int64, error) {
		number := &expr.Expr{Op: expr.OpTryCast, Type: expr.Type{ID: expr.Int64}, Args: []*expr.Expr{e}, At: e.At}
		if p, err := expr.Bind(ctx, arrow.NewSchema(nil, nil), number); err == nil {
			value, _ := p.Constant(0)
			if n, ok := value.(int64); ok && n >= 0 {
				return n, nil
			}
		}
		return 0, errorAt(e.At, "%s takes a number of rows, 0 or more", clause)
	}
	given := func(e *expr.Expr) bool { return e != nil && (e.Op != expr.OpConstant || e.Value != nil) } // NULL is no limit
	n := &Limit{In: in}
	var err error
	if isShare(s.Limit) {
		if given(s.Limit.Args[0]) {
			n.IsShare = true
			if n.Share, err = share(ctx, s.Limit.Args[0]); err != nil {
				return nil, err
			}
		}
	} else if given(s.Limit) {
		n.Limited = true
		if n.Limit, err = count(s.Limit, "LIMIT"); err != nil {
			return nil, err
		}
	}
	if given(s.Offset) {
		if n.Offset, err = count(s.Offset, "OFFSET"); err != nil {
			return nil, err
		}
	}
	if !n.Limited && !n.IsShare && n.Offset == 0 {
		return in, nil
	}
	return n, nil
}

// isShare says whether LIMIT has a share of the rows.
func isShare(limit *expr.Expr) bool {
	return limit != nil && limit.Op == expr.OpCall && limit.Name == sql.ShareCall
}

// share returns the value of a constant expression, in percent.
func share(ctx context.Context, e *expr.Expr) (float64, error) {
	number := &expr.Expr{Op: expr.OpTryCast, Type: expr.Type{ID: expr.Float64}, Args: []*expr.Expr{e}, At: e.At}
	if p, err := expr.Bind(ctx, arrow.NewSchema(nil, nil), number); err == nil {
		value, _ := p.Constant(0)
		if n, ok := value.(float64); ok && n >= 0 && n <= 100 {
			return n, nil
		}
	}
	return 0, errorAt(e.At, "LIMIT takes a share from 0%% to 100%%")
}

// limitedEach leaves the first rows of each value of the domain.
func (b *binder) limitedEach(ctx context.Context, st *statement, in Node, keys []Key, domain []Column) (Node, error) {
	first, err := limited(ctx, in, st.Select)
	if err != nil {
		return nil, err
	}
	limit, ok := first.(*Limit)
	switch {
	case !ok:
		return in, nil
	case limit.IsShare:
		return nil, errorAt(st.Limit.Args[0].At, "not supported: a share of the rows "+correlated)
	}
	n, made, err := b.numberedRows(ctx, st, in, keys, domain, false)
	if err != nil {
		return nil, err
	}
	number := made[0]
	var condition *expr.Expr
	if limit.Limited {
		condition = expr.Call("<=", number, expr.Constant(limit.Wanted()))
	}
	if limit.Offset > 0 {
		condition = expr.Conjunction(condition, expr.Call(">", number, expr.Constant(limit.Offset)))
	}
	return &Filter{n, condition}, nil
}

// numberedRows adds columns to rows: their number in an order, from 1 on, among the rows of a value of the domain, and
// perhaps how many rows these are.
func (b *binder) numberedRows(
	ctx context.Context, st *statement, in Node, keys []Key, domain []Column, isCounted bool,
) (Node, []*expr.Expr, error) {
	number := &expr.Expr{Op: expr.OpWindow, Name: "row_number", Value: expr.Window{}, At: -1}
	columns := PlacesOf(in.Columns())
	for _, k := range keys {
		x := in.Columns()[columns[k.Column]].Expr()
		number.OrderBy = append(number.OrderBy, expr.Order{Expr: x, Descending: k.Descending, NullsFirst: k.NullsFirst})
	}
	w := &windows{b: b, ctx: ctx, st: st, node: in, by: exprsOf(domain), made: map[string]*expr.Expr{}}
	numbers := []*expr.Expr{number}
	if isCounted {
		count := &expr.Expr{Op: expr.OpWindow, Name: query.CountStar.String(), Value: expr.Window{}, At: -1}
		numbers = append(numbers, count)
	}
	made, err := w.exprs(numbers)
	if err != nil {
		return nil, nil, fmt.Errorf("LIMIT: %w", err)
	}
	return w.node, made, nil
}

// limitedByValues leaves the rows behind OFFSET, as many as LIMIT says, where one of them is the value of a subquery,
// which is known when the statement runs. NULL is no limit.
func (b *binder) limitedByValues(
	ctx context.Context, st *statement, in Node, keys []Key, domain []Column,
) (Node, error) {
	n, numbers, err := b.numberedRows(ctx, st, in, keys, domain, isShare(st.Limit))
	if err != nil {
		return nil, err
	}
	number := numbers[0]
	a := b.attach(ctx, st.scope, n)
	value := func(e *expr.Expr) (*expr.Expr, error) {
		call, more := expr.NumberOfRows, []*expr.Expr(nil)
		if isShare(e) {
			call, more, e = expr.ShareOfRows, numbers[1:], e.Args[0]
		}
		isCorrelated := func(x *expr.Expr) bool {
			q, ok := x.Value.(*subquery)
			return x.Op == expr.OpColumn || ok && len(q.reads) > 0
		}
		if x := e.First(isCorrelated); x != nil {
			return nil, errorAt(x.At, "LIMIT and OFFSET take a number of rows, which no column has")
		}
		x, err := a.expr(e)
		if err != nil {
			return nil, err
		}
		rows := expr.Call(call, append([]*expr.Expr{x}, more...)...)
		rows.At = e.At
		return rows, nil
	}
	var condition *expr.Expr
	if st.Offset != nil {
		offset, err := value(st.Offset)
		if err != nil {
			return nil, err
		}
		number = expr.Call("-", number, expr.Call("coalesce", offset, expr.Constant(int64(0))))
		condition = expr.Call(">", number, expr.Constant(int64(0)))
	}
	if st.Limit != nil {
		limit, err := value(st.Limit)
		if err != nil {
			return nil, err
		}
		isWithin := expr.Call("coalesce", expr.Call("<=", number, limit), expr.Constant(true))
		condition = expr.Conjunction(condition, isWithin)
	}
	if err := a.keep(condition); err != nil || len(keys) == 0 {
		return a.node, err
	}
	return &Sort{a.node, keys}, nil
}
