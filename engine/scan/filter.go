package scan

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
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
		return &filteredSource{Source: src, test: newRowTest(p, src.Schema()), pruning: Pruning{Rows: rows}}, nil
	}
	f := &filteredTable{table: t, test: newRowTest(p, t.fields), files: make([]filePlan, len(t.files))}
	return f, f.prune(ctx)
}

// rowTest is a predicate of a source, and what its RowFilter has done so far.
type rowTest struct {
	schema *arrow.Schema
	terms  *conjunction
	filter RowFilter // nil: all rows are needed
	counts readCounts
}

// readCounts are those of Pruning that grow while rows are read.
type readCounts struct{ tested, kept, bytes atomic.Int64 }

func newRowTest(p Predicate, schema *arrow.Schema) *rowTest {
	return &rowTest{schema: schema, terms: bindPredicate(&p, schema), filter: p.Rows}
}

// columns returns those that the filter needs.
func (t *rowTest) columns() []int {
	if t.filter == nil {
		return nil
	}
	return t.filter.Columns()
}

// fill adds what has been counted.
func (t *rowTest) fill(p Pruning) Pruning {
	p.RowsTested, p.RowsKept = t.counts.tested.Load(), t.counts.kept.Load()
	p.BytesPassed = t.counts.bytes.Load()
	return p
}

// stats returns what holds for the rows that pass.
func (t *rowTest) stats(s Stats) Stats {
	if t.filter == nil {
		return s
	}
	if s.Rows != 0 {
		s.Rows = -1
	}
	if s.Columns == nil {
		s.Columns = make([]ColumnStats, t.schema.NumFields())
	}
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].Tight = false
	}
	narrowStats(s.Columns, t.terms.terms, t.schema)
	return s
}

// selection runs a filter over one batch after the other.
type selection struct {
	test *rowTest
	rows rowSet // of the batch, that pass
	some rowSet
}

// run finds the rows of a batch of the filter's columns that pass, and returns how many they are.
func (s *selection) run(ctx context.Context, batch arrow.RecordBatch) (int, error) {
	s.rows.reset(int(batch.NumRows()))
	if _, err := s.test.filter.Select(ctx, batch, s.rows.bytes()); err != nil {
		return 0, fmt.Errorf("the filter: %w", err)
	}
	s.rows.recount()
	s.test.counts.tested.Add(int64(s.rows.rows))
	s.test.counts.kept.Add(int64(s.rows.count))
	return s.rows.count, nil
}

// retract forgets the rows of the batch, those from one row on as if they had never been tested.
func (s *selection) retract(from int) {
	if from < s.rows.rows {
		s.some.part(&s.rows, from, s.rows.rows)
		s.test.counts.tested.Add(-int64(s.some.rows))
		s.test.counts.kept.Add(-int64(s.some.count))
	}
	s.rows.reset(0)
}

// between returns the rows that pass from one row on, counted from there. They are valid until the next call.
func (s *selection) between(from, to int) *rowSet {
	s.some.part(&s.rows, from, to)
	return &s.some
}

// filteredSource filters the rows of any source as they are read.
type filteredSource struct {
	Source
	test    *rowTest
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
		splits[i] = newFilteredSplit(s, f.test, f.Schema(), columns, wanted, tested)
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
