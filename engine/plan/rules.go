package plan

import "strings"

// Rule is a rewrite of a statement, which changes no answer.
type Rule string

// The rules. Each is a function that finds out whether it applies, and plans so.
const (
	// A derived table without groups and without an order is a part of the statement around it: its
	// rows are read, filtered and computed at once.
	MergeDerived Rule = "merge derived tables"

	// What nobody asks of a derived table is not computed: neither columns nor aggregates.
	PruneColumns Rule = "prune columns"

	// A condition on the keys of a derived table is asked of the rows that it reads, whose files, row
	// groups and pages it may leave out.
	PushFilters Rule = "push filters"

	// A condition on columns beside a list leaves out rows before the list's elements become rows.
	FilterLists Rule = "filter lists"

	// Keys that follow from other keys are computed of the groups: keys are packed, hashed and
	// compared for each row.
	DependentKeys Rule = "dependent keys"

	// sum(c + n) is sum(c) + n * count(c): nothing is computed for a row.
	ShiftedSums Rule = "shifted sums"

	// The least and the greatest values of a table may be in its statistics: no row is read.
	Extremes Rule = "extremes of statistics"

	// Aggregates of distinct values are aggregates of groups by these values: a set for each group
	// takes ten times as long, and is not written to disk.
	DistinctGroups Rule = "distinct values as groups"

	// Grouping sets are made of the groups by all keys, which are few: rows are not multiplied.
	FinestFirst Rule = "finest grouping set first"

	// Of rows in an order that is limited, those behind the rows found so far are left out where they
	// are read.
	FirstRows Rule = "first rows"

	// The columns that such an order does not need are read in the end, of the rows of the result.
	LateColumns Rule = "late columns"

	// Of groups in the order of a count, the engine makes only those with the largest counts.
	LargestCounts Rule = "largest counts"
)

// Rules are all rules, in the order in which they are tried.
var Rules = []Rule{
	MergeDerived, FilterLists, DependentKeys, ShiftedSums, DistinctGroups, Extremes, FinestFirst, FirstRows, LateColumns,
	LargestCounts, PruneColumns, PushFilters,
}

// oneStepRules make two steps of an aggregation, or none: Options.OneStep goes without them.
var oneStepRules = []Rule{ShiftedSums, DistinctGroups, Extremes}

// rewrites are the rules of a statement: which may be used, and which were.
type rewrites struct {
	off, fired map[Rule]bool
}

func newRewrites(opt *Options) *rewrites {
	r := &rewrites{off: map[Rule]bool{}, fired: map[Rule]bool{}}
	for _, rule := range opt.Without {
		r.off[rule] = true
	}
	if opt.OneStep {
		for _, rule := range oneStepRules {
			r.off[rule] = true
		}
	}
	return r
}

// allows says whether a rule may be used.
func (r *rewrites) allows(rule Rule) bool { return !r.off[rule] }

// note notes that a rule was used, and returns whether it was.
func (r *rewrites) note(rule Rule, used bool) bool {
	if used {
		r.fired[rule] = true
	}
	return used
}

// String lists the rules that were used.
func (r *rewrites) String() string {
	var used []string
	for _, rule := range Rules {
		if r.fired[rule] {
			used = append(used, string(rule))
		}
	}
	return strings.Join(used, ", ")
}
