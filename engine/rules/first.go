package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// firstRowsMax bounds the rows of FirstRows, which stay in memory.
const firstRowsMax = 1 << 14

// ordered returns the parts of the first rows of an order of columns; nil where a node is none.
func ordered(n logical.Node) (*logical.Limit, *logical.Sort, *logical.Project) {
	limit, ok := n.(*logical.Limit)
	if !ok || !limit.Limited {
		return nil, nil, nil
	}
	sort, ok := limit.In.(*logical.Sort)
	if !ok {
		return nil, nil, nil
	}
	of, ok := sort.In.(*logical.Project)
	if !ok {
		return nil, nil, nil
	}
	return limit, sort, of
}

// Of rows in an order that is limited, the rows behind those found so far are left out where they are
// read. Expressions that may give an error are evaluated for all rows, so they stay.
func firstRows(c *Context, n logical.Node) (logical.Node, error) {
	limit, sort, of := ordered(n)
	if limit == nil || limit.Wanted() > firstRowsMax || of.Groups() != nil {
		return nil, nil
	}
	p, err := expr.BindTo(c, logical.ColumnsOf(of.In), of.Exprs...)
	if err != nil || p.Fallible() {
		return nil, err
	}
	wanted := *limit
	wanted.In = nil
	return &logical.First{In: of, Keys: sort.Keys, Limit: wanted}, nil
}

// lateShare is the least number of rows of a table for each row that is wanted for which columns are read
// late: else most pages would be read anyway.
const lateShare = 16

// The columns that a limited order and the condition do not need are read in the end, of the rows of the
// result, by their positions.
func lateColumns(_ *Context, n logical.Node) (logical.Node, error) {
	first, ok := n.(*logical.First)
	if !ok || first.Late {
		return nil, nil
	}
	tested := ids{} // columns that are read of all rows
	in := first.In.In
	if f, ok := in.(*logical.Filter); ok {
		tested.add(f.Condition)
		in = f.In
	}
	table, ok := in.(*logical.Scan)
	if !ok {
		return nil, nil
	}
	for _, k := range first.Keys {
		at := slices.IndexFunc(first.In.Columns(), func(c logical.Column) bool { return c.ID == k.Column })
		tested.add(first.In.Exprs[at])
	}
	_, finds := scan.WithPositions(table.Source, "")
	untested := slices.ContainsFunc(first.In.Exprs, func(x *expr.Expr) bool {
		return !readsOnly(x, func(id expr.ID) bool { return tested[id] })
	})
	if !finds || !untested || table.Source.Stats().Rows/lateShare < first.Limit.Wanted() {
		return nil, nil
	}
	made := *first
	made.Late = true
	return &made, nil
}

// mostGroups bounds the groups that the engine chooses by their counts.
const mostGroups = 256

// Of groups in the order of a count, from the largest on, the engine makes only the groups with the
// largest counts.
func largestCounts(_ *Context, n logical.Node) (logical.Node, error) {
	limit, sort, of := ordered(n)
	if limit == nil || limit.Wanted() < 1 || max(limit.Limit, limit.Offset) > mostGroups || !sort.Keys[0].Descending {
		return nil, nil
	}
	groups, ok := of.In.(*logical.Aggregate)
	if !ok || groups.Sets != nil {
		return nil, nil
	}
	at := slices.IndexFunc(of.Columns(), func(c logical.Column) bool { return c.ID == sort.Keys[0].Column })
	x := of.Exprs[at]
	count := slices.IndexFunc(groups.Calls, func(c logical.Call) bool {
		f := c.Function.Func
		return x.Op == expr.OpColumn && c.Column.ID == x.ID && (f == query.CountStar || f == query.Count)
	})
	if count < 0 {
		return nil, nil
	}
	made := *groups
	made.Most = &logical.Most{N: int(limit.Wanted()), Count: count, Ties: len(sort.Keys) > 1}
	return limit.With(sort.With(of.With(&made))), nil
}
