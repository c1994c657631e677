package rules

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
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
	p := newPlanner(t)
	all := p.all()
	isOther := p.shape(all) != t.shape(n)
	if isOther {
		waiting := t.conditions
		made, err := p.joined(c, all, &waiting)
		if err != nil {
			return nil, false, err
		}
		if n, err = c.conditions(filtered(made, expr.All(waiting...))); err != nil {
			return nil, false, err
		}
		t = flattened(n)
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
	of     *Estimator
	leaf   []float64   // rows of each table
	leaves [][]float64 // by two tables: what part of their pairs the equalities between them leave; 1 of none
	near   []uint64    // by table: tables with an equality between them
	best   map[uint64]*joinPlan
}

func newPlanner(t *joinTree) *planner {
	n := len(t.leaves)
	p := &planner{joinTree: t, of: NewEstimator(), near: make([]uint64, n), best: map[uint64]*joinPlan{}}
	values := make([][]float64, n) // by two tables: the distinct values of the keys between them; 0 of no key
	for i, leaf := range t.leaves {
		rows := p.of.Rows(leaf)
		for _, x := range t.conditions {
			if len(x.Columns()) > 0 && logical.Reads(x, leaf) {
				rows *= p.of.leaves(leaf, x)
			}
		}
		p.leaf, values[i] = append(p.leaf, max(rows, 1)), make([]float64, n)
	}
	for _, x := range t.conditions {
		i, j, ok := t.between(x)
		if !ok {
			continue
		}
		p.near[i], p.near[j] = p.near[i]|1<<j, p.near[j]|1<<i
		of := max(p.of.values(t.leaves[i], x.Args[0]), p.of.values(t.leaves[j], x.Args[1]))
		values[i][j] = max(values[i][j], 1) * of
		values[j][i] = values[i][j]
	}
	for i := range n {
		p.leaves = append(p.leaves, make([]float64, n))
		for j := range n {
			p.leaves[i][j] = 1
			if most := max(p.leaf[i], p.leaf[j]); values[i][j] > 0 {
				p.leaves[i][j] = 1 / min(values[i][j], most)
			}
		}
		p.best[1<<i] = &joinPlan{rows: p.leaf[i]}
	}
	return p
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
	rows := left.rows * right.rows
	for i := a; i != 0; i &= i - 1 {
		for j := b; j != 0; j &= j - 1 {
			rows *= p.leaves[bits.TrailingZeros64(i)][bits.TrailingZeros64(j)]
		}
	}
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

// joined joins the tables of a set by the equalities of their columns, which it takes from conditions that wait.
func (p *planner) joined(c *Context, set uint64, waiting *[]*expr.Expr) (logical.Node, error) {
	of := p.best[set]
	if of.left == 0 {
		return p.joinTree.leaves[bits.TrailingZeros64(set)], nil
	}
	left, err := p.joined(c, of.left, waiting)
	if err != nil {
		return nil, err
	}
	right, err := p.joined(c, of.right, waiting)
	if err != nil {
		return nil, err
	}
	join, err := logical.NewJoin(c, sql.InnerJoin, left, right, nil)
	if err != nil {
		return nil, err
	}
	var keys, rest []*expr.Expr
	for _, x := range *waiting {
		_, _, isKey := p.between(x)
		if isKey = isKey && logical.Reads(x, join); isKey {
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
	*waiting = rest
	if len(keys) == 0 {
		return join, nil
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
