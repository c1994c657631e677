package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

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
		tested.add(first.In.Exprs[logical.PlaceOf(first.In, k.Column)])
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
