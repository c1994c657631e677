package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
)

// Fields of structs are pruned and filtered as columns are, at any depth, whatever is NULL around
// them: statistics, Bloom filters, dictionaries, page indexes, pages that are passed over.
func TestFilterNested(t *testing.T) {
	rng := scantest.NewRand(t)
	types := scantest.FilterTypes()
	var pruned scan.PrunedBy
	files, filters := 3, 20
	if testing.Short() {
		files, filters = 2, 10
	}
	for range files {
		rows := 1 + rng.IntN(3000)
		nested, flat := scantest.Nest(rng, scantest.RandomTable(rng, types, rows))
		opts := scantest.RandomWriterOf(rng, scantest.LeafPaths(nested.Schema())[:len(types)])
		data := scantest.EncodeParquet(t, int64(1+rng.IntN(1500)), []arrow.RecordBatch{nested}, opts...)
		src := mustOpen(t, Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
		sameColumns(t, src.Schema(), flat.Schema())
		for range filters {
			var terms []scantest.TestTerm
			for range 1 + rng.IntN(3) {
				terms = append(terms, scantest.RandomTerm(t, rng, types))
			}
			checkFilter(t, rng, src, []arrow.RecordBatch{flat}, scantest.NewTestFilter(terms), &pruned)
		}
	}
	for r, by := range pruned {
		t.Logf("%s: %+v", scan.PruneReason(r), by)
	}
}

func sameColumns(t *testing.T, got, want *arrow.Schema) {
	t.Helper()
	got = recordreader.Columns(got, scantest.AllColumns(got))
	if got.NumFields() != want.NumFields() {
		t.Fatalf("got the columns %s, want %s", scantest.SchemaText(got), scantest.SchemaText(want))
	}
	for i, f := range got.Fields() {
		if w := want.Field(i); f.Name != w.Name || f.Nullable != w.Nullable {
			t.Fatalf("column %d is %v, want %v", i, f, w)
		}
	}
}

// All sources have the fields of structs, of every type and with dictionaries: files and streams of
// Arrow, batches in memory, also parts of larger ones, and readers.
func TestNestedSources(t *testing.T) {
	rng := scantest.NewRand(t)
	for round := range 6 {
		whole := scantest.IpcBatches(t, 1, 30+rng.IntN(400))[0]
		nested, flat := scantest.Nest(rng, whole)
		from := rng.Int64N(whole.NumRows())
		to := from + 1 + rng.Int64N(whole.NumRows()-from)
		part := nested.NewSlice(from, to)
		want := scantest.BatchRowsText(flat)
		dir := t.TempDir()
		reader, err := array.NewRecordReader(nested.Schema(), []arrow.RecordBatch{nested, part})
		if err != nil {
			t.Fatal(err)
		}
		file := func(name string, stream bool, opts ...ipc.Option) scan.Source {
			data := scantest.EncodeArrow(t, stream, []arrow.RecordBatch{nested, part}, opts...)
			return mustOpen(t, Options{}, scantest.WriteFile(t, dir, name, data))
		}
		for name, src := range map[string]scan.Source{
			"file": file("f.arrow", false), "packed": file("p.arrow", false, ipc.WithZstd()), "stream": file("s.arrows", true),
			"batches": scan.Batches(nested.Schema(), []arrow.RecordBatch{nested, part}), "reader": scan.Reader(reader),
		} {
			sameColumns(t, src.Schema(), flat.Schema())
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem})
			if err != nil {
				t.Fatalf("round %d, %s: %v", round, name, err)
			}
			scantest.SameRows(t, rows, slices.Concat(want, want[from:to]))
			mem.AssertSize(t, 0)
		}
	}
}

// What a batch in memory promises of a field holds although NULLs are in the struct alone.
func TestNestedBatchStats(t *testing.T) {
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	ints.AppendValues([]int64{1, 2, 3}, nil)
	of := arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64})
	whole := ints.NewArray()
	data := array.NewData(of, 3, []*memory.Buffer{memory.NewBufferBytes([]byte{5})}, []arrow.ArrayData{whole.Data()}, 1, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: of, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{array.NewStructData(data), whole}, 3)
	src := scan.Batches(schema, []arrow.RecordBatch{batch})
	if columns := src.Stats().Columns; columns[0].NoNulls || !columns[1].NoNulls {
		t.Errorf("got %+v", columns)
	}
	if rows, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{}); fmt.Sprint(rows, err) != "[1|1 NULL|2 3|3] <nil>" {
		t.Errorf("got %v, %v", rows, err)
	}
}

// Lists of lists and maps are strings that read back as their values, whole structs too.
func TestNestedValues(t *testing.T) {
	fields := []arrow.Field{
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32))}, arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true})},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), Nullable: true},
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	if err := b.UnmarshalJSON([]byte(`{"s": {"l": [[1, 2]], "n": 7}, "m": [{"key": "x", "value": 1}]}`)); err != nil {
		t.Fatal(err)
	}
	batch := b.NewRecordBatch()
	dir := t.TempDir()
	for name, src := range map[string]scan.Source{
		"parquet": mustOpen(t, Options{}, scantest.WriteFile(t, dir, "f.parquet", scantest.EncodeParquet(t, 10, []arrow.RecordBatch{batch}))),
		"arrow":   mustOpen(t, Options{}, scantest.WriteFile(t, dir, "f.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))),
		"batches": scan.Batches(schema, []arrow.RecordBatch{batch}),
	} {
		for c, want := range []string{"[[1,2]]", "7", `[{"key":"x","value":1}]`, `{"l":[[1,2]],"n":7}`} {
			if got := firstValue(t, src, c); got != want {
				t.Errorf("%s, column %d: %s, want %s", name, c, got, want)
			}
		}
	}
}

// The columns of several files are matched by the names of fields, in any order.
func TestNestedFilesTogether(t *testing.T) {
	write := func(dir, name, text string, fields ...arrow.Field) string {
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.StructOf(fields...), Nullable: true}}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		if err := b.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return scantest.WriteFile(t, dir, name, scantest.EncodeParquet(t, 10, []arrow.RecordBatch{b.NewRecordBatch()}))
	}
	x := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	y := arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}
	dir := t.TempDir()
	one, two := write(dir, "1.parquet", `{"a": {"x": 1, "y": "u"}}`, x, y), write(dir, "2.parquet", `{"a": {"y": "v", "x": 2}}`, y, x)
	src := mustOpen(t, Options{}, one, two)
	if rows, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{}); fmt.Sprint(rows, err) != "[1|u 2|v] <nil>" {
		t.Errorf("got %v, %v", rows, err)
	}
	less := write(dir, "3.parquet", `{"a": {"x": 3}}`, x)
	if _, err := Open(context.Background(), []string{one, less}, Options{}); err == nil || !strings.Contains(err.Error(), `column "a.y" is missing in`) {
		t.Errorf("a file without a field: %v", err)
	}
}

// firstValue reads the first value of a column, as Arrow has it.
func firstValue(t *testing.T, src scan.Source, column int) string {
	t.Helper()
	splits, err := src.Splits(t.Context(), []int{column})
	if err != nil {
		t.Fatal(err)
	}
	r, err := splits[0].Open(t.Context(), scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	batch, err := recordreader.Owned(r)
	if err != nil {
		t.Fatal(err)
	}
	batch, err = nested.Batch(memory.DefaultAllocator, nested.Schema(batch.Schema()), batch)
	if err != nil {
		t.Fatal(err)
	}
	return batch.Column(0).ValueStr(0)
}
