package logical

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// rightSide opens the right side of a join. A statement that reads columns of the left side is lateral, with the word
// or without it: like a subquery it is made for all distinct values that it reads, its domain, and domain is the
// condition that a row has its values. Else domain is nil.
func (b *binder) rightSide(ctx context.Context, s *sql.Select, f *sql.Join, left *scope) (
	right *scope, domain *expr.Expr, err error,
) {
	left.outer = b.outer
	d, ok := f.Right.(*sql.Derived)
	switch {
	case isTree(f.Right):
		return b.acrossComma(ctx, s, f, left)
	case !ok || d.With != nil:
		return b.tied(ctx, s, f)
	}
	stdin, once := b.stdin, maps.Clone(b.once)
	o := &enclosing{scope: left, isLateral: true}
	n, err := b.inner(ctx, d.Query, o)
	if err != nil {
		return nil, nil, err
	}
	if len(o.reads) > 0 {
		b.outer.readEarly(o)
		if err := checkLateral(f); err != nil {
			return nil, nil, err
		}
		b.stdin, b.once = stdin, once
		o.rows, o.of = left.node, o.reads
		n, _, err := b.each(ctx, d.Query, o)
		if err != nil {
			return nil, nil, err
		}
		columns := n.Columns()
		right, domain = scopeOf(n), on(o.reads, columns[len(columns)-len(o.reads):])
	} else {
		right = derivedScope(n)
	}
	right.leaveOut(len(o.reads))
	right.qualify(0, []string{d.Alias.Name})
	return right, domain, right.rename(d.Alias, d.At)
}

// withEmpty adds to the rows of a lateral statement with one group a row for each value of the domain that has none.
func (a *attacher) withEmpty(n Node, o *enclosing) (Node, error) {
	all := &enclosing{}
	if err := a.domain(all, o.of); err != nil {
		return nil, err
	}
	made, found, err := a.marked(n)
	if err != nil {
		return nil, err
	}
	columns := n.Columns()
	items := len(columns) - len(o.reads)
	var same []*expr.Expr
	for _, c := range all.domain {
		same = append(same, c.Expr())
	}
	joined, err := NewJoin(a.ctx, sql.LeftJoin, all.values, made, on(same, columns[items:]))
	if err != nil {
		return nil, err
	}
	result, exprs := make([]Column, len(columns)), make([]*expr.Expr, len(columns))
	for i, c := range columns {
		result[i] = Column{ID: a.b.ids.New(), Name: c.Name}
		if i >= items {
			exprs[i] = same[i-items]
			continue
		}
		empty := o.empty[i].Replace(func(x *expr.Expr) *expr.Expr {
			at := slices.IndexFunc(o.domain, func(c Column) bool { return x.Op == expr.OpColumn && c.ID == x.ID })
			if at < 0 {
				return nil
			}
			return same[at]
		})
		exprs[i] = expr.Call("case", expr.Call("is null", found), empty, c.Expr())
	}
	return NewProject(a.ctx, joined, result, exprs)
}

// leaveOut takes the last columns out of a scope; the node keeps them.
func (r *scope) leaveOut(n int) {
	if n > 0 {
		r.columns = r.columns[:len(r.columns)-n]
		of := r.schema.Fields()
		r.schema = arrow.NewSchema(of[:len(of)-n], nil)
		r.starAll()
	}
}
