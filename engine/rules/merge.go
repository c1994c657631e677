package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// A derived table without an order or a limit is a part of the statement around it: its rows are read,
// filtered and computed at once, and a condition on its groups is HAVING.
func mergeDerived(_ *Context, root logical.Node) (logical.Node, bool, error) {
	m := merger{derived: true}
	return m.merge(root), m.isMerged, nil
}

// collapse makes one node of filters and projections that rules have put one over the other.
func collapse(root logical.Node) logical.Node {
	return new(merger).merge(root)
}

// mergedPartsMax bounds the expressions of a projection that become parts of the expressions above it: each
// of its columns may stand there often, at every level.
const mergedPartsMax = 1 << 14

// merger puts projections into the filters and projections above them, and filters into filters.
type merger struct {
	derived  bool // derived tables are merged, too
	isMerged bool // a derived table was
}

// mergeable says whether a projection becomes a part of the node above it.
func (m *merger) mergeable(p *logical.Project) bool {
	isDrawn := slices.ContainsFunc(p.Exprs, (*expr.Expr).IsDrawn) // the same value wherever the column stands
	if p.Derived && !m.derived || isDrawn || expr.Exceeds(mergedPartsMax, p.Exprs...) {
		return false
	}
	m.isMerged = m.isMerged || p.Derived
	return true
}

// merge returns a tree of as few filters and projections as there can be.
func (m *merger) merge(n logical.Node) logical.Node {
	n, _, _ = eachInput(n, func(in logical.Node) (logical.Node, bool, error) {
		made := m.merge(in)
		return made, made != in, nil
	})
	switch of := n.(type) {
	case *logical.Filter:
		switch in := of.In.(type) {
		case *logical.Filter:
			return &logical.Filter{In: in.In, Condition: expr.Conjunction(in.Condition, unasked(of.Condition, in))}
		case *logical.Project:
			if m.mergeable(in) {
				below := m.merge(&logical.Filter{In: in.In, Condition: through(in)(of.Condition)})
				return in.Of(below, in.Exprs)
			}
		}
	case *logical.Project:
		if in, ok := of.In.(*logical.Project); ok && m.mergeable(in) {
			exprs := make([]*expr.Expr, len(of.Exprs))
			below := through(in)
			for i, x := range of.Exprs {
				exprs[i] = below(x)
			}
			return of.Of(in.In, exprs)
		}
	}
	return n
}

// through returns a function that turns expressions over the columns of a projection into expressions
// over the columns of the projection's input.
func through(p *logical.Project) func(*expr.Expr) *expr.Expr {
	made := make(map[expr.ID]*expr.Expr, len(p.Exprs))
	for i, c := range p.Columns() {
		made[c.ID] = p.Exprs[i]
	}
	return func(x *expr.Expr) *expr.Expr {
		return replaced(x, func(id expr.ID) *expr.Expr { return made[id] })
	}
}

// replaced puts expressions in the place of columns. A column for which column returns nil stays.
func replaced(x *expr.Expr, column func(expr.ID) *expr.Expr) *expr.Expr {
	return x.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpColumn {
			return nil
		}
		of := column(x.ID)
		if of == nil {
			return x
		}
		made := *of
		if made.Op == expr.OpConstant && made.Value != nil { // the column has a type, where a constant may suit several
			c := made
			made = expr.Expr{Op: expr.OpCast, Type: c.Type, Args: []*expr.Expr{&c}}
		}
		made.At = x.At
		return &made
	})
}

// over puts columns in the place of columns.
func over(x *expr.Expr, columns map[expr.ID]logical.Column) *expr.Expr {
	return replaced(x, func(id expr.ID) *expr.Expr {
		c, ok := columns[id]
		if !ok {
			return nil
		}
		return c.Expr()
	})
}

// readsOnly says whether an expression reads nothing but columns for which has is true.
func readsOnly(x *expr.Expr, has func(expr.ID) bool) bool {
	only := true
	x.IDs(func(id expr.ID) { only = only && has(id) })
	return only
}

// projected returns the projection over an aggregation that makes some of its old columns of new ones:
// all columns have their IDs.
func projected(
	c *Context, of *logical.Aggregate, columns []logical.Column, made map[expr.ID]*expr.Expr,
) (logical.Node, error) {
	if len(made) == 0 {
		return of, nil
	}
	exprs := make([]*expr.Expr, len(columns))
	for i := range columns {
		exprs[i] = made[columns[i].ID]
		if exprs[i] == nil {
			exprs[i] = columns[i].Expr()
		}
	}
	return logical.NewProject(c, of, slices.Clone(columns), exprs)
}
