package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// Three tables or more that are joined by INNER JOIN or commas are joined in an order that makes few rows: the one with
// most rows is read once, and is joined first with the table that leaves fewest rows of it, by what statistics say of
// the rows of a table and the distinct values of a key. A wrong guess costs time, and neither memory nor an answer.
func joinOrder(c *Context, n logical.Node) (logical.Node, bool, error) {
	below := func(in logical.Node) (logical.Node, bool, error) { return joinOrder(c, in) }
	t := flattened(n)
	if len(t.leaves) <= 2 {
		return eachInput(n, below)
	}
	order := t.order()
	isOther := !slices.IsSorted(order)
	if isOther {
		var err error
		if n, err = t.joined(c, order); err != nil {
			return nil, false, err
		}
	}
	n, changed, err := t.eachLeaf(n, below)
	return n, changed || isOther, err
}

// joinTree is tables that are joined by inner joins alone, and the parts of all their conditions.
type joinTree struct {
	leaves     []logical.Node
	conditions []*expr.Expr
}

// flattened returns the tables of a tree of inner joins and filters over them.
func flattened(n logical.Node) *joinTree {
	t := new(joinTree)
	t.add(n)
	return t
}

func (t *joinTree) add(n logical.Node) {
	switch of := n.(type) {
	case *logical.Filter:
		if isInner(of.In) {
			t.conditions = expr.Factored(t.conditions, of.Condition)
			t.add(of.In)
			return
		}
	case *logical.Join:
		if isInner(of) {
			for _, k := range of.Keys {
				t.conditions = append(t.conditions, k.Condition())
			}
			if of.Condition != nil {
				t.conditions = expr.Factored(t.conditions, of.Condition)
			}
			t.add(of.Left)
			t.add(of.Right)
			return
		}
	}
	t.leaves = append(t.leaves, n)
}

// isInner says whether a node is an inner join, perhaps below filters.
func isInner(n logical.Node) bool {
	for {
		f, ok := n.(*logical.Filter)
		if !ok {
			break
		}
		n = f.In
	}
	join, ok := n.(*logical.Join)
	return ok && join.Kind == sql.InnerJoin
}

// filterLeaves is what part of a table's rows a condition on them is taken to leave.
const filterLeaves = 0.2

// rows returns how many rows a table is taken to have that are left by the conditions on it.
func (t *joinTree) rows(leaf logical.Node) float64 {
	rows := rowsOf(leaf)
	if slices.ContainsFunc(t.conditions, func(x *expr.Expr) bool { return logical.Reads(x, leaf) }) {
		rows *= filterLeaves
	}
	return max(rows, 1)
}

// unknownRows is how many rows a table is taken to have where its source knows no number.
const unknownRows = 1e6

// rowsOf returns how many rows a node is taken to have.
func rowsOf(n logical.Node) float64 {
	switch of := n.(type) {
	case *logical.Scan:
		if s := of.Source.Stats(); s.Rows >= 0 {
			return float64(s.Rows)
		}
		return unknownRows
	case *logical.Shared:
		return rowsOf(of.Body.Root)
	case *logical.Filter:
		return rowsOf(of.In) * filterLeaves
	case *logical.Limit:
		if of.Limited {
			return min(float64(of.Limit), rowsOf(of.In))
		}
	case *logical.Aggregate:
		if len(of.Keys) == 0 {
			return 1
		}
		return rowsOf(of.In) / 10
	}
	most := 0.0
	for _, in := range n.Inputs() {
		most = max(most, rowsOf(in))
	}
	return max(most, 1)
}

// order returns the places of the tables in the order in which they are joined.
func (t *joinTree) order() []int {
	estimates, first := make([]float64, len(t.leaves)), 0
	for i, leaf := range t.leaves {
		if estimates[i] = t.rows(leaf); estimates[i] > estimates[first] {
			first = i
		}
	}
	order := []int{first}
	for len(order) < len(t.leaves) {
		best, least := -1, 0.0
		for i := range t.leaves {
			if slices.Contains(order, i) {
				continue
			}
			rows := t.factor(order, i, estimates[i])
			if best < 0 || rows < least || rows == least && estimates[i] < estimates[best] {
				best, least = i, rows
			}
		}
		order = append(order, best)
	}
	return order
}

// factor returns by what the rows of some tables are multiplied where a table of some rows is joined with them.
func (t *joinTree) factor(with []int, next int, rows float64) float64 {
	leaf, distinct := t.leaves[next], 1.0
	isJoined := func(id expr.ID) bool {
		return slices.ContainsFunc(with, func(i int) bool { return logical.PlaceOf(t.leaves[i], id) >= 0 })
	}
	for _, x := range t.conditions {
		if x.Op != expr.OpCall || x.Name != "=" {
			continue
		}
		for i, side := range x.Args {
			other := x.Args[1-i]
			if logical.Reads(side, leaf) && len(other.Columns()) > 0 && readsOnly(other, isJoined) {
				distinct *= distinctOf(leaf, side)
			}
		}
	}
	return rows / min(distinct, max(rowsOf(leaf), 1))
}

// distinctOf returns how many distinct values an expression over a table is taken to have.
func distinctOf(leaf logical.Node, x *expr.Expr) float64 {
	rows := max(rowsOf(leaf), 1)
	if x.Op != expr.OpColumn {
		return rows
	}
	if s := leaf.Columns()[logical.PlaceOf(leaf, x.ID)].Stats; s.HasRange {
		return min(rows, float64(s.Max)-float64(s.Min)+1)
	}
	return rows
}

// joined joins the tables in an order, by the equalities of their columns. The other conditions stand over the joins.
func (t *joinTree) joined(c *Context, order []int) (logical.Node, error) {
	made, waiting := t.leaves[order[0]], t.conditions
	for _, i := range order[1:] {
		join, err := logical.NewJoin(c, sql.InnerJoin, made, t.leaves[i], nil)
		if err != nil {
			return nil, err
		}
		var keys, rest []*expr.Expr
		for _, x := range waiting {
			isKey := x.Op == expr.OpCall && (x.Name == "=" || x.Name == "is not distinct from") && logical.Reads(x, join)
			if isKey {
				fallible, err := mayFail(c, join, x)
				if err != nil {
					return nil, err
				}
				isKey = !fallible
			}
			if isKey {
				keys = append(keys, x)
			} else {
				rest = append(rest, x)
			}
		}
		if waiting = rest; len(keys) > 0 {
			if join, err = logical.NewJoin(c, sql.InnerJoin, made, t.leaves[i], expr.All(keys...)); err != nil {
				return nil, err
			}
		}
		made = join
	}
	return filtered(made, expr.All(waiting...)), nil
}

// eachLeaf applies a function to the tables of a tree of joins.
func (t *joinTree) eachLeaf(
	n logical.Node, f func(logical.Node) (logical.Node, bool, error),
) (logical.Node, bool, error) {
	if slices.Contains(t.leaves, n) {
		return f(n)
	}
	return eachInput(n, func(in logical.Node) (logical.Node, bool, error) { return t.eachLeaf(in, f) })
}
