package logical

import (
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// joinCondition is the condition of a join while its subqueries become columns of the sides. What an INNER JOIN asks by
// subqueries is asked of its pairs, as WHERE asks it.
type joinCondition struct {
	of    *sql.Join
	sides [2]*attacher // left and right
	plain *expr.Expr   // of the join: without subqueries; nil for TRUE
	pairs *expr.Expr   // of the pairs of an INNER JOIN: with subqueries; nil for TRUE
}

// divide divides a condition, which may be nil, and attaches its subqueries.
func (c *joinCondition) divide(on *expr.Expr) error {
	if on == nil {
		return nil
	}
	for _, x := range expr.Conjuncts(nil, on) {
		switch {
		case firstSubquery(x) == nil:
			c.plain = expr.Conjunction(c.plain, x)
		case c.of.Kind == sql.InnerJoin && !c.of.Asof:
			c.pairs = expr.Conjunction(c.pairs, x)
		default:
			made, err := c.attached(x)
			if err != nil {
				return err
			}
			c.plain = expr.Conjunction(c.plain, made)
		}
	}
	return nil
}

// attached returns a part of the condition with columns of a side in place of subqueries.
func (c *joinCondition) attached(x *expr.Expr) (*expr.Expr, error) {
	var failed error
	made := x.Replace(func(x *expr.Expr) *expr.Expr {
		if failed != nil || x.Op != expr.OpSubquery {
			return nil
		}
		side := c.sideOf(x)
		if side == nil {
			const both = "not supported: a subquery in ON of a %s JOIN that reads columns of both sides"
			failed = errorAt(x.At, both, c.of.Kind)
			return x
		}
		var of *expr.Expr
		if of, failed = side.subquery(x); failed != nil {
			return x
		}
		return of
	})
	return made, failed
}

// sideOf returns the side whose columns a subquery reads, the right one where it reads none; nil where it reads both.
func (c *joinCondition) sideOf(x *expr.Expr) *attacher {
	of := [2]bool{}
	x.IDs(func(id expr.ID) {
		for i, side := range c.sides {
			of[i] = of[i] || PlaceOf(side.node, id) >= 0
		}
	})
	switch {
	case of[0] && of[1]:
		return nil
	case of[0]:
		return c.sides[0]
	}
	return c.sides[1]
}
