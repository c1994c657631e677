package rules

import (
	"context"
	"maps"
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// What nobody asks of a derived table is not computed: neither columns nor aggregates.
func pruneColumns(_ *Context, root logical.Node) (logical.Node, bool, error) {
	n, changed := pruned(root, all(root))
	return n, changed, nil
}

// ids is a set of columns.
type ids map[expr.ID]bool

// all returns all columns of a node.
func all(n logical.Node) ids {
	set := ids{}
	for _, c := range n.Columns() {
		set[c.ID] = true
	}
	return set
}

// add adds the columns that an expression reads.
func (s ids) add(x *expr.Expr) { x.IDs(func(id expr.ID) { s[id] = true }) }

// pruned returns a node that makes some columns, and perhaps others.
func pruned(n logical.Node, asked ids) (logical.Node, bool) {
	changed := false
	below := ids{}
	switch of := n.(type) {
	case *logical.Project:
		kept := of.Only(func(c logical.Column) bool { return asked[c.ID] })
		if len(kept.Exprs) == 0 && len(of.Exprs) > 0 { // rows are counted by a column
			first := of.Columns()[cheapest(of.Exprs)].ID
			kept = of.Only(func(c logical.Column) bool { return c.ID == first })
		}
		if changed = len(kept.Exprs) < len(of.Exprs); changed {
			n = kept
		}
		for _, x := range kept.Exprs {
			below.add(x)
		}
	case *logical.Aggregate:
		made := *of
		made.Calls = slices.DeleteFunc(slices.Clone(of.Calls), func(c logical.Call) bool { return !asked[c.Column.ID] })
		if len(made.Calls) == 0 && len(of.Keys) == 0 {
			made.Calls = of.Calls[:1]
		}
		if len(made.Calls) < len(of.Calls) {
			if typed, err := made.Typed(); err == nil { // of fewer calls than have types
				n, changed = typed, true
			}
		}
		below = inputs(n.(*logical.Aggregate))
	case *logical.Shared:
		first := of.Columns()[0].ID // rows are counted by a column
		if slices.ContainsFunc(of.Columns(), func(c logical.Column) bool { return asked[c.ID] }) {
			first = 0
		}
		kept := of.Only(func(c logical.Column) bool { return asked[c.ID] || c.ID == first })
		return kept, len(kept.Of) < len(of.Of)
	case *logical.Union:
		n, changed = prunedUnion(of, asked, below)
	case *logical.Window:
		made := prunedWindow(of, asked, below)
		if made == nil {
			in, _ := pruned(of.In, asked)
			return in, true
		}
		n, changed = made, len(made.Calls) < len(of.Calls)
	case *logical.Summary, *logical.Explain, *logical.Recursion:
		for _, in := range n.Inputs() {
			maps.Copy(below, all(in))
		}
	default:
		maps.Copy(below, asked)
		addRead(n, below)
	}
	n, inner, _ := eachInput(n, func(in logical.Node) (logical.Node, bool, error) {
		in, changed := pruned(in, below)
		switch n.(type) {
		case *logical.Join, *logical.Window: // which keep rows with all of their columns
			var cut bool
			in, cut = narrowed(in, below)
			changed = changed || cut
		}
		return in, changed, nil
	})
	return n, changed || inner
}

// addReads adds the columns that a node reads itself.
func (s ids) addReads(n logical.Node) {
	switch of := n.(type) {
	case *logical.Project:
		for _, x := range of.Exprs {
			s.add(x)
		}
	case *logical.Aggregate:
		maps.Copy(s, inputs(of))
	case *logical.Union:
		for _, columns := range of.Of {
			for _, id := range columns {
				s[id] = true
			}
		}
	case *logical.Window:
		for _, id := range of.Reads() {
			s[id] = true
		}
	case *logical.Summary, *logical.Explain, *logical.Recursion:
		for _, in := range n.Inputs() {
			maps.Copy(s, all(in))
		}
	default:
		addRead(n, s)
	}
}

// ColumnsRead returns, by table, the places of the columns that a statement reads, ascending.
func ColumnsRead(root logical.Node) map[scan.Source][]int {
	read, seen := all(root), map[*logical.Body]bool{}
	var tables []*logical.Scan
	var visit func(n logical.Node)
	visit = func(n logical.Node) {
		read.addReads(n)
		inputs := n.Inputs()
		switch of := n.(type) {
		case *logical.Scan:
			tables = append(tables, of)
		case *logical.Shared:
			for _, id := range of.Of {
				read[id] = true
			}
			if !seen[of.Body] {
				seen[of.Body], inputs = true, []logical.Node{of.Body.Root}
			}
		case *logical.Recursion:
			maps.Copy(read, all(of.Step))
			inputs = []logical.Node{of.Anchor, of.Step}
		}
		for _, in := range inputs {
			visit(in)
		}
	}
	visit(root)
	places := map[scan.Source][]int{}
	for _, t := range tables {
		list := places[t.Source]
		for i, c := range t.Columns() {
			if read[c.ID] && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
		slices.Sort(list)
		places[t.Source] = list
	}
	return places
}

// addRead adds the columns that a node with its input's columns reads itself.
func addRead(n logical.Node, below ids) {
	switch of := n.(type) {
	case *logical.Filter:
		below.add(of.Condition)
	case *logical.Sort:
		for _, k := range of.Keys {
			below[k.Column] = true
		}
	case *logical.Unnest:
		below[of.List] = true
	case *logical.Repeat:
		below[of.Times] = true
	case *logical.Join:
		for _, k := range of.Keys {
			below.add(k.Left)
			below.add(k.Right)
		}
		if of.Nearest != nil {
			below.add(of.Nearest.Left)
			below.add(of.Nearest.Right)
		}
		if of.Condition != nil {
			below.add(of.Condition)
		}
	}
}

// prunedWindow returns a window with the functions that are asked for, and notes the columns of its input that are
// read; nil where none is asked for.
func prunedWindow(n *logical.Window, asked, below ids) *logical.Window {
	made := n.Only(func(c logical.Column) bool { return asked[c.ID] })
	if len(made.Calls) == 0 {
		return nil
	}
	maps.Copy(below, asked)
	for _, id := range made.Reads() {
		below[id] = true
	}
	return made
}

// prunedUnion returns a union with the columns that are asked for, and notes the columns of its inputs that have the
// values.
func prunedUnion(n *logical.Union, asked, below ids) (*logical.Union, bool) {
	first := n.Columns()[0].ID // rows are counted by a column
	isAsked := func(c logical.Column) bool { return asked[c.ID] }
	if slices.ContainsFunc(n.Columns(), isAsked) {
		first = 0
	}
	made := n.Only(func(c logical.Column) bool { return isAsked(c) || c.ID == first })
	for _, columns := range made.Of {
		for _, id := range columns {
			below[id] = true
		}
	}
	return made, len(made.Columns()) < len(n.Columns())
}

// narrowed returns a side of a join without the columns that nobody asks for: its rows are kept with all of their
// columns.
func narrowed(n logical.Node, asked ids) (logical.Node, bool) {
	unasked := func(c logical.Column) bool { return !asked[c.ID] }
	if _, ok := n.(*logical.Project); ok || !slices.ContainsFunc(n.Columns(), unasked) {
		return n, false
	}
	made, err := projectedTo(context.Background(), n, asked)
	if err != nil {
		return n, false // the columns have been bound
	}
	return made, true
}

// projectedTo returns a node with some of its columns alone.
func projectedTo(ctx context.Context, n logical.Node, asked ids) (logical.Node, error) {
	var columns []logical.Column
	var exprs []*expr.Expr
	for _, c := range n.Columns() {
		if asked[c.ID] {
			columns, exprs = append(columns, c), append(exprs, c.Expr())
		}
	}
	return logical.NewProject(ctx, n, columns, exprs)
}

// inputs returns the columns that an aggregation reads.
func inputs(n *logical.Aggregate) ids {
	set := ids{}
	for _, k := range n.Keys {
		set[k.Of] = true
	}
	for _, c := range n.Calls {
		for _, id := range c.Args {
			set[id] = true
		}
		for _, k := range c.Order {
			set[k.Column] = true
		}
	}
	return set
}

// cheapest returns the place of an expression that costs least: a column, if there is one.
func cheapest(exprs []*expr.Expr) int {
	return max(0, slices.IndexFunc(exprs, func(x *expr.Expr) bool { return x.Op == expr.OpColumn }))
}
