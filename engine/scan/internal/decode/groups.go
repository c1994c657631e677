package decode

import (
	"context"
	"runtime"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/spawn"
)

// PruneReason is a scan.PruneReason.
type PruneReason uint8

// The reasons of package scan.
const (
	_ PruneReason = iota // folders, of which decoders do not know
	PrunedByStatistics
	PrunedByBloomFilter
	PrunedByDictionary
	PrunedByPageIndex
)

// Grouped is an input with row groups, some of which may be left out.
type Grouped interface {
	Input

	GroupCount() int
	GroupRows(group int) int64

	// Prune says what of each row group is needed for rows of which all terms may be TRUE. The terms are about columns
	// of the input.
	Prune(c *predicate.Conjunction) []GroupPlan

	// Ask reads what the input knows of the row groups that are left, to prune more of them, on goroutines of workers.
	Ask(ctx context.Context, c *predicate.Conjunction, groups []GroupPlan, workers *spawn.Group)

	// StatsOf returns the statistics of what is left of the row groups.
	StatsOf(groups []GroupPlan) Stats
}

// GroupPart is a row group of such an input.
type GroupPart interface {
	Part

	GroupIndex() int

	// SetFilter leaves out rows.
	SetFilter(f *GroupFilter)
}

// Askers is how many files are open at once to be asked, at least: they mostly wait.
const Askers = 8

// NewAskers returns the group of goroutines for grouped.ask.
func NewAskers(ctx context.Context) (*spawn.Group, context.Context) {
	workers, ctx := spawn.WithContext(ctx)
	workers.SetLimit(max(Askers, runtime.GOMAXPROCS(0)))
	return workers, ctx
}

// GroupPlan says what of a row group is to be read.
type GroupPlan struct {
	Pruned bool
	Reason PruneReason // where pruned
	Ranges []RowRange  // that may be needed, or nil of all rows; some at least
	Pages  int64       // pruned, of the columns that the terms are about
	Asked  int64       // bytes read to find out
}

// Rows returns how many of a row group's rows may be needed.
func (g *GroupPlan) Rows(of int64) int64 {
	switch {
	case g.Pruned:
		return 0
	case g.Ranges == nil:
		return of
	}
	return CountRows(g.Ranges)
}

// RowRange is the rows from from to to of a row group.
type RowRange struct{ From, To int64 }

// Intersect returns the rows that are in both lists; both are in order, and so is what it returns.
func Intersect(a, b []RowRange) (both []RowRange) {
	for len(a) > 0 && len(b) > 0 {
		if from, to := max(a[0].From, b[0].From), min(a[0].To, b[0].To); from < to {
			both = append(both, RowRange{From: from, To: to})
		}
		if a[0].To < b[0].To {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

func CountRows(ranges []RowRange) (rows int64) {
	for _, r := range ranges {
		rows += r.To - r.From
	}
	return rows
}

// GroupFilter says which rows of a row group are needed, and of which columns. Columns are numbered as
// those of the part.
type GroupFilter struct {
	Test   *RowTest
	Ranges []RowRange // that may be needed; nil: all
	Wanted []int
	Tested []int
	Plan   *delivery.Plan // of the tested columns' batches
}

// Rows returns how many of the group's rows are read, or -1.
func (f *GroupFilter) Rows(of int64) int64 {
	switch {
	case f == nil:
		return of
	case !f.Test.All():
		return -1
	}
	return CountRows(f.Ranges)
}
