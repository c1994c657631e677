package logical

import (
	"context"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// Inequality is a comparison of a value of a join's left side with one of its right side, of one type.
type Inequality struct {
	Left  *expr.Expr
	Sign  string // <, <=, > or >=
	Right *expr.Expr
}

// Condition returns the inequality as a condition.
func (q Inequality) Condition() *expr.Expr { return expr.Call(q.Sign, q.Left, q.Right) }

// Turned returns the inequality with its sides in turn.
func (q Inequality) Turned() Inequality { return Inequality{q.Right, turnedSigns[q.Sign], q.Left} }

// turnedSigns are the signs of comparisons whose sides change places.
var turnedSigns = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

// Inequalities returns what a condition on pairs of a join says, in inequalities; nil where it is something else.
func (n *Join) Inequalities(ctx context.Context, x *expr.Expr) []Inequality {
	if x.Op != expr.OpCall {
		return nil
	}
	one := func(sign string, a, b *expr.Expr) []Inequality {
		left, right, turned, ok := n.compared(ctx, a, b)
		if !ok {
			return nil
		}
		if turned {
			sign = turnedSigns[sign]
		}
		return []Inequality{{left, sign, right}}
	}
	if turnedSigns[x.Name] != "" {
		return one(x.Name, x.Args[0], x.Args[1])
	}
	if x.Name != "between" {
		return nil
	}
	low, high := one(">=", x.Args[0], x.Args[1]), one("<=", x.Args[0], x.Args[2])
	if low == nil || high == nil {
		return nil
	}
	return append(low, high...)
}

// takeNearest makes an ASOF join: one inequality of the condition becomes Nearest.
func (n *Join) takeNearest(ctx context.Context, at int) error {
	var rest *expr.Expr
	var parts []*expr.Expr
	if n.Condition != nil {
		parts = expr.Conjuncts(nil, n.Condition)
	}
	for _, x := range parts {
		list := n.Inequalities(ctx, x)
		if len(list) > 1 || len(list) == 1 && n.Nearest != nil {
			return errorAt(at, "ASOF JOIN: ON has more than one inequality of both sides")
		}
		if list == nil {
			rest = expr.Conjunction(rest, x)
		} else {
			n.Nearest = &list[0]
		}
	}
	if n.Nearest == nil {
		const lacking = "ASOF JOIN: ON has no inequality (<, <=, >, >=) of a value of the left side with one of the right"
		return errorAt(at, lacking)
	}
	n.Condition = rest
	if rest != nil && n.Kind.KeepsRight() {
		return errorAt(at, "not supported: ASOF %s JOIN with a condition beside equalities and one inequality", n.Kind)
	}
	return nil
}

// IsInner says whether the join has all pairs of partners and no other rows: its inputs may be joined in any order.
func (n *Join) IsInner() bool { return n.Kind == sql.InnerJoin && n.Nearest == nil }
