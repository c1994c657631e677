package rules

import (
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// A condition on columns beside a list leaves out files, row groups and pages before the list's elements
// become rows. The rows that are left are still tested.
func filterLists(_ *Context, n logical.Node) (logical.Node, error) {
	f, ok := n.(*logical.Filter)
	if !ok {
		return nil, nil
	}
	of, ok := f.In.(*logical.Unnest)
	if !ok || of.Pruned != nil {
		return nil, nil
	}
	beside := all(of.In)
	pruned, _ := divided(f.Condition, func(x *expr.Expr) bool {
		return readsOnly(x, func(id expr.ID) bool { return beside[id] })
	})
	if pruned == nil {
		return nil, nil
	}
	made := *of
	made.Pruned = pruned
	return f.With(&made), nil
}
