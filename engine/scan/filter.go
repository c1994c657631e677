package scan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Filter returns a source of the rows of src that a predicate needs: without a RowFilter, all rows for
// which it may be TRUE; with one, those for which it is TRUE, and only those. Rows keep their order, and
// their positions the order of those of src.
//
// Of what Open returns, files are left out by their folders, and row groups and pages of Parquet by their
// statistics, Bloom filters, dictionaries and page indexes; the last three are read here. Columns that
// the RowFilter does not need are read where it has found rows. Rows of other sources are filtered as
// they are read.
func Filter(ctx context.Context, src Source, p Predicate) (Filtered, error) {
	if err := p.Validate(src.Schema()); err != nil {
		return nil, err
	}
	t, ok := src.(*table)
	if !ok {
		rows := src.Stats().Rows
		return &filteredSource{Source: src, test: newCondition(p, src.Schema()), pruning: Pruning{Rows: rows}}, nil
	}
	f := &filteredTable{table: t, test: newCondition(p, t.fields), files: make([]filePlan, len(t.files))}
	return f, f.prune(ctx)
}

// condition is a predicate of a source, its terms in the units of the source's columns.
type condition struct {
	schema *arrow.Schema
	terms  *predicate.Conjunction
	filter RowFilter       // nil: all rows are needed
	rows   *decode.RowTest // runs filter
}

func newCondition(p Predicate, schema *arrow.Schema) *condition {
	return &condition{schema: schema, terms: bindPredicate(&p, schema), filter: p.Rows, rows: &decode.RowTest{Filter: p.Rows}}
}

// columns returns those that the filter needs.
func (t *condition) columns() []int {
	if t.filter == nil {
		return nil
	}
	return t.filter.Columns()
}

// fill adds what has been counted.
func (t *condition) fill(p Pruning) Pruning {
	p.RowsTested, p.RowsKept = t.rows.Tested.Load(), t.rows.Kept.Load()
	p.BytesPassed = t.rows.Passed.Load()
	return p
}

// stats returns what holds for the rows that pass.
func (t *condition) stats(s Stats) Stats {
	if t.filter == nil {
		return s
	}
	if s.Rows != 0 {
		s.Rows = -1
	}
	if s.Columns == nil {
		s.Columns = make([]decode.ColumnStats, t.schema.NumFields())
	}
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].Tight = false
	}
	narrowStats(s.Columns, t.terms.Terms, t.schema)
	return s
}

// filteredSource filters the rows of any source as they are read.
type filteredSource struct {
	Source
	test    *condition
	pruning Pruning
}

// Stats implements Source.
func (f *filteredSource) Stats() Stats { return f.test.stats(f.Source.Stats()) }

// Pruning implements Filtered.
func (f *filteredSource) Pruning() Pruning { return f.test.fill(f.pruning) }

// Splits implements Source.
func (f *filteredSource) Splits(ctx context.Context, columns []int) ([]Split, error) {
	all, wanted, tested := unite(columns, f.test.columns())
	splits, err := f.Source.Splits(ctx, all)
	if err != nil || f.test.filter == nil {
		return splits, err
	}
	for i, s := range splits {
		splits[i] = newFilteredSplit(s, f.test.rows, f.Schema(), columns, wanted, tested)
	}
	return splits, nil
}

// unite returns the columns of two lists, each once but for those that the first repeats, and where
// those of each list are among them.
func unite(a, b []int) (all, ofA, ofB []int) {
	all = slices.Clone(a)
	for i := range a {
		ofA = append(ofA, i)
	}
	for _, c := range b {
		at := slices.Index(all, c)
		if at < 0 {
			at = len(all)
			all = append(all, c)
		}
		ofB = append(ofB, at)
	}
	return all, ofA, ofB
}
