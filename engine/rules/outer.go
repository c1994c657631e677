package rules

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// An outer join has rows with NULL in place of a partner. Where all such rows are left out above it, it is an inner
// join, whose tables may be joined in another order and ask each other's readers for keys; where they alone are left,
// it is an anti join, which makes no pairs (Galindo-Legaria and Rosenthal, "Outerjoin Simplification and Reordering for
// Query Optimization", TODS 1997). What is asked of a key of the rows that stay without a partner is asked of the other
// side's key, too.
func outerJoins(c *Context, root logical.Node) (logical.Node, bool, error) {
	o := outer{root: root}
	made := o.simplified(root, ids{})
	if !o.changed {
		return root, false, nil
	}
	made, err := c.conditions(collapse(made))
	return made, true, err
}

// outer simplifies the outer joins of a tree.
type outer struct {
	root    logical.Node
	changed bool
}

// simplified returns a node with simpler joins. Rows with NULL in one of the columns in present are left out above it.
func (o *outer) simplified(n logical.Node, present ids) logical.Node {
	if f, ok := n.(*logical.Filter); ok {
		n = o.withoutPartners(f)
	}
	if of, ok := n.(*logical.Join); ok {
		n = o.withKind(of, present)
	}
	n, _, _ = eachInput(n, func(in logical.Node) (logical.Node, bool, error) {
		made := o.simplified(in, presentIn(n, in, present))
		return made, made != in, nil
	})
	if of, ok := n.(*logical.Join); ok && (of.Kind == sql.LeftJoin || of.Kind == sql.AntiJoin) {
		if asked := askedOfPartners(of); asked != nil {
			o.changed = true
			return of.With(of.Left, filtered(of.Right, asked))
		}
	}
	return n
}

// withKind returns a join without the rows that are left out above it.
func (o *outer) withKind(of *logical.Join, present ids) *logical.Join {
	has := func(n logical.Node) bool {
		return slices.ContainsFunc(n.Columns(), func(c logical.Column) bool { return present[c.ID] })
	}
	kind := of.Kind
	if kind == sql.FullJoin && has(of.Left) {
		kind = sql.LeftJoin
	}
	if kind == sql.FullJoin && has(of.Right) {
		kind = sql.RightJoin
	}
	if kind == sql.LeftJoin && has(of.Right) || kind == sql.RightJoin && has(of.Left) {
		kind = sql.InnerJoin
	}
	if kind == of.Kind || of.Nearest != nil {
		return of
	}
	o.changed = true
	made := *of
	made.Kind = kind
	return made.With(of.Left, of.Right).(*logical.Join)
}

// presentIn returns the columns of an input of a node with whose NULL a row has no part in what stands above the node.
func presentIn(n, in logical.Node, present ids) ids {
	below := ids{}
	switch of := n.(type) {
	case *logical.Filter:
		maps.Copy(below, present)
		maps.Copy(below, rejected(of.Condition))
	case *logical.Sort:
		return present
	case *logical.Project:
		for i, c := range of.Columns() {
			if present[c.ID] {
				maps.Copy(below, nullsOf(of.Exprs[i]))
			}
		}
	case *logical.Aggregate:
		for _, k := range of.Keys {
			if of.Sets == nil && present[k.Column.ID] {
				below[k.Of] = true
			}
		}
	case *logical.Union:
		at := slices.Index(of.In, in)
		for i, c := range of.Columns() {
			if present[c.ID] {
				below[of.Of[at][i]] = true
			}
		}
	case *logical.Join:
		for _, c := range in.Columns() {
			if present[c.ID] && (of.Nearest == nil || in == of.Left) { // a row that is left out may be the nearest one
				below[c.ID] = true
			}
		}
		if in == of.Left && of.Kind.KeepsLeft() || in == of.Right && of.Kind.KeepsRight() {
			return below
		}
		maps.Copy(below, matched(of))
	}
	return below
}

// matched returns the columns of both sides of a join with whose NULL a row has no partner.
func matched(of *logical.Join) ids {
	set := ids{}
	for _, k := range of.Keys {
		if !k.NullsEqual {
			maps.Copy(set, nullsOf(k.Left))
			maps.Copy(set, nullsOf(k.Right))
		}
	}
	if of.Condition != nil && of.Nearest == nil {
		maps.Copy(set, rejected(of.Condition))
	}
	return set
}

// withoutPartners returns the ANTI join that a condition makes of a LEFT join: a column that is NULL in no pair must be
// NULL. Nothing else may read the columns of the right side.
func (o *outer) withoutPartners(f *logical.Filter) logical.Node {
	join, ok := f.In.(*logical.Join)
	if !ok || join.Kind != sql.LeftJoin || join.Nearest != nil {
		return f
	}
	notNull := matched(join)
	for _, c := range join.Right.Columns() {
		if c.Stats.NoNulls || !c.Nullable {
			notNull[c.ID] = true
		}
	}
	isWithout := func(x *expr.Expr) bool {
		if x.Op != expr.OpCall || x.Name != "is null" || x.Args[0].Op != expr.OpColumn {
			return false
		}
		id := x.Args[0].ID
		return notNull[id] && logical.PlaceOf(join.Right, id) >= 0
	}
	without, rest := divided(f.Condition, isWithout)
	if without == nil || o.readsElsewhere(join, f, rest) {
		return f
	}
	o.changed = true
	anti := *join
	anti.Kind = sql.AntiJoin
	return filtered(anti.With(join.Left, join.Right), rest)
}

// readsElsewhere says whether anything but a join and the filter over it reads columns of the join's right side, the
// rest of the filter's condition included.
func (o *outer) readsElsewhere(join *logical.Join, f *logical.Filter, rest *expr.Expr) bool {
	read := all(o.root)
	if rest != nil {
		read.add(rest)
	}
	var add func(n logical.Node)
	add = func(n logical.Node) {
		if n == logical.Node(join) {
			return
		}
		if n != logical.Node(f) {
			read.addReads(n)
		}
		for _, in := range n.Inputs() {
			add(in)
		}
	}
	add(o.root)
	return slices.ContainsFunc(join.Right.Columns(), func(c logical.Column) bool { return read[c.ID] })
}

// askedOfPartners returns what the rows of the left side have passed on keys, as conditions on the right side's keys;
// nil of nothing that the right side has not passed. A row of the right side that does not pass has no partner.
func askedOfPartners(of *logical.Join) (asked *expr.Expr) {
	for _, k := range of.Keys {
		if k.NullsEqual || k.Left.Op != expr.OpColumn || k.Right.Op != expr.OpColumn {
			continue
		}
		left := of.Left.Columns()[logical.PlaceOf(of.Left, k.Left.ID)]
		right := of.Right.Columns()[logical.PlaceOf(of.Right, k.Right.ID)]
		if !arrow.TypeEqual(left.Type, right.Type) {
			continue
		}
		passed := passedOn(of.Right, k.Right.ID)
		for _, x := range passedOn(of.Left, k.Left.ID) {
			x = replaced(x, func(expr.ID) *expr.Expr { return k.Right })
			if !slices.ContainsFunc(passed, func(p *expr.Expr) bool { return p.Key() == x.Key() }) {
				asked = expr.Conjunction(asked, x)
			}
		}
	}
	return asked
}

// passedOn returns conditions that all rows of a node have passed, and that compare a column with constants.
func passedOn(n logical.Node, id expr.ID) (list []*expr.Expr) {
	switch of := n.(type) {
	case *logical.Filter:
		for _, x := range expr.Conjuncts(nil, of.Condition) {
			if len(x.Columns()) > 0 && compares(x) && readsOnly(x, func(of expr.ID) bool { return of == id }) {
				list = append(list, x)
			}
		}
		return append(list, passedOn(of.In, id)...)
	case *logical.Project:
		x := of.Exprs[logical.PlaceOf(of, id)]
		if x.Op != expr.OpColumn {
			return nil
		}
		as := of.Columns()[logical.PlaceOf(of, id)].Expr()
		for _, passed := range passedOn(of.In, x.ID) {
			list = append(list, replaced(passed, func(expr.ID) *expr.Expr { return as }))
		}
	case *logical.Join:
		if logical.PlaceOf(of.Left, id) >= 0 && !of.Kind.KeepsRight() {
			return passedOn(of.Left, id)
		}
		if logical.PlaceOf(of.Right, id) >= 0 && !of.Kind.KeepsLeft() {
			return passedOn(of.Right, id)
		}
	}
	return list
}

// strict are the operators that are NULL where an argument is NULL.
var strict = []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "not", "like"}

// nullsOf returns columns with whose NULL an expression is NULL.
func nullsOf(x *expr.Expr) ids {
	set := ids{}
	switch {
	case x.Op == expr.OpColumn:
		set[x.ID] = true
	case x.Op == expr.OpCast, x.Op == expr.OpCall && (x.Name == "in" || x.Name == "between"):
		return nullsOf(x.Args[0])
	case x.Op == expr.OpCall && slices.Contains(strict, x.Name):
		for _, arg := range x.Args {
			maps.Copy(set, nullsOf(arg))
		}
	}
	return set
}

// rejected returns columns with whose NULL a condition is not TRUE.
func rejected(x *expr.Expr) ids {
	switch {
	case x.Op != expr.OpCall:
	case x.Name == "is not null":
		return nullsOf(x.Args[0])
	case x.Name == "not" && x.Args[0].Op == expr.OpCall && x.Args[0].Name == "is null":
		return nullsOf(x.Args[0].Args[0])
	case x.Name == "and":
		set := ids{}
		for _, arg := range x.Args {
			maps.Copy(set, rejected(arg))
		}
		return set
	case x.Name == "or":
		set := rejected(x.Args[0])
		for _, arg := range x.Args[1:] {
			of := rejected(arg)
			maps.DeleteFunc(set, func(id expr.ID, _ bool) bool { return !of[id] })
		}
		return set
	}
	return nullsOf(x)
}
