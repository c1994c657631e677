package rules

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Keys that follow from other keys, constants and expressions over columns that are keys, are computed
// of the groups: keys are packed, hashed and compared for each row. No key follows from floats: 0.0 and
// -0.0 are one group, not one value.
func dependentKeys(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Sets != nil {
		return nil, nil
	}
	in, ok := of.In.(*logical.Project)
	if !ok {
		return nil, nil
	}
	exprs, types := map[expr.ID]*expr.Expr{}, map[expr.ID]arrow.DataType{}
	for i, c := range in.Columns() {
		exprs[c.ID], types[c.ID] = in.Exprs[i], c.Type
	}
	keys := map[expr.ID]logical.Column{} // of the groups, by the column of the rows
	for _, k := range of.Keys {
		if x := exprs[k.Of]; x.Op == expr.OpColumn && !arrow.IsFloating(rowdata.ValueType(types[k.Of]).ID()) {
			keys[x.ID] = k.Column
		}
	}
	made := *of
	made.Keys = nil
	follow := map[expr.ID]*expr.Expr{} // by the column of the groups
	for _, k := range of.Keys {
		x := exprs[k.Of]
		if x.Op == expr.OpColumn || !readsOnly(x, func(id expr.ID) bool { _, ok := keys[id]; return ok }) {
			made.Keys = append(made.Keys, k)
		} else {
			follow[k.Column.ID] = over(x, keys)
		}
	}
	if len(made.Keys) == 0 && len(of.Keys) > 0 {
		first := of.Keys[0] // an empty table has no group, not even where all keys are constants
		made.Keys = of.Keys[:1]
		delete(follow, first.Column.ID)
	}
	if len(made.Keys) == len(of.Keys) {
		return nil, nil
	}
	return rewritten(c, &made, of, in, follow)
}

// rewritten returns an aggregation that is made instead of another one, over the columns of in that it
// reads, and with the columns of the other one: as they are, or computed of its own.
func rewritten(
	c *Context, made, of *logical.Aggregate, in *logical.Project, computed map[expr.ID]*expr.Expr,
) (logical.Node, error) {
	read := inputs(made)
	made.In = in.Only(func(c logical.Column) bool { return read[c.ID] })
	typed, err := made.Typed()
	if err != nil {
		return nil, err
	}
	return projected(c, typed, of.Columns(), computed)
}
