package rules

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Tables that are joined by INNER JOIN or commas are joined in the order that costs least, by how many rows the joins
// are taken to make (Moerkotte and Neumann, "Analysis of Two Existing and One New Dynamic Programming Algorithm for the
// Generation of Optimal Bushy Join Trees without Cross Products", VLDB 2006, algorithm DPsub). A wrong guess costs
// time, and neither memory nor an answer.
func joinOrder(c *Context, n logical.Node) (logical.Node, bool, error) {
	below := func(in logical.Node) (logical.Node, bool, error) { return joinOrder(c, in) }
	t := flattened(n)
	if len(t.leaves) <= 2 || len(t.leaves) > 64 {
		return eachInput(n, below)
	}
	p, err := newPlanner(c, t)
	if err != nil {
		return nil, false, err
	}
	all := p.all()
	isOther := p.shape(all) != t.shape(n)
	if isOther {
		made, err := p.joined(c, all)
		if err != nil {
			return nil, false, err
		}
		if n, err = c.conditions(filtered(made, expr.All(p.rest...))); err != nil {
			return nil, false, err
		}
		t = flattened(n)
	}
	n, changed, err := t.eachLeaf(n, below)
	return n, changed || isOther, err
}

// planned returns the join of the tables in the order that costs least.
func (t *joinTree) planned(c *Context) (logical.Node, error) {
	p, err := newPlanner(c, t)
	if err != nil {
		return nil, err
	}
	made, err := p.joined(c, p.all())
	if err != nil {
		return nil, err
	}
	return c.conditions(filtered(made, expr.All(p.rest...)))
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
	join, ok := unfiltered(n).(*logical.Join)
	return ok && join.IsInner()
}

// tablesMost is the most tables whose every order is looked at; more are joined by the order of addGreedily.
const tablesMost = 12

// joinPlan is a join of a set of tables, which are bits.
type joinPlan struct {
	rows, cost  float64
	left, right uint64 // the sets that are joined; 0 of a single table
}

// planner finds the cheapest order of joins of each set of tables.
type planner struct {
	*joinTree
	of      *Estimator
	classes []*equalClass
	rest    []*expr.Expr // conditions that are no equalities between two tables
	rows    []float64    // by table, before conditions
	near    []uint64     // by table: tables with an equality between them
	best    map[uint64]*joinPlan
}

// equalClass is columns, or two expressions, of different tables that are equal: what follows from the equalities of a
// statement, so that any two of its tables may be joined by it.
type equalClass struct {
	tables uint64
	of     []*expr.Expr // by table; nil of tables without
	given  []*expr.Expr // equalities of the statement
	keys   [][]float64  // by two tables: the distinct values of the key that has more
}

func newPlanner(c *Context, t *joinTree) (*planner, error) {
	n := len(t.leaves)
	p := &planner{joinTree: t, of: NewEstimator(), near: make([]uint64, n), best: map[uint64]*joinPlan{}}
	for i, leaf := range t.leaves {
		rows := p.of.Rows(leaf)
		p.rows = append(p.rows, p.of.Rows(unfiltered(leaf)))
		for _, x := range t.conditions {
			if len(x.Columns()) > 0 && logical.Reads(x, leaf) {
				rows *= p.of.leaves(leaf, x)
			}
		}
		p.best[1<<i] = &joinPlan{rows: max(rows, 1)}
	}
	for _, x := range t.conditions {
		i, j, isKey := t.between(x)
		if isKey {
			of := (&logical.Join{Kind: sql.InnerJoin}).With(t.leaves[i], t.leaves[j]).(*logical.Join)
			fallible, err := mayFail(c, of, x)
			if err != nil {
				return nil, err
			}
			isKey = !fallible
		}
		if isKey {
			p.addEquality(x, i, j)
		} else {
			p.rest = append(p.rest, x)
		}
	}
	for _, c := range p.classes {
		p.estimate(c)
	}
	return p, nil
}

// unfiltered returns a node without the filters over it.
func unfiltered(n logical.Node) logical.Node {
	for {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n
		}
		n = f.In
	}
}

// addEquality adds an equality of expressions of two tables to the classes. Two classes become one where they have the
// column of a table in common, and no other table.
func (p *planner) addEquality(x *expr.Expr, i, j int) {
	c := &equalClass{tables: 1<<i | 1<<j, of: make([]*expr.Expr, len(p.joinTree.leaves)), given: []*expr.Expr{x}}
	c.of[i], c.of[j] = p.widened(i, x.Args[0]), p.widened(j, x.Args[1])
	a, b := p.typeOf(i, c.of[i]), p.typeOf(j, c.of[j])
	isColumns := x.Name == "=" && a != nil && b != nil &&
		(arrow.TypeEqual(a, b) || arrow.IsInteger(a.ID()) && arrow.IsInteger(b.ID()))
	if isColumns && slices.ContainsFunc(p.classes, func(other *equalClass) bool { return other.implies(c) }) {
		return
	}
	if isColumns {
		p.classes = slices.DeleteFunc(p.classes, c.takeOver)
	}
	p.classes = append(p.classes, c)
}

// widened returns the integer column of a table that an expression widens, so that it can be compared: it is equal to
// what the expression is equal to. It returns other expressions as they are.
func (p *planner) widened(table int, x *expr.Expr) *expr.Expr {
	if x.Op != expr.OpCast {
		return x
	}
	from, to := p.typeOf(table, x.Args[0]), x.Type.Arrow()
	if from == nil || !arrow.IsInteger(from.ID()) || !arrow.IsInteger(to.ID()) {
		return x
	}
	widens := to.(arrow.FixedWidthDataType).BitWidth() > from.(arrow.FixedWidthDataType).BitWidth()
	if !widens || arrow.IsUnsignedInteger(to.ID()) && !arrow.IsUnsignedInteger(from.ID()) { // which may be an error
		return x
	}
	return x.Args[0]
}

// typeOf returns the type of a table's column; nil of another expression.
func (p *planner) typeOf(table int, x *expr.Expr) arrow.DataType {
	if x.Op != expr.OpColumn {
		return nil
	}
	leaf := p.joinTree.leaves[table]
	return rowdata.ValueType(leaf.Columns()[logical.PlaceOf(leaf, x.ID)].Type)
}

// implies says whether the columns of another class are equal by this one, which takes over the other's equality then.
func (c *equalClass) implies(other *equalClass) bool {
	for i, x := range other.of {
		if x != nil && (c.of[i] == nil || c.of[i].Op != expr.OpColumn || c.of[i].ID != x.ID) {
			return false
		}
	}
	c.given = append(c.given, other.given...)
	return true
}

// takeOver adds another class, if the two have the column of a table in common, and no other table.
func (c *equalClass) takeOver(other *equalClass) bool {
	common := c.tables & other.tables
	if bits.OnesCount64(common) != 1 || other.given[0].Name != "=" {
		return false
	}
	i := bits.TrailingZeros64(common)
	if a, b := c.of[i], other.of[i]; a.Op != expr.OpColumn || b.Op != expr.OpColumn || a.ID != b.ID {
		return false
	}
	for j, x := range other.of {
		if x != nil {
			c.of[j] = x
		}
	}
	c.tables, c.given = c.tables|other.tables, append(other.given, c.given...)
	return true
}

// estimate finds how many values the keys of each two tables of a class have.
func (p *planner) estimate(c *equalClass) {
	c.keys = make([][]float64, len(c.of))
	for i, x := range c.of {
		if x == nil {
			continue
		}
		p.near[i] |= c.tables &^ (1 << i)
		c.keys[i] = make([]float64, len(c.of))
		for j, y := range c.of {
			if y != nil && i != j {
				c.keys[i][j] = max(p.of.equalValues(p.joinTree.leaves[i], x, p.joinTree.leaves[j], y))
			}
		}
	}
}

// values returns how many values the keys of two sets of tables have; not ok where not both have one of the class.
func (c *equalClass) values(a, b uint64) (values float64, ok bool) {
	values = math.Inf(1)
	for i := a & c.tables; i != 0; i &= i - 1 {
		for j := b & c.tables; j != 0; j &= j - 1 {
			values, ok = min(values, c.keys[bits.TrailingZeros64(i)][bits.TrailingZeros64(j)]), true
		}
	}
	return values, ok
}

// between returns an equality between two sets of tables, if the class has any: one of the statement's where there is,
// of columns as they are rather than of others.
func (c *equalClass) between(left, right logical.Node, a, b uint64) (found *expr.Expr) {
	if a &= c.tables; a == 0 || b&c.tables == 0 {
		return nil
	}
	for _, x := range c.given {
		one, other := x.Args[0], x.Args[1]
		if logical.Reads(one, right) {
			one, other = other, one
		}
		if !logical.Reads(one, left) || !logical.Reads(other, right) {
			continue
		}
		if one.Op == expr.OpColumn && other.Op == expr.OpColumn {
			return x
		}
		found = cmp.Or(found, x)
	}
	if found != nil {
		return found
	}
	return expr.Call("=", c.of[bits.TrailingZeros64(a)], c.of[bits.TrailingZeros64(b&c.tables)])
}

// between returns the two tables between which a condition is an equality.
func (t *joinTree) between(x *expr.Expr) (i, j int, ok bool) {
	if x.Op != expr.OpCall || x.Name != "=" && x.Name != "is not distinct from" {
		return 0, 0, false
	}
	table := func(x *expr.Expr) int {
		if len(x.Columns()) == 0 {
			return -1
		}
		return slices.IndexFunc(t.leaves, func(leaf logical.Node) bool { return logical.Reads(x, leaf) })
	}
	i, j = table(x.Args[0]), table(x.Args[1])
	return i, j, i >= 0 && j >= 0 && i != j
}

// mostRows returns how many rows the largest of a set of tables has, before conditions; infinity of no table.
func (p *planner) mostRows(set uint64) float64 {
	if set == 0 {
		return math.Inf(1)
	}
	most := 0.0
	for i := set; i != 0; i &= i - 1 {
		most = max(most, p.rows[bits.TrailingZeros64(i)])
	}
	return most
}

// neighbours returns the tables that have an equality with one of a set.
func (p *planner) neighbours(set uint64) (near uint64) {
	for rest := set; rest != 0; rest &= rest - 1 {
		near |= p.near[bits.TrailingZeros64(rest)]
	}
	return near &^ set
}

// join notes the join of two sets if it is the cheapest of their tables so far. What a join costs is the rows that it
// makes and reads, and more for rows that are kept to be found.
func (p *planner) join(a, b uint64) {
	left, right := p.best[a], p.best[b]
	if left.rows < right.rows {
		a, b, left, right = b, a, right, left
	}
	keys, ofA, ofB := 1.0, a, b // the tables that have all keys
	for _, c := range p.classes {
		if values, ok := c.values(a, b); ok {
			keys, ofA, ofB = keys*values, ofA&c.tables, ofB&c.tables
		}
	}
	rows := left.rows * right.rows / valuesTogether(keys, p.mostRows(ofA), p.mostRows(ofB))
	const kept = 2
	cost := left.cost + right.cost + rows + left.rows + kept*right.rows
	if best := p.best[a|b]; best == nil || cost < best.cost {
		p.best[a|b] = &joinPlan{max(rows, 1), cost, a, b}
	}
}

// all returns the join of all tables: of each connected set of tables by dynamic programming over its subsets, or
// greedily, and then all pairs of these.
func (p *planner) all() uint64 {
	n := len(p.joinTree.leaves)
	every := uint64(1)<<n - 1
	if n <= tablesMost {
		for set := uint64(1); set <= every; set++ {
			for a := (set - 1) & set; a > set&^a; a = (a - 1) & set { // a has the last table
				if b := set &^ a; p.best[a] != nil && p.best[b] != nil && p.neighbours(a)&b != 0 {
					p.join(a, b)
				}
			}
		}
	} else {
		p.addGreedily()
	}
	var parts []uint64
	for left := every; left != 0; {
		part := left & -left
		for near := p.neighbours(part); near != 0; near = p.neighbours(part) {
			part |= near
		}
		parts, left = append(parts, part), left&^part
	}
	slices.SortStableFunc(parts, func(a, b uint64) int { return cmp.Compare(p.best[b].rows, p.best[a].rows) })
	for _, part := range parts[1:] {
		p.join(parts[0], part)
		parts[0] |= part
	}
	return every
}

// addGreedily joins the two sets with an equality between them whose join has fewest rows, again and again.
func (p *planner) addGreedily() {
	var sets []uint64
	for i := range p.joinTree.leaves {
		sets = append(sets, 1<<i)
	}
	for {
		var a, b uint64
		for i, x := range sets {
			for _, y := range sets[i+1:] {
				if p.neighbours(x)&y == 0 {
					continue
				}
				p.join(x, y)
				if a == 0 || p.best[x|y].rows < p.best[a|b].rows {
					a, b = x, y
				}
			}
		}
		if a == 0 {
			return
		}
		sets = slices.DeleteFunc(sets, func(s uint64) bool { return s == a || s == b })
		sets = append(sets, a|b)
	}
}

// shape names the order in which the tables of a set are joined.
func (p *planner) shape(set uint64) string {
	of := p.best[set]
	if of.left == 0 {
		return strconv.Itoa(bits.TrailingZeros64(set))
	}
	return "(" + p.shape(of.left) + " " + p.shape(of.right) + ")"
}

// shape names the order in which the tables of a node are joined.
func (t *joinTree) shape(n logical.Node) string {
	if i := slices.Index(t.leaves, n); i >= 0 {
		return strconv.Itoa(i)
	}
	if f, ok := n.(*logical.Filter); ok {
		return t.shape(f.In)
	}
	join := n.(*logical.Join)
	return "(" + t.shape(join.Left) + " " + t.shape(join.Right) + ")"
}

// joined joins the tables of a set by the equalities of their columns.
func (p *planner) joined(c *Context, set uint64) (logical.Node, error) {
	of := p.best[set]
	if of.left == 0 {
		return p.joinTree.leaves[bits.TrailingZeros64(set)], nil
	}
	left, err := p.joined(c, of.left)
	if err != nil {
		return nil, err
	}
	right, err := p.joined(c, of.right)
	if err != nil {
		return nil, err
	}
	var keys []*expr.Expr
	for _, class := range p.classes {
		if x := class.between(left, right, of.left, of.right); x != nil {
			keys = append(keys, x)
		}
	}
	return logical.NewJoin(c, sql.InnerJoin, left, right, expr.All(keys...))
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
