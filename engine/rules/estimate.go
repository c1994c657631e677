package rules

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
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
	groups, rows := 1.0, e.Rows(n.Finest())
	sets := len(n.Sets)
	if n.Again && n.Made != nil {
		sets = len(n.Made)
	}
	for _, k := range n.Keys {
		groups *= e.distinct(n.In, k.Of)
	}
	return min(groups, max(rows/2, 1)) * float64(max(sets, 1))
}

// joined returns how many rows a join has.
func (e *Estimator) joined(n *logical.Join) float64 {
	left, right := e.Rows(n.Left), e.Rows(n.Right)
	keys, found := 1.0, 1.0 // the part of the left side's rows that have a partner
	var ofLeft, ofRight []*expr.Expr
	for _, k := range n.Keys {
		l, r := e.equalValues(n.Left, k.Left, n.Right, k.Right)
		keys *= max(l, r)
		found = min(found, r/l)
		ofLeft, ofRight = append(ofLeft, k.Left), append(ofRight, k.Right)
	}
	pairs := left * right / valuesTogether(keys, e.rowsOfKeys(n.Left, ofLeft), e.rowsOfKeys(n.Right, ofRight))
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

// denseKeys is the least part of their range that the keys of a table fill which are taken to be all keys there are:
// dates that are written as numbers, 20260131, fill 0.036.
const denseKeys = 1.0 / 32

// valuesTogether returns how many distinct values keys have together whose numbers of values have a product. left and
// right are the rows of the tables that have all of them, before conditions; infinity where several tables have them.
// Where the product is more than both, the rows of one of the tables may have all that there are, once or often: the
// mean of both is the least error.
func valuesTogether(product, left, right float64) float64 {
	if product > max(left, right) {
		return math.Sqrt(left * right)
	}
	return max(product, 1)
}

// rowsOfKeys returns how many rows the table has, before conditions, that has all columns of some expressions; infinity
// where several tables have them.
func (e *Estimator) rowsOfKeys(n logical.Node, keys []*expr.Expr) float64 {
	var table logical.Node
	isOne := true
	for _, x := range keys {
		x.IDs(func(id expr.ID) {
			eachTable(n, id, func(of logical.Node) {
				isOne = isOne && (table == nil || of == table)
				table = of
			})
		})
	}
	if table == nil || !isOne {
		return math.Inf(1)
	}
	return e.Rows(table)
}

// eachTable calls a function with the nodes that a column is of, or is computed of: tables, and what is no filter,
// projection or join of them.
func eachTable(n logical.Node, id expr.ID, f func(table logical.Node)) {
	in, x := comesFrom(n, id)
	if in == nil {
		f(n)
		return
	}
	x.IDs(func(id expr.ID) { eachTable(in, id, f) })
}

// comesFrom returns the input of a projection, a filter or a join that has a column, and what the column is there; nil
// of other nodes.
func comesFrom(n logical.Node, id expr.ID) (in logical.Node, x *expr.Expr) {
	switch of := n.(type) {
	case *logical.Project:
		return of.In, of.Exprs[logical.PlaceOf(n, id)]
	case *logical.Filter, *logical.Join:
		for _, in := range n.Inputs() {
			if logical.PlaceOf(in, id) >= 0 {
				return in, &expr.Expr{Op: expr.OpColumn, ID: id}
			}
		}
	}
	return nil, nil
}

// equalValues returns how many distinct values each of two expressions has that are joined by their equality.
func (e *Estimator) equalValues(
	left logical.Node, x *expr.Expr, right logical.Node, y *expr.Expr,
) (ofLeft, ofRight float64) {
	most := e.inCommon(left, x, right, y)
	return min(e.values(left, x), most), min(e.values(right, y), most)
}

// inCommon returns how many values there are, at most, of two equal keys: where the keys of both tables, without any
// condition, fill a good part of about the same range, the values of the one are taken to be among the other's. It is
// infinity where that is not known.
func (e *Estimator) inCommon(a logical.Node, x *expr.Expr, b logical.Node, y *expr.Expr) float64 {
	left, ofLeft, ok := e.origin(a, x)
	if !ok {
		return math.Inf(1)
	}
	right, ofRight, ok := e.origin(b, y)
	if !ok {
		return math.Inf(1)
	}
	from, to := max(left.Min, right.Min), min(left.Max, right.Max)
	widest := max(widthOf(left), widthOf(right))
	if float64(to)-float64(from) < widest/2 || min(ofLeft, ofRight) < widest*denseKeys {
		return math.Inf(1)
	}
	return min(ofLeft, ofRight)
}

// origin returns what is known of the table's column that an expression is, and how many distinct values the table has
// of it; not ok where it is none with a range.
func (e *Estimator) origin(n logical.Node, x *expr.Expr) (known scan.ColumnStats, values float64, ok bool) {
	scanned, at := originOf(n, x)
	if scanned == nil {
		return known, 0, false
	}
	c, rows := &scanned.Columns()[at], e.Rows(scanned)
	return c.Stats, min(distinctOf(c, rows), rows), c.Stats.HasRange
}

// originOf returns the table and the place of its column that an expression is; nil of another expression.
func originOf(n logical.Node, x *expr.Expr) (table *logical.Scan, at int) {
	for n != nil && x.Op == expr.OpColumn {
		switch of := n.(type) {
		case *logical.Scan:
			return of, logical.PlaceOf(n, x.ID)
		case *logical.Shared:
			x = &expr.Expr{Op: expr.OpColumn, ID: of.Of[logical.PlaceOf(n, x.ID)]}
			n = of.Body.Root
		default:
			n, x = comesFrom(n, x.ID)
		}
	}
	return nil, 0
}

// widthOf returns how many integers a range has.
func widthOf(s scan.ColumnStats) float64 { return float64(s.Max) - float64(s.Min) + 1 }

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

// listedColumn returns the only column that a condition reads, where it names values of the column; 0 otherwise.
func listedColumn(x *expr.Expr) (column expr.ID) {
	several := false
	x.IDs(func(id expr.ID) {
		several = several || column != 0 && column != id
		column = id
	})
	if several || math.IsInf(named(x, column), 1) {
		return 0
	}
	return column
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
		return widthOf(c.Stats)
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
	if x.Value == false {
		return 0
	}
	if x.Op != expr.OpCall {
		return 1 - otherLeaves
	}
	switch x.Name {
	case "and":
		return e.leavesAll(n, x)
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
		if _, part, ok := ranged(n, x); ok {
			return max(part, leastPart)
		}
		return rangeLeaves
	case "is null":
		return likeLeaves
	case "is not null":
		return 1 - likeLeaves/2
	case "like", "ilike":
		return likeLeaves
	}
	return otherLeaves
}

// leastPart is the part of the rows that comparisons by size leave at least.
const leastPart = 1e-4

// leavesAll returns what part of the rows of a node conditions leave that hold together. Two bounds of one column leave
// the values between them; of two lists of its values the shorter one counts.
func (e *Estimator) leavesAll(n logical.Node, and *expr.Expr) float64 {
	part, between, listed := 1.0, map[int]float64{}, map[expr.ID]float64{}
	for _, arg := range expr.Conjuncts(nil, and) {
		column, left, ok := ranged(n, arg)
		if !ok {
			left, of := e.leaves(n, arg), listedColumn(arg)
			if before := listed[of]; before > 0 {
				part, left = part/before, min(left, before)
			}
			if of != 0 {
				listed[of] = left
			}
			part *= left
			continue
		}
		if _, bounded := between[column]; !bounded {
			between[column] = 1
		}
		between[column] -= 1 - left
	}
	for _, left := range between {
		part *= max(left, leastPart)
	}
	return part
}

// ranged returns what part of the rows of a node a comparison of one of its columns by size leaves; not ok for other
// conditions and columns without a range.
func ranged(n logical.Node, x *expr.Expr) (column int, part float64, ok bool) {
	switch x.Name {
	case "<", "<=", ">", ">=", "between":
	default:
		return 0, 0, false
	}
	p, err := expr.BindCondition(context.Background(), logical.ColumnsOf(n), x)
	if err != nil {
		return 0, 0, false
	}
	part = 1.0
	terms := p.Terms(0)
	for _, t := range terms {
		c := n.Columns()[t.Column].Stats
		column = t.Column
		value, ok := 0.0, false
		if len(t.Values) == 1 {
			value, ok = numberOf(t.Values[0])
		}
		if !ok || !c.HasRange {
			return 0, 0, false
		}
		below := (value - float64(c.Min)) / widthOf(c)
		if t.Op == ">" || t.Op == ">=" {
			below = 1 - below
		}
		part -= 1 - max(min(below, 1), 0)
	}
	return column, part, len(terms) > 0
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
