package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// Aggregates of distinct values, and modes, are aggregates of groups by the keys and by these values: such groups
// take a tenth of the time that a set of values for each group takes, and can be written to disk.
// Devices count the values of each group in less time than they group twice.
func distinctGroups(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok {
		return nil, nil
	}
	distinct := groupedFirst(of)
	isMode := func(c logical.Call) bool { return !c.Distinct && c.Function.Func == query.Mode }
	if distinct == nil || slices.ContainsFunc(of.Calls, isMode) && !hasFewGroups(of) {
		return nil, nil
	}
	if of.Sets == nil {
		if alone, err := c.OnDevices(of); alone || err != nil {
			return nil, err
		}
	}
	s, ok := splitOf(c, of, distinct)
	if !ok {
		return nil, nil
	}
	s.first.Again = true
	if of.Sets != nil {
		s.first.Set = logical.SetColumn(c.IDs, of.Set.Name, len(of.Sets))
		s.last.Expanded = s.first.Set.ID
	}
	return s.whole(c, of)
}

// groupedFirst returns the arguments of the aggregates of distinct values, where groups of the keys and
// of these columns can be made first. It returns nil where two such aggregates have other arguments, or
// where another aggregate over the groups would not be what it is over the rows.
func groupedFirst(of *logical.Aggregate) (distinct []expr.ID) {
	if of.Deterministic {
		return nil
	}
	for _, c := range of.Calls {
		values := valuesOf(&c)
		switch f := c.Function.Func; {
		case values != nil && distinct == nil:
			distinct = values
		case values != nil:
			if !slices.Equal(values, distinct) {
				return nil
			}
		case f == query.CountStar, f == query.Count:
		case f == query.Sum, f == query.Avg: // sums of parts may pass bounds that the whole keeps
			if !isNarrow(of.In, c.Args[0]) {
				return nil
			}
		case !slices.Contains(merging, f):
			return nil
		}
	}
	return distinct
}

// valuesOf returns the arguments of a function for which it is enough to know each value once, with its number of
// rows and its first row; nil of others.
func valuesOf(c *logical.Call) []expr.ID {
	if c.Distinct || c.Function.Func == query.Mode && len(c.Order) == 0 {
		return c.Args
	}
	return nil
}
