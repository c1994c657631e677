package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

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
	x := of.Exprs[logical.PlaceOf(of, sort.Keys[0].Column)]
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
