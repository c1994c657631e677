package scan

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/spawn"
)

// filteredTable is a table without the files, row groups and pages that its terms exclude.
type filteredTable struct {
	*table
	test    *condition
	files   []filePlan // as table.files
	pruning Pruning
	stats   func() Stats // merges the statistics of the files that are left, once
}

// filePlan says which row groups of a file are to be read.
type filePlan struct {
	pruned bool               // none is
	groups []decode.GroupPlan // of a file with row groups; nil of others
}

func newFilteredTable(ctx context.Context, t *table, test *condition) (*filteredTable, error) {
	f := &filteredTable{table: t, test: test, files: make([]filePlan, len(t.files))}
	f.stats = sync.OnceValue(func() Stats { return f.test.stats(f.mergeFiles(f.fileStats)) })
	workers, askCtx := spawn.WithContext(ctx)
	workers.SetLimit(max(decode.Askers, runtime.GOMAXPROCS(0)))
	for i := range f.files {
		own, pruned := f.fileTerms(i)
		f.files[i].pruned = pruned
		if p, ok := f.table.files[i].Input.(decode.Grouped); ok && !pruned {
			f.files[i].groups = p.Prune(own)
			p.Ask(askCtx, own, f.files[i].groups, workers)
		}
	}
	err := errors.Join(workers.Wait(), ctx.Err())
	f.count()
	return f, err
}

// fileTerms returns the terms on columns of a file, numbered as in the file's schema, and whether
// the terms on folders, or on columns of NULLs alone, exclude the file.
func (f *filteredTable) fileTerms(file int) (own *predicate.Conjunction, pruned bool) {
	own = &predicate.Conjunction{}
	terms := f.test.of(&f.table.files[file])
	if own.Terms, pruned = f.ownTerms(file, terms.Terms); pruned {
		return nil, true
	}
	for _, alternatives := range terms.AnyOf {
		var left [][]predicate.Term
		all := false // an alternative is TRUE for all rows of this file, as far as its columns go
		for _, terms := range alternatives {
			if terms, pruned := f.ownTerms(file, terms); !pruned {
				left = append(left, terms)
				all = all || len(terms) == 0
			}
		}
		switch {
		case len(left) == 0:
			return nil, true
		case !all:
			own.AnyOf = append(own.AnyOf, left)
		}
	}
	return own, false
}

// ownTerms returns the terms on columns of a file, and whether another of the terms excludes it.
func (f *filteredTable) ownTerms(file int, terms []predicate.Term) (own []predicate.Term, pruned bool) {
	for _, t := range terms {
		var b predicate.Bounds
		switch in := &f.table.files[file]; {
		case t.Column == f.rowNumber():
			continue
		case t.Column >= f.fileColumns:
			b = f.folders[t.Column-f.fileColumns].Bounds(file)
		case !in.lacks(t.Column):
			t.Column = in.columns[t.Column]
			own = append(own, t)
			continue
		default:
			b = decode.BoundsOf(in.constants[t.Column])
		}
		if t.Excludes(&b) {
			return nil, true
		}
	}
	return own, false
}

// count adds up the files, row groups, pages and rows that are pruned.
func (f *filteredTable) count() {
	p := &f.pruning
	p.Files = int64(len(f.files))
	for i := range f.files {
		input, plan := f.table.files[i].Input, &f.files[i]
		file, isGrouped := input.(decode.Grouped)
		var rows, groups int64
		if isGrouped {
			rows, groups = file.Stats().Rows, int64(file.GroupCount())
		} else {
			rows = input.Stats().Rows
		}
		p.Rows = decode.AddKnown(p.Rows, rows)
		p.RowGroups += groups
		if plan.pruned {
			by := &p.By[PrunedByFolder]
			by.Files++
			by.Rows += max(rows, 0)
			by.RowGroups += groups
			continue
		}
		left := false
		for g := range plan.groups {
			of := &plan.groups[g]
			rows := file.KeptRows(g)
			p.BytesAsked += of.Asked
			p.By[PrunedByPageIndex].Pages += of.Pages
			left = left || !of.Pruned
			if of.Pruned {
				p.By[of.Reason].RowGroups++
				p.By[of.Reason].Rows += rows
			} else {
				p.By[PrunedByPageIndex].Rows += rows - of.Rows(rows)
			}
		}
		if !left && len(plan.groups) > 0 {
			plan.pruned = true
			p.By[plan.groups[0].Reason].Files++
		}
	}
}

// Pruning implements Filtered.
func (f *filteredTable) Pruning() Pruning { return f.test.fill(f.pruning) }

// Stats implements Source.
func (f *filteredTable) Stats() Stats { return f.stats() }

// fileStats returns the statistics of the row groups of a file that are left; false where none is.
func (f *filteredTable) fileStats(file int) (decode.Stats, bool) {
	plan, input := &f.files[file], f.table.files[file].Input
	if plan.pruned {
		return decode.Stats{}, false
	}
	if p, ok := input.(decode.Grouped); ok {
		return p.StatsOf(plan.groups), true
	}
	return input.Stats(), true
}

// Splits implements Source.
func (f *filteredTable) Splits(ctx context.Context, columns []int) ([]Split, error) {
	all, wanted, tested := unite(columns, f.test.rows.Columns())
	if err := f.checkColumns(all); err != nil {
		return nil, err
	}
	var splits []Split
	var leads []*learned // by split
	for i := range f.files {
		if f.files[i].pruned {
			continue
		}
		of, err := f.fileSplits(ctx, i, all)
		if err != nil {
			return nil, err
		}
		for _, s := range of {
			part, isGroup := s.part.(decode.GroupPart)
			var lead *learned
			switch {
			case isGroup && f.files[i].groups[part.GroupIndex()].Pruned:
				continue
			case isGroup && slices.Contains(f.test.rows.Columns(), f.rowNumber()): // it is known once rows are read
				s.filterGroup(part, &decode.RowTest{}, &f.files[i].groups[part.GroupIndex()], all, numbersTo(len(all)), nil)
				splits = append(splits, newFilteredSplit(s, f.test, columns, wanted, tested))
			case isGroup:
				lead = f.learned(i, part.GroupIndex())
				s.filterGroup(part, f.test.rows, &f.files[i].groups[part.GroupIndex()], all, wanted, lead.ended())
				splits = append(splits, s)
			case !f.test.rows.All():
				splits = append(splits, newFilteredSplit(s, f.test, columns, wanted, tested))
			default:
				splits = append(splits, s)
			}
			leads = append(leads, lead)
		}
	}
	byPromise(splits, leads)
	return splits, nil
}

// numbersTo returns the numbers below n.
func numbersTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// filterGroup makes a row group's split return the rows that are needed. The split has the columns
// all of the source, and returns the wanted columns, which are places in all.
func (s *split) filterGroup(part decode.GroupPart, test *decode.RowTest, of *decode.GroupPlan, all, wanted []int,
	ended func() bool,
) {
	if test.All() && of.Ranges == nil {
		return
	}
	f := &decode.GroupFilter{Test: test, Ranges: of.Ranges, Ended: ended}
	for _, filter := range s.stages(part, test, all) {
		_, _, tested := unite(all, filter.Columns())
		stage := decode.FilterStage{Filter: filter}
		stage.Plan, stage.Tested = s.plan.Some(tested)
		f.Stages = append(f.Stages, stage)
	}
	_, _, tested := unite(all, test.Columns())
	s.filter = &rowsOfGroup{test: test, plan: s.plan, wanted: wanted, tested: tested, ranges: of.Ranges}
	s.plan, f.Wanted = s.plan.Some(wanted)
	part.SetFilter(f)
}

// stages returns the filters of a test in the order in which they are run. A filter is divided where it needs columns
// that the row group reads late, and others.
func (s *split) stages(part decode.GroupPart, test *decode.RowTest, all []int) []RowFilter {
	if test.All() {
		return nil
	}
	var late []int
	_, _, tested := unite(all, test.Columns())
	for _, k := range tested {
		if c := &s.plan.Columns[k]; !c.Constant && part.ReadsLate(c.From) {
			late = append(late, all[k])
		}
	}
	var early, behind []RowFilter
	for _, f := range filtersOf(test.Filter) {
		first, rest := divided(f, late)
		early, behind = append(early, filtersOf(first)...), append(behind, filtersOf(rest)...)
	}
	return append(byRank(early), byRank(behind)...)
}

// byRank puts the filters that leave least first, behind filters without a rank.
func byRank(filters []RowFilter) []RowFilter {
	leaves := make([]float64, len(filters)) // as counted now: others count meanwhile
	order := make([]int, len(filters))
	for i, f := range filters {
		leaves[i], order[i] = leavesOf(f), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(leaves[i], leaves[j]) })
	ranked := make([]RowFilter, len(filters))
	for i, from := range order {
		ranked[i] = filters[from]
	}
	return ranked
}
