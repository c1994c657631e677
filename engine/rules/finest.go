package rules

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/logical"
)

// Grouping sets are made of the groups by all keys, where a set has all of them and the aggregates
// merge: rows become few before they are multiplied, and the groups are the answer for this set.
func finestFirst(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Sets == nil || of.Again || of.Expanded != 0 || of.Deterministic || len(of.Keys) == 0 {
		return nil, nil
	}
	finest := slices.IndexFunc(of.Sets, func(set []bool) bool { return !slices.Contains(set, false) })
	if finest < 0 {
		return nil, nil
	}
	s, ok := splitOf(c, of, nil)
	if !ok {
		return nil, nil
	}
	s.first.Sets, s.first.Set = nil, logical.Column{}
	s.last.Answered = finest
	first, last, err := s.typed()
	if err != nil {
		return nil, err
	}
	types := slices.DeleteFunc(slices.Clone(last.Columns()), func(c logical.Column) bool { return c.ID == of.Set.ID })
	for i, c := range first.Columns() {
		if !arrow.TypeEqual(types[i].Type, c.Type) { // the groups' columns are no columns of the answer
			last.Answered = -1
		}
	}
	return projected(c, last, of.Columns(), s.computed)
}
