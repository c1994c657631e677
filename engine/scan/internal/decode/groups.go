package decode

import (
	"context"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/spawn"
)

// PruneReason is a scan.PruneReason.
type PruneReason uint8

// The reasons of package scan.
const (
	_ PruneReason = iota // folders; decoders do not know of them
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

	// KeptRows is GroupRows without the rows that a table has deleted.
	KeptRows(group int) int64

	// Prune says which row groups may have rows for which all terms are TRUE. The terms are about
	// columns of the input.
	Prune(c *predicate.Conjunction) []GroupPlan

	// BoundsOf returns what is known of a column of the input in a row group.
	BoundsOf(group, column int) predicate.Bounds

	// Ask prunes by Bloom filters, dictionaries and page indexes, which goroutines of workers read.
	Ask(ctx context.Context, c *predicate.Conjunction, groups []GroupPlan, workers *spawn.Group)

	// StatsOf returns the statistics of the rows of the row groups that are left.
	StatsOf(groups []GroupPlan) Stats
}

// GroupPart is a row group of a Grouped input.
type GroupPart interface {
	Part

	GroupIndex() int

	// RowsInFile returns how many rows there are, whatever the filter.
	RowsInFile() int64

	// SetFilter leaves out rows.
	SetFilter(f *GroupFilter)

	// ReadsLate says whether a column is better read for the rows alone that pass what needs no such
	// column.
	ReadsLate(column int) bool
}

// Askers is how many goroutines ask files at the same time, at least: they mostly wait.
const Askers = 8

// GroupPlan says which rows of a row group are to be read.
type GroupPlan struct {
	Pruned bool        // no row is
	Reason PruneReason // where Pruned
	Ranges []RowRange  // rows that may be needed, not empty where not Pruned; nil: all
	Pages  int64       // that are pruned, of the columns that the terms are about
	Asked  int64       // bytes that were read to plan
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

// Intersect returns the rows that are in both lists, which are in order, as the result is.
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

// CountRows returns how many rows ranges have together.
func CountRows(ranges []RowRange) (rows int64) {
	for _, r := range ranges {
		rows += r.To - r.From
	}
	return rows
}

// GroupFilter says which rows of a row group are needed, and of which columns. Columns are numbered
// as the columns of the part.
type GroupFilter struct {
	Test   *RowTest
	Ranges []RowRange    // rows that may be needed; nil: all
	Wanted []int         // columns of the batches
	Stages []FilterStage // of Test: a row passes that passes all
	Ended  func() bool   // says that no row passes any more; nil: that is not known
}

// FilterStage is a part of a filter, asked of the rows that pass the parts before.
type FilterStage struct {
	Filter rowFilter
	Tested []int          // columns that Filter needs
	Plan   *delivery.Plan // of the batches of Tested
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
