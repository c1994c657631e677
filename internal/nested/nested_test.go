package nested

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// leaves are the types of values that are not nested.
var leaves = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String,
	arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us,
	&arrow.Decimal128Type{Precision: 9, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 3},
	arrow.FixedWidthTypes.Time64us, arrow.Null,
}

// randomType returns a type of Canonical of some depth.
func randomType(rng *rand.Rand, depth int) arrow.DataType {
	if depth == 0 {
		return leaves[rng.IntN(len(leaves))]
	}
	switch rng.IntN(4) {
	case 0:
		return arrow.MapOf(leaves[rng.IntN(len(leaves)-1)], randomType(rng, depth-1))
	case 1:
		fields := make([]arrow.Field, 1+rng.IntN(3))
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprint("f", i), Type: randomType(rng, depth-1), Nullable: true}
		}
		return arrow.StructOf(fields...)
	}
	return arrow.ListOf(randomType(rng, depth-1))
}

var texts = []string{"", "a", "b", "ab", "a\x00", "a\x00b", "\x00", "\x00\xFF", "ä", "\xFF"}

// fill appends a random value of a few, NULL among them, to a builder.
func fill(rng *rand.Rand, b array.Builder, isKey bool) {
	if !isKey && rng.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	n := []int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64, 100, -100}[rng.IntN(8)]
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			fill(rng, b.FieldBuilder(i), false)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range rng.IntN(3) {
			fill(rng, b.KeyBuilder(), true)
			fill(rng, b.ItemBuilder(), false)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rng.IntN(3) {
			fill(rng, b.ValueBuilder(), false)
		}
	case *array.BooleanBuilder:
		b.Append(n > 0)
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int16Builder:
		b.Append(int16(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	case *array.Uint8Builder:
		b.Append(uint8(n))
	case *array.Uint16Builder:
		b.Append(uint16(n))
	case *array.Uint32Builder:
		b.Append(uint32(n))
	case *array.Uint64Builder:
		b.Append(uint64(n))
	case *array.Float32Builder:
		b.Append([]float32{0, 1.5, -1.5, float32(math.Inf(1)), float32(math.NaN()), -3e38}[rng.IntN(6)])
	case *array.Float64Builder:
		b.Append([]float64{0, 1.5, -1.5, math.Inf(-1), math.NaN(), 1e300}[rng.IntN(6)])
	case *array.StringBuilder:
		b.Append(texts[rng.IntN(len(texts)-3)])
	case *array.BinaryBuilder:
		b.Append([]byte(texts[rng.IntN(len(texts))]))
	case *array.Date32Builder:
		b.Append(arrow.Date32(int32(n)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
	case *array.Time64Builder:
		b.Append(arrow.Time64(n))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(n))
	case *array.NullBuilder:
		b.AppendNull()
	}
}

// compare is the order of values as DuckDB has it: what the strings must be in.
func compare(a, b arrow.Array, i, j int) int {
	if a.IsNull(i) || b.IsNull(j) {
		return cmp.Compare(boolean(a.IsNull(i)), boolean(b.IsNull(j)))
	}
	switch a := a.(type) {
	case *array.Null:
		return 0
	case *array.Struct:
		for f := range a.NumField() {
			if c := compare(a.Field(f), b.(*array.Struct).Field(f), i, j); c != 0 {
				return c
			}
		}
		return 0
	case array.ListLike:
		other := b.(array.ListLike)
		from, end := a.ValueOffsets(i)
		at, last := other.ValueOffsets(j)
		for ; from < end && at < last; from, at = from+1, at+1 {
			if c := compare(a.ListValues(), other.ListValues(), int(from), int(at)); c != 0 {
				return c
			}
		}
		return cmp.Compare(end-from, last-at)
	case *array.Boolean:
		return cmp.Compare(boolean(a.Value(i)), boolean(b.(*array.Boolean).Value(j)))
	case *array.Decimal128:
		return a.Value(i).Cmp(b.(*array.Decimal128).Value(j))
	case *array.Binary:
		return strings.Compare(a.ValueString(i), b.(*array.Binary).ValueString(j))
	case *array.String:
		return strings.Compare(a.Value(i), b.(*array.String).Value(j))
	}
	return compareNumbers(a, b, i, j)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compareNumbers(a, b arrow.Array, i, j int) int {
	switch a := a.(type) {
	case *array.Int8:
		return cmp.Compare(a.Value(i), b.(*array.Int8).Value(j))
	case *array.Int16:
		return cmp.Compare(a.Value(i), b.(*array.Int16).Value(j))
	case *array.Int32:
		return cmp.Compare(a.Value(i), b.(*array.Int32).Value(j))
	case *array.Int64:
		return cmp.Compare(a.Value(i), b.(*array.Int64).Value(j))
	case *array.Uint8:
		return cmp.Compare(a.Value(i), b.(*array.Uint8).Value(j))
	case *array.Uint16:
		return cmp.Compare(a.Value(i), b.(*array.Uint16).Value(j))
	case *array.Uint32:
		return cmp.Compare(a.Value(i), b.(*array.Uint32).Value(j))
	case *array.Uint64:
		return cmp.Compare(a.Value(i), b.(*array.Uint64).Value(j))
	case *array.Float32:
		return -cmp.Compare(-a.Value(i), -b.(*array.Float32).Value(j)) // NaN above all
	case *array.Float64:
		return -cmp.Compare(-a.Value(i), -b.(*array.Float64).Value(j))
	case *array.Date32:
		return cmp.Compare(a.Value(i), b.(*array.Date32).Value(j))
	case *array.Time64:
		return cmp.Compare(a.Value(i), b.(*array.Time64).Value(j))
	case *array.Timestamp:
		return cmp.Compare(a.Value(i), b.(*array.Timestamp).Value(j))
	}
	panic(a.DataType().String())
}

// Strings read back as the values that they were made of, are in the order of the values (N1, N2), and end where they
// tell (N4); so do their elements and a type's text.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dt := randomType(rng, 1+rng.IntN(3))
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		for range 40 {
			fill(rng, b, false)
		}
		values := b.NewArray()
		typ := NewType(dt)
		encoded, err := Encode(memory.DefaultAllocator, values, typ)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(memory.DefaultAllocator, encoded)
		if err != nil || fmt.Sprint(back) != fmt.Sprint(values) {
			t.Fatalf("seed %d, %s: %v, %v; want %v", seed, dt, back, err, values)
		}
		if read, err := Unmarshal(typ.Marshal()); err != nil || !arrow.TypeEqual(read.Of, typ.Of) {
			t.Fatalf("seed %d: %s reads back as %v, %v", seed, typ, read, err)
		}
		text := encoded.(*array.Binary)
		for i := range values.Len() {
			for j := range values.Len() {
				if values.IsNull(i) || values.IsNull(j) {
					continue
				}
				if got, want := strings.Compare(text.ValueString(i), text.ValueString(j)), compare(values, values, i, j); got != want {
					t.Fatalf("seed %d, %s: %s and %s compare as %d, want %d", seed, dt, values.ValueStr(i), values.ValueStr(j), got, want)
				}
			}
			if s := text.ValueString(i); values.IsValid(i) && LayoutOf(typ.Of).Size(s+"\x01\xFF") != len(s) {
				t.Fatalf("seed %d, %s: %q does not end at %d", seed, dt, s, len(s))
			}
		}
		checkElements(t, encoded, values)
	}
}

// checkElements compares the elements of lists with the elements that Arrow has.
func checkElements(t *testing.T, encoded, values arrow.Array) {
	t.Helper()
	of, ok := values.(*array.List)
	if !ok {
		return
	}
	made, err := Lists(memory.DefaultAllocator, encoded)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := plain(memory.DefaultAllocator, made.(*array.List).ListValues())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(elements), fmt.Sprint(of.ListValues()); got != want {
		t.Fatalf("elements %s, want %s", got, want)
	}
}

// Values keep what the type of both files has: fields by their names, wider numbers.
func TestCommon(t *testing.T) {
	number := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	a := arrow.StructOf(number("x", arrow.PrimitiveTypes.Int16), number("y", arrow.ListOf(arrow.PrimitiveTypes.Float32)))
	b := arrow.StructOf(number("Y", arrow.ListOf(arrow.PrimitiveTypes.Float64)), number("x", arrow.PrimitiveTypes.Int64), number("z", arrow.BinaryTypes.String))
	of := Common(a, b)
	if want := "struct<x: int64 nullable, y: list<item: float64, nullable> nullable, z: utf8 nullable>"; fmt.Sprint(of) != strings.ReplaceAll(want, " nullable", " nullable") {
		t.Fatalf("got %s, want %s", of, want)
	}
	if Common(a, arrow.StructOf(number("x", arrow.BinaryTypes.String))) != nil {
		t.Error("a number and a string have a common type")
	}
	builder := array.NewStructBuilder(memory.DefaultAllocator, a)
	if err := builder.UnmarshalJSON([]byte(`[{"x": -3, "y": [1.5, null]}, null, {"x": null, "y": null}]`)); err != nil {
		t.Fatal(err)
	}
	encoded, err := Encode(memory.DefaultAllocator, builder.NewArray(), NewType(a))
	if err != nil {
		t.Fatal(err)
	}
	converted, err := Convert(memory.DefaultAllocator, encoded, NewType(of))
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(memory.DefaultAllocator, converted)
	var got []string
	for i := range 3 {
		got = append(got, back.ValueStr(i))
	}
	want := []string{`{"x":-3,"y":[1.5,null],"z":null}`, "(null)", `{"x":null,"y":null,"z":null}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
