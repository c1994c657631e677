package dataset

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// A column without a value in one file has the null type there. Its rows are NULL, of the type that
// other files give the column, and a filter on it leaves the file out.
func TestNullType(t *testing.T) {
	mem := memory.DefaultAllocator
	batch := func(s arrow.Array) arrow.RecordBatch {
		k := array.NewInt64Builder(mem)
		k.AppendValues([]int64{1, 2}, nil)
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: s.DataType(), Nullable: true}, {Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
		return array.NewRecordBatch(schema, []arrow.Array{s, k.NewArray()}, 2)
	}
	b := array.NewStringBuilder(mem)
	b.AppendStringValues([]string{"a", "b"}, nil)
	texts, nulls := batch(b.NewArray()), batch(array.NewNull(2))
	dir := t.TempDir()
	for name, batch := range map[string]arrow.RecordBatch{"text": texts, "none": nulls} {
		scantest.WriteFile(t, dir, name+".parquet", scantest.EncodeParquet(t, 10, []arrow.RecordBatch{batch}))
		scantest.WriteFile(t, dir, name+".arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))
	}
	ofTexts, ofNulls := []string{"a|1", "b|2"}, []string{"NULL|1", "NULL|2"}
	for _, c := range []struct {
		files  []string
		schema string
		rows   []string
	}{
		{[]string{"none.parquet"}, "s int32, k int64", ofNulls},
		{[]string{"none.arrow"}, "s int32, k int64", ofNulls},
		{[]string{"none.parquet", "none.arrow"}, "s int32, k int64", slices.Concat(ofNulls, ofNulls)},
		{[]string{"text.parquet", "none.parquet"}, "s utf8, k int64", slices.Concat(ofTexts, ofNulls)},
		{[]string{"none.arrow", "text.arrow"}, "s utf8, k int64", slices.Concat(ofNulls, ofTexts)},
	} {
		var paths []string
		for _, name := range c.files {
			paths = append(paths, filepath.Join(dir, name))
		}
		src := mustOpen(t, Options{}, paths...)
		if got := scantest.SchemaText(src.Schema()); got != c.schema || !src.Schema().Field(0).Nullable {
			t.Errorf("%v: schema %s, want %s", c.files, got, c.schema)
		}
		rows, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		scantest.SameRows(t, rows, c.rows)
		filtered, err := scan.Filter(context.Background(), src, scan.Predicate{Terms: []scan.Term{{Column: 0, Op: scan.OpEqual, Values: []scalar.Scalar{scalar.NewStringScalar("a")}}}})
		if err != nil {
			t.Fatal(err)
		}
		if rows, err = scantest.ReadAll(filtered, []int{1}, scan.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
		if c.schema[2] == 'u' { // an integer is not compared with a string
			scantest.SameRows(t, rows, []string{"1", "2"})
		}
	}
}

// Columns of one name have names of their own, alone and beside other files. Would catch the values of one under the
// name of another.
func TestRepeatedNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, columns ...string) string {
		var fields []arrow.Field
		var arrays []arrow.Array
		for i, column := range columns {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			b.Append(int64(i))
			fields = append(fields, arrow.Field{Name: column, Type: arrow.PrimitiveTypes.Int64})
			arrays = append(arrays, b.NewArray())
		}
		batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 1)
		return scantest.WriteFile(t, dir, name, scantest.EncodeParquet(t, 1, []arrow.RecordBatch{batch}))
	}
	first := write("first.parquet", "a", "a_1", "a", "b", "a")
	second := write("second.parquet", "b", "a", "a_3", "a_1", "a_2")
	src := mustOpen(t, Options{}, first, second)
	if got, want := scantest.SchemaText(src.Schema()), "a int64, a_1 int64, a_2 int64, b int64, a_3 int64"; got != want {
		t.Fatalf("columns %s, want %s", got, want)
	}
	rows, err := scantest.ReadAll(src, []int{0, 1, 2, 3, 4}, scan.OpenOptions{})
	if want := []string{"0|1|2|3|4", "1|3|4|0|2"}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("rows %q, %v; want %q", rows, err, want)
	}
}

// Names that options repeat are numbered as names of files are. Would catch a column that is read twice in place of two.
func TestRepeatedNamesOfOptions(t *testing.T) {
	path := scantest.WriteFile(t, t.TempDir(), "n.csv", []byte("1,2,3\n"))
	src := mustOpen(t, Options{CSV: csv.Options{Header: csv.HeaderNo, Names: []string{"a", "b", "a"}}}, path)
	rows, err := scantest.ReadAll(src, []int{0, 1, 2}, scan.OpenOptions{})
	if got, want := scantest.SchemaText(src.Schema()), "a int64, b int64, a_1 int64"; got != want || err != nil {
		t.Errorf("columns %s, want %s; %v", got, want, err)
	}
	if want := []string{"1|2|3"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}
