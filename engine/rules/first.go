package rules

import (
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// firstRowsMax bounds the first rows that are looked for while rows are read: they stay in memory.
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
	if err != nil || p.Fallible(nil) {
		return nil, err
	}
	wanted := *limit
	wanted.In = nil
	return &logical.First{In: of, Keys: sort.Keys, Limit: wanted}, nil
}
