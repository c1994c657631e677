package rules

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// Estimator tells how many rows nodes are taken to have, by what statistics say of tables: numbers of rows, ranges of
// integers, dictionaries of strings. Conditions are taken to be independent of one another, values to be spread
// evenly, and the values of the key with fewer values to be among the other's (Selinger and others, "Access Path
// Selection", SIGMOD 1979).
type Estimator struct{ known map[logical.Node]float64 }

// NewEstimator returns an estimator, which remembers what it has told of nodes.
func NewEstimator() *Estimator { return &Estimator{map[logical.Node]float64{}} }

// unknownRows is how many rows a table is taken to have where its source knows no number.
const unknownRows = 1e6

// iterationRows is how many rows an iteration of a recursion is taken to have.
const iterationRows = 1e3

// fewStrings is how many distinct strings a column is taken to have whose dictionaries are small.
const fewStrings = 64

// What part of the rows conditions are taken to leave about which nothing more is known.
const (
	likeLeaves  = 0.1
	rangeLeaves = 0.3
	otherLeaves = 0.2
)

// Rows returns how many rows a node is taken to have, at least one.
func (e *Estimator) Rows(n logical.Node) float64 {
	if rows, ok := e.known[n]; ok {
		return rows
	}
	rows := max(e.estimate(n), 1)
	e.known[n] = rows
	return rows
}

func (e *Estimator) estimate(n logical.Node) float64 {
	switch of := n.(type) {
	case *logical.Scan:
		if s := of.Source.Stats(); s.Rows >= 0 {
			return float64(s.Rows)
		}
		return unknownRows
	case *logical.Iteration:
		return iterationRows
	case *logical.Shared:
		return e.Rows(of.Body.Root)
	case *logical.Filter:
		return e.Rows(of.In) * e.leaves(of.In, of.Condition)
	case *logical.Limit:
		if of.Limited {
			return min(float64(of.Limit), e.Rows(of.In))
		} else if of.IsShare {
			return of.Share / 100 * e.Rows(of.In)
		}
	case *logical.Aggregate:
		return e.groups(of)
	case *logical.Union:
		sum := 0.0
		for _, in := range of.In {
			sum += e.Rows(in)
		}
		return sum
	case *logical.Join:
		return e.joined(of)
	}
	most := 0.0
	for _, in := range n.Inputs() {
		most = max(most, e.Rows(in))
	}
	return most
}

// groups returns how many groups there are.
func (e *Estimator) groups(n *logical.Aggregate) float64 {
	groups, rows := 1.0, e.Rows(n.In)
	for _, k := range n.Keys {
		groups *= e.distinct(n.In, k.Of)
	}
	return min(groups, max(rows/2, 1)) * float64(max(len(n.Sets), 1))
}

// joined returns how many rows a join has.
func (e *Estimator) joined(n *logical.Join) float64 {
	left, right, keys := e.Rows(n.Left), e.Rows(n.Right), 1.0
	found := 1.0 // the part of the left side's rows that have a partner
	for _, k := range n.Keys {
		ofLeft, ofRight := e.values(n.Left, k.Left), e.values(n.Right, k.Right)
		keys *= max(ofLeft, ofRight)
		found = min(found, ofRight/ofLeft)
	}
	pairs := left * right / min(keys, max(left, right))
	if n.Condition != nil {
		pairs *= otherLeaves
	}
	switch n.Kind {
	case sql.SemiJoin:
		return left * found
	case sql.AntiJoin:
		return left * max(1-found, likeLeaves)
	case sql.LeftJoin:
		return max(pairs, left)
	case sql.RightJoin:
		return max(pairs, right)
	case sql.FullJoin:
		return max(pairs, left, right)
	}
	return pairs
}

// values returns how many distinct values an expression has.
func (e *Estimator) values(n logical.Node, x *expr.Expr) float64 {
	if x.Op == expr.OpColumn {
		return e.distinct(n, x.ID)
	}
	values := 1.0
	x.IDs(func(id expr.ID) { values *= e.distinct(n, id) })
	return min(values, e.Rows(n))
}

// distinct returns how many distinct values a column has, at least one.
func (e *Estimator) distinct(n logical.Node, id expr.ID) float64 {
	rows := e.Rows(n)
	switch of := n.(type) {
	case *logical.Filter:
		return min(remaining(e.distinct(of.In, id), rows, e.Rows(of.In)), named(of.Condition, id))
	case *logical.Project:
		at := logical.PlaceOf(n, id)
		values := e.values(of.In, of.Exprs[at])
		if c := &of.Columns()[at]; c.Stats.HasRange {
			values = min(values, distinctOf(c, rows))
		}
		return min(values, rows)
	case *logical.Shared:
		return min(e.distinct(of.Body.Root, of.Of[logical.PlaceOf(n, id)]), rows)
	case *logical.Aggregate:
		for _, k := range of.Keys {
			if k.Column.ID == id {
				return min(e.distinct(of.In, k.Of), rows)
			}
		}
		return rows
	case *logical.Scan:
		at := logical.PlaceOf(n, id)
		return max(min(distinctOf(&n.Columns()[at], rows), rows), 1)
	}
	for _, in := range n.Inputs() {
		if logical.PlaceOf(in, id) >= 0 {
			return min(e.distinct(in, id), rows)
		}
	}
	return rows
}

// named returns how many values a condition leaves of a column, which it names; infinity where it names none.
func named(x *expr.Expr, id expr.ID) float64 {
	is := func(x *expr.Expr) bool { return x.Op == expr.OpColumn && x.ID == id }
	isConstant := func(x *expr.Expr) bool { return len(x.Columns()) == 0 }
	values := math.Inf(1)
	switch {
	case x.Op != expr.OpCall:
	case x.Name == "=" && (is(x.Args[0]) && isConstant(x.Args[1]) || is(x.Args[1]) && isConstant(x.Args[0])):
		return 1
	case x.Name == "in" && is(x.Args[0]):
		return float64(len(x.Args) - 1)
	case x.Name == "and":
		for _, arg := range x.Args {
			values = min(values, named(arg, id))
		}
	case x.Name == "or":
		values = 0
		for _, arg := range x.Args {
			values += named(arg, id)
		}
	}
	return values
}

// remaining returns how many of some distinct values are left where some of all rows are: each row is left or not by
// chance.
func remaining(values, left, rows float64) float64 {
	if left >= rows {
		return values
	}
	return max(values*(1-math.Pow(1-left/rows, rows/values)), 1)
}

// distinctOf returns how many distinct values a column of a table with some rows has.
func distinctOf(c *logical.Column, rows float64) float64 {
	switch {
	case c.Stats.HasRange:
		return float64(c.Stats.Max) - float64(c.Stats.Min) + 1
	case c.Stats.Values > 0:
		return float64(c.Stats.Values)
	case c.Type.ID() == arrow.BOOL:
		return 2
	case c.Stats.StringBytes > 0:
		const stringBytes = 12
		return float64(c.Stats.StringBytes) / stringBytes
	case c.Stats.Repeats:
		return fewStrings
	}
	return rows
}

// leaves returns what part of the rows of a node a condition leaves.
func (e *Estimator) leaves(n logical.Node, x *expr.Expr) float64 {
	if x.Op != expr.OpCall {
		return 1 - otherLeaves
	}
	switch x.Name {
	case "and":
		part := 1.0
		for _, arg := range x.Args {
			part *= e.leaves(n, arg)
		}
		return part
	case "or":
		none := 1.0
		for _, arg := range x.Args {
			none *= 1 - e.leaves(n, arg)
		}
		return 1 - none
	case "not":
		return 1 - e.leaves(n, x.Args[0])
	case "=", "is not distinct from":
		return 1 / max(e.values(n, x.Args[0]), e.values(n, x.Args[1]), 1)
	case "<>":
		return 1 - 1/max(e.values(n, x.Args[0]), e.values(n, x.Args[1]), 2)
	case "in":
		return min(float64(len(x.Args)-1)/e.values(n, x.Args[0]), 1)
	case "<", "<=", ">", ">=", "between":
		return ranged(n, x)
	case "is null":
		return likeLeaves
	case "is not null":
		return 1 - likeLeaves/2
	case "like", "ilike":
		return likeLeaves
	}
	return otherLeaves
}

// ranged returns what part of the rows of a node a comparison by size leaves.
func ranged(n logical.Node, x *expr.Expr) float64 {
	p, err := expr.BindCondition(context.Background(), logical.ColumnsOf(n), x)
	if err != nil {
		return rangeLeaves
	}
	part := 1.0
	terms := p.Terms(0)
	for _, t := range terms {
		c := n.Columns()[t.Column].Stats
		value, ok := 0.0, false
		if len(t.Values) == 1 {
			value, ok = numberOf(t.Values[0])
		}
		if !ok || !c.HasRange {
			return rangeLeaves
		}
		below := (value - float64(c.Min)) / (float64(c.Max) - float64(c.Min) + 1)
		if t.Op == ">" || t.Op == ">=" {
			below = 1 - below
		}
		part -= 1 - max(min(below, 1), 0)
	}
	if len(terms) == 0 {
		return rangeLeaves
	}
	return max(part, 1e-4)
}

// numberOf returns a constant in the units of columns' ranges.
func numberOf(s scalar.Scalar) (float64, bool) {
	switch s := s.(type) {
	case *scalar.Int8:
		return float64(s.Value), true
	case *scalar.Int16:
		return float64(s.Value), true
	case *scalar.Int32:
		return float64(s.Value), true
	case *scalar.Int64:
		return float64(s.Value), true
	case *scalar.Date32:
		return float64(s.Value), true
	case *scalar.Timestamp:
		return float64(s.Value), true
	}
	return 0, false
}
