package scan

import (
	"context"
	"runtime"

	"github.com/mpga/mpga/internal/spawn"
)

// PruneReason is the knowledge by which rows are left out unread.
type PruneReason uint8

// The reasons, in the order in which they are tried.
const (
	PrunedByFolder     PruneReason = iota // key=value folders
	PrunedByStatistics                    // of row groups
	PrunedByBloomFilter
	PrunedByDictionary
	PrunedByPageIndex
	PruneReasons = iota // how many there are
)

var reasonNames = [PruneReasons]string{"folders", "statistics", "Bloom filters", "dictionaries", "page indexes"}

func (r PruneReason) String() string { return reasonNames[r] }

// grouped is an input with row groups, some of which may be left out.
type grouped interface {
	input

	groupCount() int
	groupRows(group int) int64

	// prune says what of each row group is needed for rows of which all terms may be TRUE. The terms are about columns
	// of the input.
	prune(c *conjunction) []groupPlan

	// ask reads what the input knows of the row groups that are left, to prune more of them, on goroutines of workers.
	ask(ctx context.Context, c *conjunction, groups []groupPlan, workers *spawn.Group)

	// statsOf returns the statistics of what is left of the row groups.
	statsOf(groups []groupPlan) Stats
}

// groupPart is a row group of such an input.
type groupPart interface {
	part

	groupIndex() int

	// setFilter leaves out rows.
	setFilter(f *groupFilter)
}

// askers is how many files are open at once to be asked, at least: they mostly wait.
const askers = 8

// newAskers returns the group of goroutines for grouped.ask.
func newAskers(ctx context.Context) (*spawn.Group, context.Context) {
	workers, ctx := spawn.WithContext(ctx)
	workers.SetLimit(max(askers, runtime.GOMAXPROCS(0)))
	return workers, ctx
}

// groupPlan says what of a row group is to be read.
type groupPlan struct {
	pruned bool
	reason PruneReason // where pruned
	ranges []rowRange  // that may be needed, or nil of all rows; some at least
	pages  int64       // pruned, of the columns that the terms are about
	asked  int64       // bytes read to find out
}

// rows returns how many of a row group's rows may be needed.
func (g *groupPlan) rows(of int64) int64 {
	switch {
	case g.pruned:
		return 0
	case g.ranges == nil:
		return of
	}
	return countRows(g.ranges)
}

// rowRange is the rows from from to to of a row group.
type rowRange struct{ from, to int64 }

// intersect returns the rows that are in both lists; both are in order, and so is what it returns.
func intersect(a, b []rowRange) (both []rowRange) {
	for len(a) > 0 && len(b) > 0 {
		if from, to := max(a[0].from, b[0].from), min(a[0].to, b[0].to); from < to {
			both = append(both, rowRange{from: from, to: to})
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

func countRows(ranges []rowRange) (rows int64) {
	for _, r := range ranges {
		rows += r.to - r.from
	}
	return rows
}

// groupFilter says which rows of a row group are needed, and of which columns. Columns are numbered as
// those of the part.
type groupFilter struct {
	test   *rowTest
	ranges []rowRange // that may be needed; nil: all
	wanted []int
	tested []int
	plan   *plan // of the tested columns' batches
}

// rows returns how many of the group's rows are read, or -1.
func (f *groupFilter) rows(of int64) int64 {
	switch {
	case f == nil:
		return of
	case !f.test.all():
		return -1
	}
	return countRows(f.ranges)
}
