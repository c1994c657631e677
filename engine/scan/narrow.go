package scan

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/recordreader"
)

// Narrower is a Source that can leave rows out that a predicate excludes.
type Narrower interface {
	Source

	// Narrow returns the source for a reading in which rows may be missing for which the predicate is not TRUE. ok
	// is false where none would be missing.
	Narrow(ctx context.Context, p Predicate) (narrowed Source, ok bool, err error)
}

// Narrow returns src for a reading in which rows may be missing for which a predicate is not TRUE: it becomes known
// once the statement runs, from the rows of another table. The files of a table leave out row groups and pages by
// their statistics, and read other columns for the remaining rows alone.
func Narrow(ctx context.Context, src Source, p Predicate) (narrowed Source, ok bool, err error) {
	if s, is := src.(Narrower); is {
		return s.Narrow(ctx, p)
	}
	return src, false, nil
}

// On returns the predicate for another source, whose column by each column of the present source is given; -1 is none.
// ok is false where a column has no other.
func (p Predicate) On(column func(int) int) (of Predicate, ok bool) {
	ok = true
	other := func(c int) int {
		c = column(c)
		ok = ok && c >= 0
		return c
	}
	for _, t := range p.Terms {
		t.Column = other(t.Column)
		of.Terms = append(of.Terms, t)
	}
	if p.Rows != nil {
		rows := &placedFilter{RowFilter: p.Rows}
		for _, c := range p.Rows.Columns() {
			rows.columns = append(rows.columns, other(c))
		}
		of.Rows = rows
	}
	return of, ok && p.AnyOf == nil
}

// placedFilter is a filter of columns that have other places.
type placedFilter struct {
	RowFilter
	columns []int
}

// Columns implements RowFilter.
func (f *placedFilter) Columns() []int { return f.columns }

// Leaves implements RankedFilter.
func (f *placedFilter) Leaves() float64 { return leavesOf(f.RowFilter) }

// Narrow implements Narrower.
func (t *table) Narrow(ctx context.Context, p Predicate) (Source, bool, error) {
	none := &condition{schema: t.Schema(), terms: &predicate.Conjunction{}, rows: &decode.RowTest{}}
	all, err := newFilteredTable(ctx, t, none)
	if err != nil {
		return nil, false, err
	}
	return all.Narrow(ctx, p)
}

// Narrow implements Narrower: row groups are left out by their statistics, and nothing is read to find out more.
func (f *filteredTable) Narrow(_ context.Context, p Predicate) (Source, bool, error) {
	if err := p.Validate(f.test.schema); err != nil {
		return nil, false, err
	}
	of := *f
	of.test = f.test.and(&p)
	of.files, of.pruning = slices.Clone(f.files), Pruning{}
	for i := range of.files {
		plan := &of.files[i]
		if plan.pruned {
			continue
		}
		var own *predicate.Conjunction
		own, plan.pruned = of.fileTerms(i)
		file, ok := of.table.files[i].Input.(decode.Grouped)
		if !ok || plan.pruned {
			continue
		}
		plan.groups = slices.Clone(plan.groups)
		for g, now := range file.Prune(own) {
			if now.Pruned && !plan.groups[g].Pruned {
				now.Asked = plan.groups[g].Asked
				plan.groups[g] = now
			}
		}
	}
	of.count()
	of.stats = sync.OnceValue(func() Stats { return of.test.stats(of.mergeFiles(of.fileStats)) })
	return &of, true, nil
}

// Narrow implements Narrower: it narrows the source that is filtered.
func (f *filteredSource) Narrow(ctx context.Context, p Predicate) (Source, bool, error) {
	src, ok, err := Narrow(ctx, f.Source, p)
	if err != nil || !ok {
		return f, false, err
	}
	of := *f
	of.Source = src
	return &of, true, nil
}

// and returns the condition with another predicate.
func (t *condition) and(p *Predicate) *condition {
	more := bindPredicate(p, t.schema)
	terms := &predicate.Conjunction{
		Terms: slices.Concat(t.terms.Terms, more.Terms), AnyOf: slices.Concat(t.terms.AnyOf, more.AnyOf),
	}
	rows := p.Rows
	if !t.rows.All() {
		rows = bothOf(t.rows.Filter, rows)
	}
	return &condition{schema: t.schema, asked: append(slices.Clone(t.asked), p), terms: terms, held: t.held,
		rows: &decode.RowTest{Filter: rows}}
}

// allFilters selects the rows that pass each of some filters, in their order.
type allFilters struct {
	filters []RowFilter
	columns []int
	of      [][]int // by filter: its columns' places in columns
}

// bothOf returns the filter of the rows that pass two filters; nil is a filter that all rows pass.
func bothOf(a, b RowFilter) RowFilter {
	filters := slices.Concat(filtersOf(a), filtersOf(b))
	if len(filters) <= 1 {
		return cmp.Or(a, b)
	}
	all := &allFilters{filters: filters, of: make([][]int, len(filters))}
	for i, f := range filters {
		all.columns, _, all.of[i] = unite(all.columns, f.Columns())
	}
	return all
}

// filtersOf returns the filters whose rows a filter selects.
func filtersOf(f RowFilter) []RowFilter {
	if f == nil {
		return nil
	}
	if all, ok := f.(*allFilters); ok {
		return all.filters
	}
	return []RowFilter{f}
}

// Columns implements RowFilter.
func (f *allFilters) Columns() []int { return f.columns }

// Select implements RowFilter.
func (f *allFilters) Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (int, error) {
	rows := int(batch.NumRows())
	bits, kept := make([]byte, len(selected)), rows
	bitutil.SetBitsTo(selected, 0, int64(rows), true)
	for i, filter := range f.filters {
		if kept == 0 {
			break
		}
		clear(bits)
		part := recordreader.Project(batch, f.of[i])
		_, err := filter.Select(ctx, part, bits)
		part.Release()
		if err != nil {
			return 0, err
		}
		for i := range selected {
			selected[i] &= bits[i]
		}
		kept = bitutil.CountSetBits(selected, 0, rows)
	}
	return kept, nil
}

// divided returns the part of a filter that needs none of some columns, and the rest; either may be nil.
func divided(f RowFilter, late []int) (first, rest RowFilter) {
	if !slices.ContainsFunc(f.Columns(), func(c int) bool { return slices.Contains(late, c) }) {
		return f, nil
	}
	if of, ok := f.(DivisibleFilter); ok {
		if first, rest, ok := of.Divide(late); ok {
			return first, rest
		}
	}
	return nil, f
}
