package peer

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Answers that are not the same are told apart, down to one unit of one column.
func TestAnswerEqual(t *testing.T) {
	whole := func(n int64) Total { return Total{Kind: Integers, Whole: n} }
	float := func(x float64) Total { return Total{Kind: Floats, Float: x} }
	text := func(n int64) Total { return Total{Kind: Texts, Whole: n} }
	answer := func(rows int64, totals ...Total) Answer { return Answer{rows, totals} }
	a := answer(3, whole(1), whole(1<<60), float(1e6))
	for _, c := range []struct {
		name string
		b    Answer
		want bool
	}{
		{"same", answer(3, whole(1), whole(1<<60), float(1e6)), true},
		{"rounded", answer(3, whole(1), whole(1<<60), float(1e6+1e-4)), true},
		{"integer as double", answer(3, float(1), whole(1<<60), whole(1e6)), true},
		{"rows", answer(4, whole(1), whole(1<<60), float(1e6)), false},
		{"integer", answer(3, whole(1), whole(1<<60+1), float(1e6)), false},
		{"double", answer(3, whole(1), whole(1<<60), float(1e6+1)), false},
		{"text", answer(3, text(1), whole(1<<60), float(1e6)), false},
		{"columns", answer(3, whole(1)), false},
	} {
		if got := a.Equal(c.b); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A total does not depend on the type that an engine has for a column.
func TestSumUp(t *testing.T) {
	d := func(scale int32) arrow.DataType { return &arrow.Decimal128Type{Precision: 38, Scale: scale} }
	for _, c := range []struct {
		json  string // the values
		want  Total
		types []arrow.DataType
	}{
		{`[1, null, 40, 1]`, Total{Integers, 42, 0}, []arrow.DataType{
			arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
			arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64},
		}},
		{`["1", null, "-43"]`, Total{Integers, -42, 0}, []arrow.DataType{d(0)}},
		{`["1.5", null, "41.25"]`, Total{Floats, 0, 42.75}, []arrow.DataType{d(2)}},
		{`[1.5, null, 41.25]`, Total{Floats, 0, 42.75}, []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}},
		{`["YWI=", null, "", "YWI="]`, Total{Texts, 4, 0}, []arrow.DataType{
			arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
		}},
		{`["ab", null, "", "ab"]`, Total{Texts, 4, 0}, []arrow.DataType{
			arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
		}},
		{`[[1, 2], null, [], [null, 4]]`, Total{Lists, 0, 7}, []arrow.DataType{
			arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.LargeListOf(arrow.PrimitiveTypes.Float64),
		}},
		{`[true, null, false]`, Total{Others, 2, 0}, []arrow.DataType{arrow.FixedWidthTypes.Boolean}},
		{`["2001-02-03", null]`, Total{Others, 1, 0}, []arrow.DataType{arrow.FixedWidthTypes.Date32}},
	} {
		for _, dt := range c.types {
			got, err := totalOf(dt, c.json)
			if err != nil || len(got.Totals) != 1 || got.Totals[0] != c.want {
				t.Errorf("%s of %s: %v, %v; want %s", c.json, dt, got, err, c.want)
			}
		}
	}
}

// totalOf sums up a column in two batches, of which the second is a slice of an array.
func totalOf(dt arrow.DataType, values string) (Answer, error) {
	column, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(values))
	if err != nil {
		return Answer{}, err
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: dt, Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, int64(column.Len()))
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch.NewSlice(0, 1), batch.NewSlice(1, batch.NumRows())})
	if err != nil {
		return Answer{}, err
	}
	return SumUp(r)
}

// A value that is not finite does not count, and a type without a total is an error.
func TestSumUpEdges(t *testing.T) {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{1, math.NaN(), math.Inf(1), 2}, nil)
	total := Total{Kind: Floats}
	if err := total.add(b.NewArray()); err != nil || total.Float != 3 {
		t.Errorf("%v, %v", total, err)
	}
	if got, err := totalOf(arrow.FixedWidthTypes.Float16, `[1, 2]`); err == nil {
		t.Errorf("float16: %v", got)
	}
}
