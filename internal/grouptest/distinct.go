package grouptest

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// distinct returns an aggregate of distinct values as one without DISTINCT, and its arguments: the
// first row of each value, or of each pair of values as doubles. The arguments of lists are in
// order. Functions that answer with the value of one row see all rows.
func distinct(a query.Aggregate, types []arrow.DataType, xs, ys []any) (query.Aggregate, []any, []any) {
	switch a.Func {
	case query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax:
		return a, xs, ys
	case query.Count:
		a.Func = query.CountDistinct
		return a, xs, ys
	}
	seen := map[string]bool{}
	var first, second []any
	for i, x := range xs {
		key := []any{x}
		if len(types) == 2 {
			key = []any{double(x, scaleOf(types[0])), double(ys[i], scaleOf(types[1]))}
		}
		if text := keyTexts(key); !seen[text] {
			seen[text] = true
			first = append(first, x)
			if len(types) == 2 {
				second = append(second, ys[i])
			}
		}
	}
	if a.Func == query.List || a.Func == query.StringAgg {
		slices.SortFunc(first, CompareValues)
		if a.Descending {
			slices.Reverse(first)
		}
	}
	return a, first, second
}
