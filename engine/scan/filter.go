package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	p.Terms = slices.Clone(p.Terms)
	t, ok := src.(*table)
	if !ok {
		rows := src.Stats().Rows
		return &filteredSource{Source: src, test: newRowTest(p.Rows), pruning: Pruning{Rows: rows}}, nil
	}
	f := &filteredTable{table: t, test: newRowTest(p.Rows), files: make([]filePlan, len(t.files))}
	return f, f.prune(ctx, p.Terms)
}

// rowTest is a RowFilter and what it has done so far.
type rowTest struct {
	filter RowFilter // nil: all rows are needed
	counts readCounts
}

// readCounts are those of Pruning that grow while rows are read.
type readCounts struct{ tested, kept, bytes atomic.Int64 }

func newRowTest(filter RowFilter) *rowTest { return &rowTest{filter: filter} }

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
	if t.filter != nil && s.Rows != 0 {
		s.Rows = -1
	}
	return s
}

// selection runs a filter over one batch after the other.
type selection struct {
	test *rowTest
	bits []byte
	rows []int32
}

// run returns how many rows of a batch of the filter's columns pass; their bits are then set.
func (s *selection) run(ctx context.Context, batch arrow.RecordBatch) (int, error) {
	n := int(batch.NumRows())
	size := (n + 7) / 8
	s.bits = slices.Grow(s.bits[:0], size)[:size]
	clear(s.bits)
	kept, err := s.test.filter.Select(ctx, batch, s.bits)
	if err != nil {
		return 0, fmt.Errorf("the filter: %w", err)
	}
	s.test.counts.tested.Add(int64(n))
	s.test.counts.kept.Add(int64(kept))
	return kept, nil
}

// between returns the numbers of the rows that pass from one row on, counted from there.
func (s *selection) between(from, to int) []int32 {
	s.rows = appendSelected(s.rows[:0], s.bits, from, to)
	return s.rows
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

// filteredTable is a table without the files, row groups and pages that no term is TRUE for.
type filteredTable struct {
	*table
	test    *rowTest
	files   []filePlan // as table.files
	pruning Pruning

	statsOnce sync.Once
	known     Stats
}

// filePlan says what of a file is to be read.
type filePlan struct {
	pruned bool
	groups []groupPlan // of a Parquet file; nil of others
}

func (f *filteredTable) prune(ctx context.Context, terms []Term) error {
	bound := bindTerms(terms, f.fields)
	workers, askCtx := newAskers(ctx)
	for i := range f.files {
		own, pruned := f.fileTerms(i, bound)
		f.files[i].pruned = pruned
		if p, ok := f.table.files[i].input.(*parquetFile); ok && !pruned {
			f.files[i].groups = p.prune(own)
			p.ask(askCtx, own, f.files[i].groups, workers)
		}
	}
	err := errors.Join(workers.Wait(), ctx.Err())
	f.count()
	return err
}

// fileTerms returns the terms on columns of a file, in whose schema they are counted, and whether those
// on folders exclude the file.
func (f *filteredTable) fileTerms(file int, terms []boundTerm) (own []boundTerm, pruned bool) {
	fileColumns := f.fields.NumFields() - len(f.hive)
	for _, t := range terms {
		if t.column < fileColumns {
			t.column = f.table.files[file].columns[t.column]
			own = append(own, t)
			continue
		}
		if b := f.hive[t.column-fileColumns].bounds(file); t.excludes(&b) {
			return nil, true
		}
	}
	return own, false
}

// bounds returns what the folders of a file say of the column.
func (c *hiveColumn) bounds(file int) bounds {
	v := value{}
	switch of := c.values[file].(type) {
	case nil:
		return bounds{allNulls: true}
	case int64:
		v = value{family: numberFamily, integer: of}
	case arrow.Date32:
		v = value{family: momentFamily, integer: int64(of)}
	case string:
		v = value{family: bytesFamily, bytes: []byte(of)}
	}
	return bounds{low: &v, high: &v, exact: true, noNulls: true}
}

// count adds up what is pruned.
func (f *filteredTable) count() {
	p := &f.pruning
	p.Files = int64(len(f.files))
	for i := range f.files {
		input, plan := f.table.files[i].input, &f.files[i]
		rows := input.stats().Rows
		p.Rows = addKnown(p.Rows, rows)
		file, isParquet := input.(*parquetFile)
		if isParquet {
			p.RowGroups += int64(len(file.meta.RowGroups))
		}
		if plan.pruned {
			by := &p.By[PrunedByFolder]
			by.Files++
			by.Rows += max(rows, 0)
			if isParquet {
				by.RowGroups += int64(len(file.meta.RowGroups))
			}
			continue
		}
		left := false
		for g := range plan.groups {
			of := &plan.groups[g]
			rows := file.meta.RowGroup(g).NumRows()
			p.BytesAsked += of.asked
			p.By[PrunedByPageIndex].Pages += of.pages
			left = left || !of.pruned
			if of.pruned {
				p.By[of.reason].RowGroups++
				p.By[of.reason].Rows += rows
			} else {
				p.By[PrunedByPageIndex].Rows += rows - of.rows(rows)
			}
		}
		if isParquet && !left && len(plan.groups) > 0 {
			plan.pruned = true
			p.By[plan.groups[0].reason].Files++
		}
	}
}

// Pruning implements Filtered.
func (f *filteredTable) Pruning() Pruning { return f.test.fill(f.pruning) }

// Stats implements Source.
func (f *filteredTable) Stats() Stats {
	f.statsOnce.Do(func() {
		var left []int
		for i := range f.files {
			if !f.files[i].pruned {
				left = append(left, i)
			}
		}
		f.known = f.test.stats(f.mergeFiles(left, func(i int) Stats {
			if p, ok := f.table.files[i].input.(*parquetFile); ok {
				return p.statsOf(f.files[i].groups)
			}
			return f.table.files[i].stats()
		}))
	})
	return f.known
}

// Splits implements Source.
func (f *filteredTable) Splits(ctx context.Context, columns []int) ([]Split, error) {
	all, wanted, tested := unite(columns, f.test.columns())
	if err := f.checkColumns(all); err != nil {
		return nil, err
	}
	var splits []Split
	for i := range f.files {
		if f.files[i].pruned {
			continue
		}
		of, err := f.fileSplits(ctx, i, all)
		if err != nil {
			return nil, err
		}
		for _, s := range of {
			part, isGroup := s.part.(*parquetPart)
			switch {
			case isGroup && f.files[i].groups[part.group].pruned:
				continue
			case isGroup:
				s.filterGroup(f.test, &f.files[i].groups[part.group], wanted, tested)
				splits = append(splits, s)
			case f.test.filter != nil:
				splits = append(splits, newFilteredSplit(s, f.test, f.fields, columns, wanted, tested))
			default:
				splits = append(splits, s)
			}
		}
	}
	return splits, nil
}
