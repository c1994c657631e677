package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// listBatch makes a list of the elements of an array for each row: some NULL, some empty. Behind
// the list is a column of each type. want has a row for every element, the element first.
func listBatch(t *testing.T, rng *rand.Rand, elements arrow.Array, of arrow.DataType) (batch arrow.RecordBatch, want []string) {
	t.Helper()
	offsets, bitmap := []int32{0}, []byte(nil)
	fixed, isFixed := of.(*arrow.FixedSizeListType)
	var rows []int // by element of a list: the row
	var used []int
	for at := 0; at < elements.Len(); {
		n := min(rng.IntN(1+rng.IntN(12)), elements.Len()-at)
		if isFixed {
			if n = int(fixed.Len()); at+n > elements.Len() {
				break
			}
		}
		row := len(offsets) - 1
		isNull := rng.IntN(5) == 0 && (isFixed || n == 0)
		bitmap = append(bitmap, 0)
		bitutil.SetBitTo(bitmap, row, !isNull)
		for i := range n {
			if !isNull {
				rows, used = append(rows, row), append(used, at+i)
			}
		}
		at += n
		offsets = append(offsets, int32(at))
	}
	n := len(offsets) - 1
	buffers := []*memory.Buffer{memory.NewBufferBytes(bitmap[:n/8+1])}
	switch {
	case isFixed:
	case of.ID() == arrow.LARGE_LIST:
		wide := make([]int64, len(offsets))
		for i, o := range offsets {
			wide[i] = int64(o)
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(wide)))
	default:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)))
	}
	data := array.NewData(of, n, buffers, []arrow.ArrayData{elements.Data()}, array.UnknownNullCount, 0)
	columns := []arrow.Array{array.MakeFromData(data)}
	fields := []arrow.Field{{Name: "list", Type: of, Nullable: true}}
	beside := scantest.ParquetBatch(t, n)
	fields, columns = append(fields, beside.Schema().Fields()...), append(columns, beside.Columns()...)
	for i, row := range rows {
		want = append(want, scantest.ValueText(elements, used[i])+"|"+scantest.RowText(beside, row))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(n)), want
}

// Every element of a list is a row with the values beside the list: of every type, in Parquet with
// pages of both versions, in Arrow files and in memory, whatever is NULL or empty and wherever
// batches and pages end.
func TestUnnest(t *testing.T) {
	rng := scantest.NewRand(t)
	types := scantest.ParquetBatch(t, 0).Schema().Fields()
	for i := range types {
		element := types[i].Type
		elements := scantest.TypesBatch(t, 100+rng.IntN(600), element).Column(0)
		of := []arrow.DataType{arrow.ListOf(element), arrow.LargeListOf(element), arrow.FixedSizeListOf(3, element)}[rng.IntN(3)]
		batch, want := listBatch(t, rng, elements, of)
		dir := t.TempDir()
		part := batch.NewSlice(batch.NumRows()/3, batch.NumRows())
		sources := map[string]scan.Source{
			"arrow":   mustOpen(t, Options{}, scantest.WriteFile(t, dir, "f.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))),
			"batches": scan.Batches(batch.Schema(), []arrow.RecordBatch{batch.NewSlice(0, batch.NumRows()/3), part}),
		}
		if of.ID() == arrow.LIST { // pqarrow writes no other list right
			opts := []parquet.WriterProperty{parquet.WithDataPageVersion([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}[rng.IntN(2)]),
				parquet.WithDataPageSize(int64(20 + rng.IntN(3000))), parquet.WithBatchSize(int64(1 + rng.IntN(300))), parquet.WithDictionaryDefault(rng.IntN(2) == 0)}
			data := scantest.EncodeParquet(t, 1+rng.Int64N(500), []arrow.RecordBatch{batch}, opts...)
			sources["parquet"] = mustOpen(t, Options{}, scantest.WriteFile(t, dir, "f.parquet", data))
		}
		for name, src := range sources {
			unnested, err := scan.Unnest(src, 0, "element")
			if err != nil {
				t.Fatal(err)
			}
			columns := append([]int{src.Schema().NumFields()}, scantest.AllColumns(src.Schema())[1:]...)
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			rows, err := scantest.ReadAll(unnested, columns, scan.OpenOptions{Allocator: mem, BatchRows: 1 + rng.IntN(400)})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, of, err)
			}
			scantest.SameRows(t, rows, want)
			if t.Failed() {
				t.Fatalf("%s, %s", name, of)
			}
			mem.AssertSize(t, 0)
		}
	}
}

// Rows that a filter passes over before lists are read take their elements along.
func TestUnnestFiltered(t *testing.T) {
	rng := scantest.NewRand(t)
	for range 3 {
		elements := scantest.TypesBatch(t, 5000, arrow.BinaryTypes.String).Column(0)
		batch, _ := listBatch(t, rng, elements, arrow.ListOf(arrow.BinaryTypes.String))
		ids := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range batch.NumRows() {
			ids.Append(i)
		}
		schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(0), {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
		rows := array.NewRecordBatch(schema, []arrow.Array{batch.Column(0), ids.NewArray()}, batch.NumRows())
		data := scantest.EncodeParquet(t, 400, []arrow.RecordBatch{rows}, parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(100), parquet.WithBatchSize(16))
		src := mustOpen(t, Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
		filter := scantest.NewTestFilter([]scantest.TestTerm{scantest.NewTerm(t, 1, scan.OpIn, int64s(3, 4, 90, 600, 601))})
		for _, exact := range []bool{true, false} {
			filtered, err := scan.Filter(t.Context(), src, filter.Predicate(exact))
			if err != nil {
				t.Fatal(err)
			}
			got, want := unnestedRows(t, filtered), unnestedRows(t, src)
			wanted := func(row string) bool {
				id := row[strings.LastIndex(row, "|")+1:]
				return slices.Contains([]string{"3", "4", "90", "600", "601"}, id)
			}
			unwanted := func(row string) bool { return !wanted(row) }
			if exact && slices.ContainsFunc(got, unwanted) || !exact && len(got) == len(want) {
				t.Fatalf("exact %t: %d of %d elements are left", exact, len(got), len(want))
			}
			scantest.SameRows(t, slices.DeleteFunc(got, unwanted), slices.DeleteFunc(want, unwanted))
		}
	}
}

func int64s(values ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func unnestedRows(t *testing.T, src scan.Source) []string {
	t.Helper()
	unnested, err := scan.Unnest(src, 0, "element")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := scantest.ReadAll(unnested, []int{2, 1}, scan.OpenOptions{BatchRows: 100})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// What has no elements that can be read is refused.
func TestUnnestRefused(t *testing.T) {
	for want, dt := range map[string]arrow.DataType{
		"BIGINT": arrow.PrimitiveTypes.Int64, "STRUCT()": arrow.StructOf(),
	} {
		src := scan.Batches(arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt}}, nil), nil)
		if _, err := scan.Unnest(src, 0, "e"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("column %q is of type %s", "c", want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
