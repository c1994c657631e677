package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/nested"
)

func number(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}
}

func structOf(name string, nullable bool, fields ...arrow.Field) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.StructOf(fields...), Nullable: nullable}
}

// Fields have the names that SQL gives them, no two columns share a name where that can be avoided,
// and what is no struct with fields stays.
func TestFlatten(t *testing.T) {
	deep := number("n")
	for range 100 {
		deep = structOf("d", false, deep)
	}
	list := arrow.Field{Name: "l", Type: arrow.ListOf(arrow.StructOf(number("x")))}
	flat := Flatten(arrow.NewSchema([]arrow.Field{
		structOf("a", true, number("b"), structOf("c", false, number("b"), number("x.y"))),
		number("a.b"), structOf("p.q", false, number("r")), structOf("a.c", false, number("b")), structOf("none", false), list, number("n"), number("n"), deep,
	}, nil))
	var names []string
	for i, f := range flat.Schema.Fields() {
		names = append(names, fmt.Sprintf("%s%v%t", f.Name, flat.Paths[i], f.Nullable))
	}
	want := []string{"(a).b[0 0]true", "a.c.b[0 1 0]true", `a.c."x.y"[0 1 1]true`, "a.b[1]false", `"p.q".r[2 0]false`, `"a.c".b[3 0]false`,
		"none[4]false", "l[5]false", "n[6]false", "n_1[7]false"}
	if got := names[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	wholes := []string{"a[0]true", "a.c[0 1]true", "p.q[2]false", "d[8]false"}
	if got := names[len(want)+1:]; len(got) != 3+structDepthMax || !slices.Equal(got[:4], wholes) {
		t.Errorf("got  %q\nwant %q", got, wholes)
	}
	last := flat.Schema.Field(len(want))
	if _, isNested := last.Type.(*nested.Type); !isNested || strings.Count(last.Name, "d") != structDepthMax+1 {
		t.Errorf("a deep struct: %s of type %s", last.Name, last.Type.Name())
	}
}

// S3: a long name of a struct is not repeated for a hundred thousand fields.
func TestFlattenManyNames(t *testing.T) {
	fields := make([]arrow.Field, 100_000)
	for i := range fields {
		fields[i] = number(fmt.Sprint(i))
	}
	flat := Flatten(arrow.NewSchema([]arrow.Field{structOf(strings.Repeat("long", 1000), false, fields...), number("n")}, nil))
	if n := flat.Schema.NumFields(); n != 2 || fmt.Sprint(flat.Paths) != "[[0] [1]]" {
		t.Errorf("%d columns, %v", n, flat.Paths)
	}
}

// S3: a struct whose parts contradict each other is an error.
func TestTakeDamaged(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, 30), nil)
	numbers := b.NewArray()
	of := arrow.StructOf(number("n"))
	make := func(rows, nulls int, bitmap []byte, child arrow.Array) arrow.RecordBatch {
		data := array.NewData(of, rows, []*memory.Buffer{memory.NewBufferBytes(bitmap)}, []arrow.ArrayData{child.Data()}, nulls, 0)
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: of}}, nil)
		return array.NewRecordBatch(schema, []arrow.Array{array.NewStructData(data)}, int64(rows))
	}
	short := array.NewSlice(numbers, 0, 10)
	for name, batch := range map[string]arrow.RecordBatch{
		"bitmap": make(30, 3, []byte{1, 2}, numbers), "no bitmap": make(30, 3, nil, numbers), "field": make(30, 0, nil, short),
	} {
		flat := Flat{Schema: arrow.NewSchema([]arrow.Field{number("s.n")}, nil), Paths: [][]int{{0, 0}}}
		if got, err := flat.Take(memory.DefaultAllocator, batch); err == nil || !strings.Contains(err.Error(), `column "s.n"`) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		flat.Paths = [][]int{{0, 1}}
		if _, err := flat.Take(memory.DefaultAllocator, batch); err == nil {
			t.Errorf("%s, a field that is not there: no error", name)
		}
	}
}

// Would catch elements of other rows, where a list of a fixed size is in a struct with NULLs and the
// batch is a part of another.
func TestTakeFixedSizeList(t *testing.T) {
	const rows, size, from = 40, 3, 21
	list := arrow.Field{Name: "l", Type: arrow.FixedSizeListOf(size, arrow.PrimitiveTypes.Int64), Nullable: true}
	s := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(list))
	lists := s.FieldBuilder(0).(*array.FixedSizeListBuilder)
	for row := range int64(rows) {
		if s.Append(row%5 != 0); row%5 == 0 {
			continue
		}
		lists.Append(true)
		lists.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{row, 10 * row, 100 * row}, nil)
	}
	schema := arrow.NewSchema([]arrow.Field{structOf("s", true, list)}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{s.NewArray()}, rows).NewSlice(from, rows)
	taken, err := Flatten(schema).Take(memory.DefaultAllocator, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows - from {
		row := from + i
		want := fmt.Sprintf("[%d,%d,%d]", row, 10*row, 100*row)
		if row%5 == 0 {
			want = array.NullValueStr
		}
		if got := taken.Column(0).ValueStr(i); got != want {
			t.Errorf("row %d: %s, want %s", row, got, want)
		}
	}
}
