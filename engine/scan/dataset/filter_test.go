package dataset

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/recordreader"
)

// What is pruned and filtered is what is filtered of all rows, whatever the types, the terms and
// the way in which the files were written. Pruning alone loses no row that the terms hold for.
func TestFilterRandom(t *testing.T) {
	rng := scantest.NewRand(t)
	types := scantest.FilterTypes()
	var pruned scan.PrunedBy
	files, filters := 8, 50
	if testing.Short() {
		files, filters = 3, invariants.Fewer(20, 8)
	}
	for range files {
		rows := 1 + rng.IntN(3000)
		batch := scantest.RandomTable(rng, types, rows)
		dir := t.TempDir()
		var paths []string
		cut := int64(rng.IntN(rows))
		for i, part := range []arrow.RecordBatch{batch.NewSlice(0, cut), batch.NewSlice(cut, int64(rows))} {
			opts := scantest.RandomWriter(rng, len(types))
			paths = append(paths, scantest.WriteFile(t, dir, fmt.Sprintf("%d.parquet", i), scantest.EncodeParquet(t, int64(1+rng.IntN(1500)), []arrow.RecordBatch{part}, opts...)))
		}
		src := mustOpen(t, Options{}, paths...)
		for range filters {
			var terms []scantest.TestTerm
			for range 1 + rng.IntN(3) {
				terms = append(terms, scantest.RandomTerm(t, rng, types))
			}
			checkFilter(t, rng, src, []arrow.RecordBatch{batch}, scantest.NewTestFilter(terms), &pruned)
		}
	}
	for r, by := range pruned {
		t.Logf("%s: %+v", scan.PruneReason(r), by)
	}
}

// checkFilter compares filtered sources with a filter over all rows, which batches have. The last
// column tells rows apart.
func checkFilter(t *testing.T, rng *rand.Rand, src scan.Source, all []arrow.RecordBatch, filter *scantest.TestFilter, sum *scan.PrunedBy) {
	t.Helper()
	id := len(scantest.AllColumns(src.Schema())) - 1
	columns := []int{id}
	for range rng.IntN(4) {
		columns = append(columns, rng.IntN(id+1))
	}
	rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	whole, err := scantest.ReadAll(src, columns, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, wanted := []string{}, map[string]bool{}
	for _, batch := range all {
		bits := make([]byte, batch.NumRows()/8+1)
		if _, err := filter.Select(context.Background(), recordreader.Project(batch, filter.Tested), bits); err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			if bitutil.BitIsSet(bits, i) {
				want, wanted[whole[i]] = append(want, whole[i]), true
			}
		}
		whole = whole[batch.NumRows():]
	}
	opt := scan.OpenOptions{BatchRows: 1 + rng.IntN(700), Borrow: scantest.Lend(rng.IntN(2))}
	for _, exact := range []bool{true, false} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		opt.Allocator = mem
		filtered, err := scan.Filter(context.Background(), src, filter.Predicate(exact))
		if err != nil {
			t.Fatal(err)
		}
		got, err := scantest.ReadAll(filtered, columns, opt)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		if exact {
			checkStats(t, filtered, all, filter)
		}
		p := filtered.Pruning()
		if stats := filtered.Stats(); !exact && stats.Rows != int64(len(got)) || exact && stats.Rows > 0 || exact && p.RowsKept != int64(len(got)) {
			t.Errorf("%s: %d rows, %d of %d kept, where the statistics promise %d", filter, len(got), p.RowsKept, p.RowsTested, stats.Rows)
		}
		if !exact {
			for r, by := range p.By {
				s := &sum[r]
				s.Files, s.RowGroups, s.Pages, s.Rows = s.Files+by.Files, s.RowGroups+by.RowGroups, s.Pages+by.Pages, s.Rows+by.Rows
			}
			if left := p.Left(); left != int64(len(got)) {
				t.Errorf("%s: %d of %d rows are said to be left, %d are", filter, left, p.Rows, len(got))
			}
			got = slices.DeleteFunc(got, func(row string) bool { return !wanted[row] })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, exact %t: got %d rows, want %d\n%.300q\n%.300q", filter, exact, len(got), len(want), got, want)
		}
		mem.AssertSize(t, 0)
	}
}

// checkStats compares what a filtered source promises of its columns with the rows that the filter
// keeps.
func checkStats(t *testing.T, src scan.Source, all []arrow.RecordBatch, filter *scantest.TestFilter) {
	t.Helper()
	stats := src.Stats()
	for _, batch := range all {
		bits := make([]byte, batch.NumRows()/8+1)
		if _, err := filter.Select(context.Background(), recordreader.Project(batch, filter.Tested), bits); err != nil {
			t.Fatal(err)
		}
		for c, known := range stats.Columns {
			_, _, nanos := predicate.FamilyOf(src.Schema().Field(c).Type)
			low, high := big.NewRat(known.Min, 1), big.NewRat(known.Max, 1)
			if nanos > 0 {
				low.Mul(low, big.NewRat(nanos, 1))
				high.Mul(high, big.NewRat(nanos, 1))
			}
			for i := range int(batch.NumRows()) {
				if !bitutil.BitIsSet(bits, i) || !known.NoNulls && !known.HasRange {
					continue
				}
				v, ok := scantest.ExactOf(batch.Column(c), i)
				if known.NoNulls && !ok || ok && known.HasRange && (v.Rat.Cmp(low) < 0 || v.Rat.Cmp(high) > 0) {
					t.Fatalf("%s, column %d, row %d: %s, where the statistics promise %+v", filter, c, i, batch.Column(c).ValueStr(i), known)
				}
			}
		}
	}
}

// Files of other writers, with what they know: pages with statistics of each type, Bloom filters,
// values that only one of them stores so. The constants are values of the file.
func TestFilterFiles(t *testing.T) {
	paths, err := filepath.Glob("../parquet/testdata/*_filter_*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	rng := scantest.NewRand(t)
	filters := 80
	if testing.Short() {
		filters = invariants.Fewer(20, 5)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var sum scan.PrunedBy
			batches := readPlain(t, path)
			src := mustOpen(t, Options{}, path)
			for range filters {
				checkFilter(t, rng, src, batches, scantest.NewTestFilter([]scantest.TestTerm{sampledTerm(t, rng, batches), sampledTerm(t, rng, batches)}), &sum)
			}
			for r, by := range sum {
				t.Logf("%s: %+v", scan.PruneReason(r), by)
			}
		})
	}
}

// readPlain reads a Parquet file by arrow-go: no dictionaries, no views.
func readPlain(t *testing.T, path string) (batches []arrow.RecordBatch) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	arrowReader, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := arrowReader.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rows := array.NewTableReader(table, 1000)
	for rows.Next() {
		batch := rows.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	return batches
}

// sampledTerm returns a term on any column but the last, whose constants are values of the column.
func sampledTerm(t *testing.T, rng *rand.Rand, batches []arrow.RecordBatch) scantest.TestTerm {
	t.Helper()
	c := rng.IntN(int(batches[0].NumCols()) - 1)
	op := scan.Op(rng.IntN(int(scan.OpIsNotNull) + 1))
	constants := 1
	switch op {
	case scan.OpIn:
		constants = 1 + rng.IntN(4)
	case scan.OpIsNull, scan.OpIsNotNull:
		constants = 0
	}
	values := []arrow.Array{array.NewSlice(batches[0].Column(c), 0, 0)}
	for range constants {
		from := batches[rng.IntN(len(batches))].Column(c)
		row := rng.Int64N(int64(from.Len()))
		values = append(values, array.NewSlice(from, row, row+1))
	}
	all, err := array.Concatenate(values, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return scantest.NewTerm(t, c, op, all)
}
