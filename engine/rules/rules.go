// Package rules rewrites trees of logical nodes. A rule changes the way to an answer, and no answer: a
// test runs random statements with random sets of rules. Each rule has a file, whose head says why the
// rule pays, and a plan with it and without in engine/plan/testdata/plans/rules.
package rules

import (
	"context"
	"slices"

	"github.com/mpga/mpga/engine/logical"
)

// Name is the name of a rule, as EXPLAIN shows it.
type Name string

// The rules.
const (
	MergeDerived   Name = "merge derived tables"
	Domains        Name = "domains of subqueries"
	JoinOrder      Name = "order of joins"
	JoinConditions Name = "conditions of joins"
	OuterJoins     Name = "outer joins"
	PruneColumns   Name = "prune columns"
	PushFilters    Name = "push filters"
	FilterLists    Name = "filter lists"
	DependentKeys  Name = "dependent keys"
	ShiftedSums    Name = "shifted sums"
	DistinctApart  Name = "distinct values apart"
	DistinctGroups Name = "distinct values as groups"
	Extremes       Name = "extremes of statistics"
	FinestFirst    Name = "finest grouping set first"
	LargestCounts  Name = "largest counts"
	FirstRows      Name = "first rows"
	PartitionRows  Name = "first rows of partitions"
	LateColumns    Name = "late columns"
	EagerGroups    Name = "groups below joins"

	SharedStatements Name = "shared statements"
)

// rewrite rewrites a tree. changed says whether the tree is another one.
type rewrite func(c *Context, root logical.Node) (made logical.Node, changed bool, err error)

// rule is a rewrite with a name.
type rule struct {
	name  Name
	apply rewrite
}

// list has all rules, in the order in which they are used: what a rule leaves out makes room for those
// behind it.
var list = []rule{
	{MergeDerived, mergeDerived},
	{Domains, everywhere(domains)},
	{JoinConditions, joinConditions},
	{OuterJoins, outerJoins},
	{PushFilters, pushFilters},
	{JoinOrder, joinOrder},
	{PruneColumns, pruneColumns},
	{PushFilters, pushFilters}, // again: windows that nobody asked for are gone
	{FilterLists, everywhere(filterLists)},
	{DependentKeys, everywhere(dependentKeys)},
	{ShiftedSums, everywhere(shiftedSums)},
	{DistinctApart, everywhere(distinctApart)},
	{DistinctGroups, everywhere(distinctGroups)},
	{Extremes, everywhere(extremes)},
	{FinestFirst, everywhere(finestFirst)},
	{EagerGroups, everywhere(groupsBelowJoins)},
	{LargestCounts, everywhere(largestCounts)},
	{FirstRows, everywhere(firstRows)},
	{LateColumns, everywhere(lateColumns)},
	{PartitionRows, everywhere(firstOfPartitions)},
}

// Names returns the names of all rules, in the order in which they are used.
func Names() []Name {
	names := make([]Name, 0, len(list)+1)
	for _, r := range list {
		names = with(names, r.name)
	}
	return with(names, SharedStatements)
}

// with adds names to a list that it does not have.
func with(list []Name, names ...Name) []Name {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Context is what rules know beside the tree.
type Context struct {
	context.Context
	IDs     *logical.IDs // for new columns
	Without []Name       // rules that are not used

	// OnDevices says whether devices alone make the groups of an aggregation, which is not rewritten.
	OnDevices func(*logical.Aggregate) (bool, error)

	bodies int // that rules have made
}

// Apply rewrites a tree by the rules, and returns the names of the rules that were used.
func Apply(c *Context, root logical.Node) (logical.Node, []Name, error) {
	root, used, err := applyAll(c, root)
	if err != nil || !hasShared(root) {
		return root, used, err
	}
	root, ofBodies, err := sharedStatements(c, root)
	return root, with(used, ofBodies...), err
}

// applyAll rewrites a statement, and no statement of WITH that it reads.
func applyAll(c *Context, root logical.Node) (logical.Node, []Name, error) {
	var used []Name
	root, changed, err := equalIntervals(c, root)
	if err != nil {
		return nil, nil, err
	}
	if changed {
		root = collapse(root)
	}
	for _, r := range list {
		if slices.Contains(c.Without, r.name) {
			continue
		}
		made, changed, err := r.apply(c, root)
		if err != nil {
			return nil, nil, err
		}
		if changed {
			used, root = with(used, r.name), collapse(made)
		}
	}
	return root, used, nil
}

// everywhere applies a function to all nodes, inputs first. The function returns nil for a node that it
// leaves as it is.
func everywhere(f func(*Context, logical.Node) (logical.Node, error)) rewrite {
	var apply rewrite
	apply = func(c *Context, n logical.Node) (logical.Node, bool, error) {
		n, changed, err := eachInput(n, func(in logical.Node) (logical.Node, bool, error) { return apply(c, in) })
		if err != nil {
			return nil, false, err
		}
		made, err := f(c, n)
		if err != nil || made == nil {
			return n, changed, err
		}
		return made, true, nil
	}
	return apply
}

// eachInput applies a function to the inputs of a node.
func eachInput(n logical.Node, f func(logical.Node) (logical.Node, bool, error)) (logical.Node, bool, error) {
	var made []logical.Node // nil while no input has changed
	inputs := n.Inputs()
	for i, in := range inputs {
		of, changed, err := f(in)
		if err != nil {
			return nil, false, err
		}
		if changed {
			if made == nil {
				made = slices.Clone(inputs)
			}
			made[i] = of
		}
	}
	if made == nil {
		return n, false, nil
	}
	return n.With(made...), true, nil
}
