package rules

import (
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// partitionRowsMax bounds the first rows of a partition that are looked for while rows are read: of more, most rows
// stay in memory.
const partitionRowsMax = 1 << 10

// Of rows that are numbered or ranked in the order of their partition, and wanted up to a number alone, the rows behind
// these are dropped while others are read. The condition stays. It does nothing but compare, since anything else may be
// an error for a row that is dropped.
func firstOfPartitions(_ *Context, n logical.Node) (logical.Node, error) {
	f, ok := n.(*logical.Filter)
	if !ok || !compares(f.Condition) {
		return nil, nil
	}
	w, ok := f.In.(*logical.Window)
	if !ok || w.First > 0 || len(w.Calls) != 1 || len(w.Partition) == 0 {
		return nil, nil
	}
	isRank := w.Calls[0].Name == "rank"
	if !isRank && w.Calls[0].Name != "row_number" {
		return nil, nil
	}
	for _, x := range expr.Conjuncts(nil, f.Condition) {
		if most, ok := numberMost(x, w.Calls[0].Column.ID); ok && most > 0 && most <= partitionRowsMax {
			made := *w
			made.First, made.Ties = most, isRank
			return &logical.Filter{In: made.With(w.In), Condition: f.Condition}, nil
		}
	}
	return nil, nil
}

// numberMost returns the most that a column of whole numbers may be where a condition is TRUE; ok is false where it
// tells nothing.
func numberMost(x *expr.Expr, column expr.ID) (most int64, ok bool) {
	if x.Op != expr.OpCall || len(x.Args) != 2 {
		return 0, false
	}
	name, of, limit := x.Name, x.Args[0], x.Args[1]
	if mirrored, ok := map[string]string{"=": "=", ">": "<", ">=": "<="}[name]; ok && of.Op == expr.OpConstant {
		name, of, limit = mirrored, limit, of
	}
	if of.Op != expr.OpColumn || of.ID != column || limit.Op != expr.OpConstant || limit.Type.ID == expr.Decimal {
		return 0, false
	}
	most, ok = limit.Value.(int64)
	switch name {
	case "=", "<=":
		return most, ok
	case "<":
		return most - 1, ok
	}
	return 0, false
}
