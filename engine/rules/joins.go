package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// A condition on one side of a join is asked of that side's rows, before the others are found for them, and a
// condition of WHERE on both sides is a part of an inner join: an equality makes a key, without which all pairs are
// tried. Conditions that may be an error for a row stay where they are. WHERE leaves rows of an ASOF join out once the
// nearest partners are known.
func joinConditions(c *Context, n logical.Node) (logical.Node, bool, error) {
	changed := false
	made, err := joinFiltered(c, n)
	if err != nil {
		return nil, false, err
	}
	if made != nil {
		n, changed = collapse(made), true
	}
	n, inner, err := eachInput(n, func(in logical.Node) (logical.Node, bool, error) { return joinConditions(c, in) })
	return n, changed || inner, err
}

// conditions applies joinConditions behind another rule, unless it is switched off.
func (c *Context) conditions(n logical.Node) (logical.Node, error) {
	if slices.Contains(c.Without, JoinConditions) {
		return n, nil
	}
	n, _, err := joinConditions(c, n)
	return n, err
}

// conditionsOf applies joinFiltered behind another rule, unless joinConditions is switched off.
func (c *Context) conditionsOf(n logical.Node) (logical.Node, error) {
	if slices.Contains(c.Without, JoinConditions) {
		return n, nil
	}
	made, err := joinFiltered(c, n)
	if made == nil || err != nil {
		return n, err
	}
	return collapse(made), nil
}

// joinFiltered moves parts of a filter over a join, or of the condition of a join, to where fewer rows are left for
// the rest; it returns nil where no part moves.
func joinFiltered(c *Context, n logical.Node) (logical.Node, error) {
	f, _ := n.(*logical.Filter)
	if f != nil {
		n = f.In
	}
	join, ok := n.(*logical.Join)
	if !ok {
		return nil, nil
	}
	var left, right, both, rest *expr.Expr // of each side, of the join, and behind it
	moved := false
	if f != nil {
		for _, x := range expr.Factored(nil, f.Condition) {
			switch fallible, err := mayFail(c, join, x); {
			case err != nil:
				return nil, err
			case fallible:
				rest = expr.Conjunction(rest, x)
				continue
			case len(x.Columns()) == 0:
				rest = expr.Conjunction(rest, x)
				continue
			case logical.Reads(x, join.Left) && !join.Kind.KeepsRight():
				left = expr.Conjunction(left, x)
			case logical.Reads(x, join.Right) && (join.IsInner() || join.Kind == sql.RightJoin && join.Nearest == nil):
				right = expr.Conjunction(right, x)
			case join.IsInner():
				both = expr.Conjunction(both, x)
				left = expr.Conjunction(left, impliedOf(x, join.Left))
				right = expr.Conjunction(right, impliedOf(x, join.Right))
			default:
				rest = expr.Conjunction(rest, x)
				continue
			}
			moved = true
		}
	}
	if join.Condition != nil {
		for _, x := range expr.Factored(nil, join.Condition) {
			switch fallible, err := mayFail(c, join, x); {
			case err != nil:
				return nil, err
			case fallible || len(x.Columns()) == 0:
				both = expr.Conjunction(both, x)
			case logical.Reads(x, join.Left) && !join.Kind.KeepsLeft():
				left, moved = expr.Conjunction(left, x), true
			case logical.Reads(x, join.Right) && !join.Kind.KeepsRight():
				right, moved = expr.Conjunction(right, x), true
			default:
				both = expr.Conjunction(both, x)
			}
		}
	}
	if !moved {
		return nil, nil
	}
	made, err := logical.NewJoin(c, join.Kind, filtered(join.Left, left), filtered(join.Right, right), both)
	if err != nil {
		return nil, err
	}
	made.Nearest = join.Nearest
	made.Keys = append(join.Keys[:len(join.Keys):len(join.Keys)], made.Keys...)
	return filtered(made, rest), nil
}

// impliedOf returns what follows from an OR for the rows of a side of a join, unless the side has a filter of it; nil
// of nothing.
func impliedOf(x *expr.Expr, side logical.Node) *expr.Expr {
	if x.Op != expr.OpCall || x.Name != "or" {
		return nil
	}
	of := implied(x, func(x *expr.Expr) bool { return len(x.Columns()) > 0 && logical.Reads(x, side) })
	if of == nil {
		return nil
	}
	return unasked(of, side)
}

// unasked returns the parts of a condition that the rows of a node have not passed; nil of none.
func unasked(x *expr.Expr, n logical.Node) *expr.Expr {
	passed := func(x *expr.Expr) bool { return isFiltered(n, x.Key()) }
	return expr.All(slices.DeleteFunc(expr.Conjuncts(nil, x), passed)...)
}

// isFiltered says whether the rows of a node have passed a condition, by its Key.
func isFiltered(n logical.Node, key string) bool {
	switch of := n.(type) {
	case *logical.Filter:
		for _, x := range expr.Conjuncts(nil, of.Condition) {
			if x.Key() == key {
				return true
			}
		}
		return isFiltered(of.In, key)
	case *logical.Join:
		return of.Kind == sql.InnerJoin && (isFiltered(of.Left, key) || isFiltered(of.Right, key))
	}
	return false
}

// filtered returns the rows of a node for which a condition is TRUE; all where it is nil.
func filtered(n logical.Node, condition *expr.Expr) logical.Node {
	if condition == nil {
		return n
	}
	return &logical.Filter{In: n, Condition: condition}
}

// mayFail says whether a condition on pairs of a join may be an error for some of them. That a subquery has several
// rows is an error wherever it is found out.
func mayFail(c *Context, n *logical.Join, x *expr.Expr) (bool, error) {
	x = x.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op == expr.OpCall && x.Name == expr.AtMostOne {
			return x.Args[0]
		}
		return nil
	})
	p, err := expr.BindCondition(c, n.Pairs(), x)
	if err != nil {
		return false, err
	}
	return p.Fallible(n.PairStats()), nil
}
