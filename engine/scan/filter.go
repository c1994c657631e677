package scan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Filter returns a source of the rows of src that a predicate needs: without a RowFilter, all rows
// for which the predicate may be TRUE; with a RowFilter, exactly the rows for which it is TRUE.
// Rows keep their order, and so do their positions.
//
// Of the sources of dataset.Open, files are left out by their folders, and row groups and pages of
// Parquet by their statistics, Bloom filters, dictionaries and page indexes; the last three are
// read here. Columns that the RowFilter does not need are read where it has found rows. Rows of
// other sources are filtered as they are read.
func Filter(ctx context.Context, src Source, p Predicate) (Filtered, error) {
	schema := src.Schema()
	if err := p.Validate(schema); err != nil {
		return nil, err
	}
	terms := bindPredicate(&p, schema)
	test := &condition{schema: schema, asked: []*Predicate{&p}, terms: terms, held: *terms,
		rows: &decode.RowTest{Filter: p.Rows}}
	if l, ok := src.(*listed); ok {
		return l.filter(ctx, test)
	}
	t, ok := src.(*table)
	if !ok {
		return &filteredSource{Source: src, test: test, pruning: Pruning{Rows: src.Stats().Rows}}, nil
	}
	return newFilteredTable(ctx, t, test)
}

// Refilter returns f for another reading, with counts of its own: nothing is pruned again, and rows,
// which may be nil, takes the place of f's RowFilter. src is the source that f filters; of a source that
// is no table of files it may be another one with the same columns.
func Refilter(f Filtered, src Source, rows RowFilter) Filtered {
	switch f := f.(type) {
	case *filteredTable:
		again := *f
		again.test = f.test.asking(rows)
		return &again
	case *filteredSource:
		return &filteredSource{Source: src, test: f.test.asking(rows), pruning: f.pruning}
	}
	panic(fmt.Sprintf("scan: %T is no result of Filter", f))
}

// condition is a predicate of a source, its terms in the units of the source's columns.
type condition struct {
	schema *arrow.Schema // of the source
	asked  []*Predicate  // whose terms are terms
	terms  *predicate.Conjunction
	held   predicate.Conjunction // of terms: TRUE for every row that passes, where others may not be
	rows   *decode.RowTest       // runs the RowFilter, and counts rows
}

// of returns the terms in the units of the columns of a file, where these are others.
func (t *condition) of(f *tableFile) *predicate.Conjunction {
	if !f.differs {
		return t.terms
	}
	all := &predicate.Conjunction{}
	for _, p := range t.asked {
		own := bindPredicate(p.in(t.schema, f.own), f.own)
		all.Terms, all.AnyOf = append(all.Terms, own.Terms...), append(all.AnyOf, own.AnyOf...)
	}
	return all
}

// asking returns the condition with another RowFilter, and without counts.
func (t *condition) asking(rows RowFilter) *condition {
	again := *t
	again.rows = &decode.RowTest{Filter: rows}
	return &again
}

// fill adds the rows and bytes that have been counted.
func (t *condition) fill(p Pruning) Pruning {
	p.RowsTested, p.RowsKept = t.rows.Tested.Load(), t.rows.Kept.Load()
	p.BytesPassed = t.rows.Passed.Load()
	return p
}

// stats returns the statistics of the rows that pass, from the statistics of all rows.
func (t *condition) stats(s Stats) Stats {
	if t.rows.All() {
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
	narrowStats(s.Columns, t.held.Terms, t.schema)
	for _, alternatives := range t.held.AnyOf {
		narrowToAny(s.Columns, alternatives, t.schema)
	}
	return s
}

// narrowToAny is narrowStats of alternatives, one of them for each row.
func narrowToAny(columns []ColumnStats, alternatives [][]predicate.Term, schema *arrow.Schema) {
	var all []ColumnStats // of the rows of any alternative so far
	for _, terms := range alternatives {
		of := slices.Clone(columns)
		narrowStats(of, terms, schema)
		if all == nil {
			all = of
			continue
		}
		for i := range all {
			a, b := &all[i], &of[i]
			a.NoNulls, a.HasRange = a.NoNulls && b.NoNulls, a.HasRange && b.HasRange
			a.Min, a.Max = min(a.Min, b.Min), max(a.Max, b.Max)
		}
	}
	copy(columns, all)
}

// narrowStats adds to the statistics of columns that the terms hold for every row: a compared
// column has no NULL, and its values are in the range that its terms leave. Ranges pack keys.
func narrowStats(columns []ColumnStats, terms []predicate.Term, schema *arrow.Schema) {
	for i := range terms {
		t := &terms[i]
		if t.Is == predicate.IsNull {
			continue
		}
		c := &columns[t.Column]
		c.NoNulls = true
		low, high, ok := c.Min, c.Max, c.HasRange
		if !ok {
			low, high, ok = TypeRange(schema.Field(t.Column).Type)
		}
		if low, high = t.Narrow(low, high); ok && low <= high && t.Compares() {
			c.HasRange, c.Min, c.Max = true, low, high
		}
	}
}

// TypeRange returns the range of a type whose columns may have a range in ColumnStats: not uint64.
func TypeRange(t arrow.DataType) (low, high int64, ok bool) {
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32:
		return 0, 1<<t.(arrow.FixedWidthDataType).BitWidth() - 1, true
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.DATE32, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		unused := 64 - t.(arrow.FixedWidthDataType).BitWidth()
		return math.MinInt64 >> unused, math.MaxInt64 >> unused, true
	}
	return 0, 0, false
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
	all, wanted, tested := unite(columns, f.test.rows.Columns())
	splits, err := f.Source.Splits(ctx, all)
	if err != nil || f.test.rows.All() {
		return splits, err
	}
	for i, s := range splits {
		splits[i] = newFilteredSplit(s, f.test, columns, wanted, tested)
	}
	return splits, nil
}

// unite returns the columns of two lists, each once unless the first list repeats it, and the place
// of each column of a and of b among them.
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
