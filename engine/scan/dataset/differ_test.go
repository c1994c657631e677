package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// column is a column of a file: its name, its type, and its values as JSON.
type column struct {
	name   string
	typ    arrow.DataType
	values string
}

// writeColumns writes a file of columns of the same length, of Parquet or Arrow as its name says.
func writeColumns(t *testing.T, dir, name string, columns ...column) string {
	t.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.values))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fields, arrays = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: true}), append(arrays, a)
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))
	if strings.HasSuffix(name, ".arrow") {
		return scantest.WriteFile(t, dir, name, scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))
	}
	return scantest.WriteFile(t, dir, name, scantest.EncodeParquet(t, 2, []arrow.RecordBatch{batch}))
}

var (
	zoned    = &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	zonedToo = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	coded    = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
)

func decimal(precision, scale int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

// The values of two files come as values of a type that has both, whichever file is first. Would catch a conversion
// that loses a NULL, an offset, a unit or a sign.
func TestCommonTypes(t *testing.T) {
	fixed := &arrow.FixedSizeBinaryType{ByteWidth: 2}
	for i, c := range []struct {
		a    arrow.DataType
		of   string
		b    arrow.DataType
		and  string
		want string // the type; "" where there is none
		rows []string
	}{
		{arrow.PrimitiveTypes.Int8, "[-1, null]", arrow.PrimitiveTypes.Int64, "[9000000000]", "int64", []string{"-1", "NULL", "9000000000"}},
		{arrow.PrimitiveTypes.Uint8, "[255]", arrow.PrimitiveTypes.Int8, "[-128]", "int16", []string{"255", "-128"}},
		{arrow.PrimitiveTypes.Uint32, "[4294967295]", arrow.PrimitiveTypes.Int64, "[-1]", "int64", []string{"4294967295", "-1"}},
		{arrow.PrimitiveTypes.Uint16, "[65535]", arrow.PrimitiveTypes.Uint64, "[7]", "uint64", []string{"65535", "7"}},
		{arrow.PrimitiveTypes.Uint64, "[18446744073709551615]", arrow.PrimitiveTypes.Int8, "[-1]", "decimal(38, 0)", []string{"18446744073709551615", "-1"}},
		{arrow.PrimitiveTypes.Int32, "[3, null]", arrow.PrimitiveTypes.Float32, "[0.5]", "float64", []string{"3", "NULL", "0.5"}},
		{arrow.FixedWidthTypes.Float16, "[0.5]", arrow.PrimitiveTypes.Float64, "[0.1]", "float64", []string{"0.5", "0.1"}},
		{decimal(5, 1), `["1.5"]`, arrow.PrimitiveTypes.Float64, "[0.1]", "float64", []string{"1.5", "0.1"}},
		{decimal(5, 1), `["1.5", "-2.0"]`, decimal(20, 4), `["0.0001"]`, "decimal(20, 4)", []string{"1.5", "-2", "0.0001"}},
		{decimal(5, 1), `["1.5"]`, arrow.PrimitiveTypes.Int64, "[-7]", "decimal(20, 1)", []string{"1.5", "-7"}},
		{arrow.BinaryTypes.String, `["", null, "ab"]`, arrow.BinaryTypes.LargeString, `["c"]`, "large_utf8", []string{"", "NULL", "ab", "c"}},
		{coded, `["x", "x", null]`, arrow.BinaryTypes.LargeString, `["c"]`, "large_utf8", []string{"x", "x", "NULL", "c"}},
		{arrow.BinaryTypes.StringView, `["x"]`, arrow.BinaryTypes.String, `["c"]`, "utf8", []string{"x", "c"}},
		{fixed, `["YWI=", null]`, arrow.BinaryTypes.Binary, `["Yw=="]`, "binary", []string{"YWI=", "NULL", "Yw=="}},
		{arrow.FixedWidthTypes.Date32, `["2020-02-29", null]`, &arrow.TimestampType{Unit: arrow.Second}, `["1969-12-31 23:59:59"]`, "timestamp[s]",
			[]string{"2020-02-29T00:00:00", "NULL", "1969-12-31T23:59:59"}},
		{&arrow.TimestampType{Unit: arrow.Second}, `["1969-12-31 23:59:59"]`, &arrow.TimestampType{Unit: arrow.Nanosecond},
			`["1970-01-01 00:00:00.000000001"]`, "timestamp[ns]", []string{"1969-12-31T23:59:59", "1970-01-01T00:00:00.000000001"}},
		{zoned, `["1970-01-01 00:00:01Z"]`, zonedToo, `["1970-01-01 00:00:00Z"]`, "timestamp[ns, tz=UTC]", []string{"1970-01-01T00:00:01Z", "1970-01-01T00:00:00Z"}},
		{arrow.FixedWidthTypes.Time32s, `["01:00:00"]`, arrow.FixedWidthTypes.Time64us, `["00:00:01"]`, "time64[us]", []string{"01:00:00.000000", "00:00:01.000000"}},
		{&arrow.DurationType{Unit: arrow.Second}, "[5]", &arrow.DurationType{Unit: arrow.Millisecond}, "[7]", "duration[ms]", []string{"5000ms", "7ms"}},
		{arrow.Null, "[null]", arrow.FixedWidthTypes.Boolean, "[true]", "bool", []string{"NULL", "true"}},
		{arrow.BinaryTypes.String, `["x"]`, arrow.PrimitiveTypes.Int32, "[1]", "", nil},
		{arrow.BinaryTypes.String, `["x"]`, arrow.BinaryTypes.Binary, `["Yw=="]`, "", nil},
		{arrow.FixedWidthTypes.Boolean, "[true]", arrow.PrimitiveTypes.Int32, "[1]", "", nil},
		{zoned, `["1970-01-01 00:00:00Z"]`, arrow.FixedWidthTypes.Date32, `["1970-01-01"]`, "", nil},
		{arrow.FixedWidthTypes.Time32s, `["01:00:00"]`, arrow.FixedWidthTypes.Date32, `["1970-01-01"]`, "", nil},
	} {
		dir := t.TempDir()
		a := writeColumns(t, dir, "a.arrow", column{"c", c.a, c.of})
		b := writeColumns(t, dir, "b.arrow", column{"C", c.b, c.and})
		for k, files := range [][]string{{a, b}, {b, a}} {
			src := mustOpen(t, Options{}, files...)
			if c.want == "" {
				_, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
				if err == nil || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
					t.Errorf("%d: %s beside %s: %v", i, c.a, c.b, err)
				}
				if rows, err := scantest.ReadAll(src, nil, scan.OpenOptions{}); err != nil || len(rows) == 0 {
					t.Errorf("%d: without the column: %d rows, %v", i, len(rows), err)
				}
				continue
			}
			want := slices.Clone(c.rows)
			if k == 1 {
				first := strings.Count(c.of, ",") + 1
				want = slices.Concat(c.rows[first:], c.rows[:first])
			}
			rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{NarrowDecimals: k == 1})
			if got := src.Schema().Field(0).Type.String(); err != nil || !slices.Equal(rows, want) || !strings.HasPrefix(got, c.want) {
				t.Errorf("%d: %s beside %s: %s %q, %v; want %s %q", i, c.a, c.b, got, rows, err, c.want, want)
			}
		}
	}
}

// Common takes its types in any order, and is a type that takes the place of each. Would catch a third file that
// needs another type than the first two.
func TestCommonOrder(t *testing.T) {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, decimal(9, 2), decimal(38, 10), arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		arrow.BinaryTypes.StringView, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Timestamp_ns,
		&arrow.TimestampType{Unit: arrow.Second}, arrow.FixedWidthTypes.Boolean, arrow.Null, arrow.ListOf(arrow.PrimitiveTypes.Int8),
		arrow.LargeListOf(arrow.PrimitiveTypes.Float32), arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64ns}
	for _, a := range types {
		for _, b := range types { // zones and the nullability of elements may differ
			ab, ok := delivery.Common(a, b)
			ba, also := delivery.Common(b, a)
			if ok != also || ok && !arrow.TypeEqual(ab, ba) {
				t.Errorf("%s and %s: %v %v, %v %v", a, b, ab, ok, ba, also)
			}
			if !ok {
				continue
			}
			if again, _ := delivery.Common(ab, b); !arrow.TypeEqual(again, ab) {
				t.Errorf("%s beside %s and %s: %s", ab, a, b, again)
			}
		}
	}
}

// Would catch columns of later files that are matched by their places, that are missed, or that are no error.
func TestUnionByName(t *testing.T) {
	dir := t.TempDir()
	number, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	inner := arrow.StructOf(arrow.Field{Name: "p", Type: number, Nullable: true})
	more := arrow.StructOf(arrow.Field{Name: "q", Type: text, Nullable: true}, arrow.Field{Name: "p", Type: arrow.PrimitiveTypes.Int8, Nullable: true})
	a := writeColumns(t, dir, "a.parquet", column{"a", number, "[1]"}, column{"b", text, `["x"]`}, column{"s", inner, `[{"p": 5}]`})
	b := writeColumns(t, dir, "b.arrow", column{"c", number, "[7]"}, column{"s", more, `[{"q": "z", "p": 6}]`}, column{"A", number, "[2]"})
	c := scantest.WriteFile(t, dir, "c.csv", []byte("B,d\ny,8\n"))
	src := mustOpen(t, Options{UnionByName: true}, a, b, c)
	const schema = "a int64, b utf8, s.p int64, s struct<p: int64 nullable, q: utf8 nullable>, c int64, s.q utf8, d int64"
	if got := scantest.SchemaText(src.Schema()); got != schema {
		t.Errorf("columns %s, want %s", got, schema)
	}
	want := []string{"1|x|5|NULL|NULL|NULL", "2|NULL|6|7|z|NULL", "NULL|y|NULL|NULL|NULL|8"}
	if rows, err := scantest.ReadAll(src, []int{0, 1, 2, 4, 5, 6}, scan.OpenOptions{}); err != nil || !slices.Equal(rows, want) {
		t.Errorf("rows %q, %v; want %q", rows, err, want)
	}
	whole, known, err := OpenKnown(context.Background(), []string{a, b, c}, Options{UnionByName: true})
	if err != nil {
		t.Fatal(err)
	}
	part := mustOpen(t, Options{UnionByName: true, Known: known}, b)
	if rows := rowsOfAll(t, part); !slices.Equal(rows, want[1:2]) || !part.Schema().Equal(whole.Schema()) {
		t.Errorf("a part: %s, %q; want %q", part.Schema(), rows, want[1:2])
	}
	for _, files := range [][]string{{a, b}, {a, c}} {
		_, err := Open(t.Context(), files, Options{})
		for _, word := range []string{files[0], files[1], `column "`, "UnionByName"} {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%q: the error %v does not say %s", files, err, word)
			}
		}
	}
	if got := scantest.SchemaText(mustOpen(t, Options{}, writeColumns(t, dir, "d.arrow", column{"A", number, "[2]"}), a, b).Schema()); got != "A int64" {
		t.Errorf("the first file's columns: %s", got)
	}
}

// Would catch a value that the common type does not have and that is read as another, an error that does not name its
// row, and an entry of a dictionary that no row has and that is an error.
func TestValuesThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	wide, fine := decimal(38, 0), decimal(38, 10)
	large := fmt.Sprintf(`["1", "%s"]`, strings.Repeat("9", 30))
	a := writeColumns(t, dir, "a.parquet", column{"k", arrow.PrimitiveTypes.Int64, "[0, 1]"}, column{"c", wide, large})
	b := writeColumns(t, dir, "b.arrow", column{"k", arrow.PrimitiveTypes.Int64, "[2]"}, column{"c", fine, `["0.5"]`})
	src := mustOpen(t, Options{}, filepath.Join(dir, "a.parquet"), b)
	_, err := scantest.ReadAll(src, []int{1}, scan.OpenOptions{})
	for _, word := range []string{a + ", row 2", `column "c"`, "999999", "DECIMAL(38,0)", "DECIMAL(38,10)"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error %v does not say %s", err, word)
		}
	}
	if rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{}); err != nil || len(rows) != 3 {
		t.Errorf("the other column: %q, %v", rows, err)
	}
}
