package dataset

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

func int64Constants(values ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func stringConstants(values ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

// A filter that keeps 1% of sorted data reads less than 5% of the file: opening it, statistics and
// indexes included.
func TestFilterBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("a count of bytes, the same under any detector and tag")
	}
	const rows = 600_000
	batch := scantest.SortedTable(rows)
	plain := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Snappy)}
	indexed := append(slices.Clone(plain), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(16<<10))
	hundredth := []scan.Term{
		scantest.NewTerm(t, 0, scan.OpGreaterOrEqual, int64Constants(rows/2)).Term,
		scantest.NewTerm(t, 0, scan.OpLess, int64Constants(rows/2+rows/100)).Term,
	}
	nobody := []scan.Term{scantest.NewTerm(t, 6, scan.OpEqual, stringConstants("key-77777")).Term} // odd
	for _, tt := range []struct {
		name      string
		groupRows int64
		opts      []parquet.WriterProperty
		terms     []scan.Term
		want      float64 // of the file
		wantRows  int64
		by        scan.PruneReason
	}{
		{"row groups", 10_000, plain, hundredth, 0.05, 0, scan.PrunedByStatistics},
		{"pages of one row group", rows, indexed, hundredth, 0.05, rows / 100, scan.PrunedByPageIndex},
		{"no row, by Bloom filters", rows / 4, append(slices.Clone(plain), parquet.WithBloomFilterEnabledFor("key", true), parquet.WithBloomFilterFPPFor("key", 0.001)),
			nobody, 0.01, 0, scan.PrunedByBloomFilter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, tt.groupRows, []arrow.RecordBatch{batch}, tt.opts...))
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			counting := faultfs.New(vfs.OS)
			filtered, err := scan.Filter(context.Background(), mustOpen(t, Options{FS: counting}, path), scan.Predicate{Terms: tt.terms})
			if err != nil {
				t.Fatal(err)
			}
			got, err := scantest.ReadAll(filtered, scantest.AllColumns(filtered.Schema()), scan.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			read := counting.BytesRead()
			t.Logf("%d of %d B read, %.2f%%; %d rows; %+v", read, info.Size(), 100*float64(read)/float64(info.Size()), len(got), filtered.Pruning())
			if float64(read) > tt.want*float64(info.Size()) {
				t.Errorf("%d of %d B read, %.2f%%", read, info.Size(), 100*float64(read)/float64(info.Size()))
			}
			if filtered.Pruning().By[tt.by].Rows == 0 {
				t.Errorf("nothing pruned by %s: %+v", tt.by, filtered.Pruning())
			}
		})
	}
}

// A dictionary says that no row has a value between others.
func TestFilterDictionary(t *testing.T) {
	values := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range 10_000 {
		values.Append(int64(i % 100 * 2))
	}
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{values.NewArray()}, 10_000)
	src := mustOpen(t, Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 5000, []arrow.RecordBatch{batch})))
	for constant, left := range map[int64]int64{51: 0, 52: 10_000} {
		filtered, err := scan.Filter(context.Background(), src, scan.Predicate{Terms: []scan.Term{scantest.NewTerm(t, 0, scan.OpEqual, int64Constants(constant)).Term}})
		if err != nil {
			t.Fatal(err)
		}
		if p := filtered.Pruning(); p.Left() != left || p.By[scan.PrunedByDictionary].Rows != 10_000-left {
			t.Errorf("v = %d: %s", constant, &p)
		}
	}
}

// Columns that the filter does not need are not read where it keeps no row, also without a page
// index.
func TestFilterLateBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("a count of bytes, the same under any detector and tag")
	}
	const rows = 300_000
	batch := scantest.SortedTable(rows)
	for _, pageBytes := range []int64{8 << 10, 1 << 20} {
		for _, index := range []bool{true, false} {
			opts := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithPageIndexEnabled(index), parquet.WithDataPageSize(pageBytes)}
			path := scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, rows, []arrow.RecordBatch{batch}, opts...))
			counting := faultfs.New(vfs.OS)
			filter := scantest.NewTestFilter([]scantest.TestTerm{scantest.NewTerm(t, 0, scan.OpIn, int64Constants(7, 8, 1003))})
			filtered, err := scan.Filter(context.Background(), mustOpen(t, Options{FS: counting}, path), scan.Predicate{Rows: filter}) // no term: nothing is pruned
			if err != nil {
				t.Fatal(err)
			}
			opened := counting.BytesRead()
			got, err := scantest.ReadAll(filtered, []int{1, 2, 3, 0}, scan.OpenOptions{})
			if err != nil || len(got) != 3 || !strings.HasSuffix(got[2], "|1003") {
				t.Fatalf("%v, %v", got, err)
			}
			chunk := int64(rows * 8)
			late := counting.BytesRead() - opened - chunk
			t.Logf("pages of %d B, index %t: %d of %d B of the late columns read; %+v", pageBytes, index, late, 3*chunk, filtered.Pruning())
			limit := 3 * chunk / 2 // one page of three is needed
			if pageBytes < 1<<20 {
				limit = 3 * chunk / 8
			}
			if late > limit {
				t.Errorf("pages of %d B, index %t: %d of %d B of the late columns read, want at most %d", pageBytes, index, late, 3*chunk, limit)
			}
		}
	}
}

// Folders prune files of any format, and a filter may be about folders alone.
func TestFilterFolders(t *testing.T) {
	batch := scantest.SortedTable(100)
	dir := t.TempDir()
	var csv bytes.Buffer
	csv.WriteString("at,v0,v1,v2,v3,v4,key\n")
	for i := range 100 {
		fmt.Fprintf(&csv, "%d,0.5,1.5,2.5,3.5,4.5,key-%d\n", i, i)
	}
	scantest.WriteFile(t, dir, "day=2024-01-01/kind=a/f.parquet", scantest.EncodeParquet(t, 30, []arrow.RecordBatch{batch}))
	scantest.WriteFile(t, dir, "day=2024-01-02/kind=b/f.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))
	scantest.WriteFile(t, dir, "day=2024-01-03/kind=__HIVE_DEFAULT_PARTITION__/f.csv", csv.Bytes())
	src := mustOpen(t, Options{}, dir)
	day, kind := 7, 8
	days := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond})
	for _, text := range []string{"2024-01-02 00:00:00", "2024-01-01 12:00:00"} {
		if err := days.AppendValueFromString(text); err != nil {
			t.Fatal(err)
		}
	}
	moments := days.NewArray()
	at := scantest.NewTerm(t, 0, scan.OpLess, int64Constants(10))
	for _, tt := range []struct {
		name        string
		terms       []scantest.TestTerm
		rows, files int64 // kept, pruned
	}{
		{"a day", []scantest.TestTerm{scantest.NewTerm(t, day, scan.OpEqual, array.NewSlice(moments, 0, 1)), at}, 10, 2},
		{"noon", []scantest.TestTerm{scantest.NewTerm(t, day, scan.OpGreater, array.NewSlice(moments, 1, 2)), at}, 20, 1},
		{"no day", []scantest.TestTerm{scantest.NewTerm(t, day, scan.OpEqual, array.NewSlice(moments, 1, 2))}, 0, 3},
		{"text", []scantest.TestTerm{scantest.NewTerm(t, kind, scan.OpNotEqual, stringConstants("a"))}, 100, 2},
		{"NULL", []scantest.TestTerm{scantest.NewTerm(t, kind, scan.OpIsNull, stringConstants()), at}, 10, 2},
		{"columns alone", []scantest.TestTerm{at}, 30, 0},
	} {
		filter := scantest.NewTestFilter(tt.terms)
		filtered, err := scan.Filter(context.Background(), src, filter.Predicate(true))
		if err != nil {
			t.Fatal(err)
		}
		for _, columns := range [][]int{{0, 6}, {kind}, {}} {
			got, err := scantest.ReadAll(filtered, columns, scan.OpenOptions{BatchRows: 7})
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if int64(len(got)) != tt.rows {
				t.Errorf("%s, columns %v: %d rows, want %d", tt.name, columns, len(got), tt.rows)
			}
		}
		if p := filtered.Pruning(); p.By[scan.PrunedByFolder].Files != tt.files {
			t.Errorf("%s: %+v, want %d files pruned", tt.name, p, tt.files)
		}
	}
}

// Other sources are filtered as they are read, whatever their batches hold.
func TestFilterOtherSources(t *testing.T) {
	rng := scantest.NewRand(t)
	types := scantest.FilterTypes()
	batch := scantest.RandomTable(rng, types, 500)
	coded := batch.Columns()
	fields := batch.Schema().Fields()
	for i, a := range coded {
		if a.DataType().ID() == arrow.STRING {
			coded[i] = scantest.ToDictionary(t, a, arrow.PrimitiveTypes.Int8)
			fields[i].Type = coded[i].DataType()
		}
	}
	schema := arrow.NewSchema(fields, nil)
	batches := []arrow.RecordBatch{array.NewRecordBatch(schema, coded, 500)}
	var sum scan.PrunedBy
	for _, src := range []scan.Source{
		scan.Batches(schema, batches),
		mustOpen(t, Options{}, scantest.WriteFile(t, t.TempDir(), "f.arrow", scantest.EncodeArrow(t, false, batches))),
		struct{ scan.Source }{scan.Batches(schema, batches)},
	} {
		for range invariants.Fewer(40, 8) {
			checkFilter(t, rng, src, []arrow.RecordBatch{batch}, scantest.NewTestFilter([]scantest.TestTerm{scantest.RandomTerm(t, rng, types), scantest.RandomTerm(t, rng, types)}), &sum)
		}
	}
	if sum != (scan.PrunedBy{}) {
		t.Errorf("pruned: %+v", sum)
	}
}
