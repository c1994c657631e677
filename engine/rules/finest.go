package rules

import (
	"slices"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
)

// Grouping sets are made of the groups by all keys, where a set has all of them and the aggregates
// merge: rows become few before they are multiplied, and the groups are the answer for this set. Of
// the sets of a ROLLUP each is made of the groups of the set before it: no row is multiplied.
func finestFirst(c *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || of.Sets == nil || of.Again || of.Expanded != 0 || of.Deterministic || len(of.Keys) == 0 {
		return nil, nil
	}
	if haveOtherUnits(of) {
		return nil, nil
	}
	levels, rest := levelsOf(of.Sets)
	if levels == nil || slices.Contains(of.Sets[levels[0]], false) {
		return nil, nil
	}
	s, ok := splitOf(c, of, nil)
	if !ok {
		return nil, nil
	}
	s.first.Sets, s.first.Set = nil, logical.Column{}
	below, err := s.first.Typed()
	if err != nil {
		return nil, err
	}
	s.last.In, s.last.Answered = below, levels[0]
	for _, set := range levels[1:] {
		level := s.last
		level.Made, level.Again, level.Set = []int{set}, true, logical.SetColumn(c.IDs, of.Set.Name, len(of.Sets))
		level.Keys, s.last.Keys = slices.Clone(level.Keys), slices.Clone(level.Keys)
		for i := range level.Keys {
			level.Keys[i].Column.ID = c.IDs.New()
			s.last.Keys[i].Of = level.Keys[i].Column.ID
		}
		level.Calls, s.last.Calls = slices.Clone(level.Calls), slices.Clone(level.Calls)
		for i := range level.Calls {
			level.Calls[i].Column.ID = c.IDs.New()
			s.last.Calls[i].Args = []expr.ID{level.Calls[i].Column.ID}
		}
		if s.last.In, err = level.Typed(); err != nil {
			return nil, err
		}
		s.last.Answered = set
	}
	s.last.Made = rest
	last, err := s.last.Typed()
	if err != nil {
		return nil, err
	}
	return projected(c, last, of.Columns(), s.computed)
}

// haveOtherUnits says whether an aggregation has times in another unit than expressions have, which groups that are
// projected would change.
func haveOtherUnits(of *logical.Aggregate) bool {
	isRead := func(id expr.ID) bool {
		return slices.ContainsFunc(of.Keys, func(k logical.Group) bool { return k.Of == id }) ||
			slices.ContainsFunc(of.Calls, func(call logical.Call) bool { return slices.Contains(call.Args, id) })
	}
	return slices.ContainsFunc(of.In.Columns(), func(c logical.Column) bool {
		return expr.HasOtherUnit(c.Type) && isRead(c.ID)
	})
}

// levelsOf divides sets into levels and the rest, which has one set at least: a level has all keys of the levels behind
// it, and of the rest.
func levelsOf(sets [][]bool) (levels, rest []int) {
	for i := range sets {
		rest = append(rest, i)
	}
	keys := func(set int) (n int) {
		for _, has := range sets[set] {
			if has {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(rest, func(a, b int) int { return keys(b) - keys(a) })
	for len(rest) > 1 && !slices.ContainsFunc(rest[1:], func(set int) bool { return !hasAll(sets[rest[0]], sets[set]) }) {
		levels, rest = append(levels, rest[0]), rest[1:]
	}
	return levels, rest
}

// hasAll says whether a set has all keys of another.
func hasAll(set, other []bool) bool {
	for i, has := range other {
		if has && !set[i] {
			return false
		}
	}
	return true
}
