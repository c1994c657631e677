package dataset

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// knowingWriter writes all that a filter asks for: statistics, dictionaries, Bloom filters, page
// indexes.
func knowingWriter(columns []string) []parquet.WriterProperty {
	opts := []parquet.WriterProperty{parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(64), parquet.WithBatchSize(16)}
	for _, name := range columns {
		opts = append(opts, parquet.WithBloomFilterEnabledFor(name, true), parquet.WithBloomFilterNDVFor(name, 20))
	}
	return opts
}

func namesOf(s *arrow.Schema) (names []string) {
	for _, f := range s.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// filterBytes opens a file of the given bytes and filters its first columns, unless there are too many rows
// or columns, or none. It fails the test if that leaks.
func filterBytes(t testing.TB, data []byte, rng *rand.Rand) (rows int, err error) {
	t.Helper()
	src, err := Open(context.Background(), []string{scantest.WriteFile(t, t.TempDir(), "f.parquet", data)}, Options{})
	if err != nil {
		return 0, err
	}
	if src.Stats().Rows > 1<<16 {
		return 0, nil
	}
	var types []arrow.DataType
	var columns []int
	for i, f := range src.Schema().Fields() {
		if arrow.IsNested(f.Type.ID()) || f.Type.ID() == arrow.NULL {
			break
		}
		types, columns = append(types, f.Type), append(columns, i)
	}
	if len(types) == 0 || len(types) > 64 {
		return 0, nil
	}
	for _, exact := range []bool{true, false} {
		filter := scantest.NewTestFilter([]scantest.TestTerm{scantest.RandomTerm(t, rng, types), scantest.RandomTerm(t, rng, types)})
		filtered, err := scan.Filter(context.Background(), src, filter.Predicate(exact))
		if err != nil {
			return rows, err
		}
		filtered.Stats()
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got, err := scantest.ReadAll(filtered, columns, scan.OpenOptions{BatchRows: 20, Allocator: mem})
		if rows += len(got); err != nil {
			return rows, err // some of arrow-go's readers keep memory then
		}
		mem.AssertSize(t, 0)
	}
	return rows, nil
}

// S3: whatever is changed in statistics, dictionaries, Bloom filters and indexes, the process
// lives, and an error names the file.
func TestFilterDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	rng := scantest.NewRand(t)
	types := []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 38, Scale: 10}}
	batch := scantest.RandomTable(rng, types, 300)
	data := scantest.EncodeParquet(t, 150, []arrow.RecordBatch{batch}, knowingWriter(namesOf(batch.Schema()))...)
	for at := 0; at < len(data); at += max(len(data)/1500, 1) {
		changed := bytes.Clone(data)
		changed[at] ^= byte(1 << rng.IntN(8))
		if _, err := filterBytes(t, changed, rng); err != nil && !strings.Contains(err.Error(), "f.parquet") {
			t.Errorf("byte %d changed: the error names no file: %v", at, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, types := range [][]arrow.DataType{
		{arrow.PrimitiveTypes.Int64}, {arrow.BinaryTypes.String}, {arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Uint32},
		{&arrow.Decimal128Type{Precision: 30, Scale: 4}},
	} {
		batch := scantest.RandomTable(rng, types, 40)
		f.Add(scantest.EncodeParquet(f, 25, []arrow.RecordBatch{batch}, knowingWriter(namesOf(batch.Schema()))...), uint64(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		_, _ = filterBytes(t, data, rand.New(rand.NewPCG(seed, 2)))
	})
}

// Whatever read fails, of what a filter asks or of rows, the answer is right or an error, and no
// file stays open.
func TestFilterFaults(t *testing.T) {
	batch := scantest.SortedTable(3000)
	path := scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 1000, []arrow.RecordBatch{batch}, knowingWriter(namesOf(batch.Schema()))...))
	filter := scantest.OneOf{15, 1234, 2999}
	predicate := scan.Predicate{Rows: filter, Terms: []scan.Term{scantest.NewTerm(t, 0, scan.OpIn, int64Constants(filter...)).Term}}
	read := func(src scan.Source) ([]string, error) {
		filtered, err := scan.Filter(context.Background(), src, predicate)
		if err != nil {
			return nil, err
		}
		return scantest.ReadAll(filtered, []int{6, 0, 2}, scan.OpenOptions{BatchRows: 100})
	}
	want, err := read(mustOpen(t, Options{}, path))
	if err != nil || len(want) != len(filter) {
		t.Fatalf("%v, %v", want, err)
	}
	failed := 0
	for n := int64(1); ; n++ {
		fsys := faultfs.New(vfs.OS)
		src := mustOpen(t, Options{FS: fsys}, path)
		fsys.FailAt(n)
		got, err := read(src)
		if !fsys.Fired() {
			break
		}
		if err != nil {
			failed++
		} else if !slices.Equal(got, want) {
			t.Errorf("call %d fails: got %q", n, got)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("call %d fails: %d files are open", n, open)
		}
	}
	if failed == 0 {
		t.Error("no fault was told")
	}
}
