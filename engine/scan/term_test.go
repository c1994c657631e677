package scan

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/apache/arrow-go/v18/parquet"
)

// textArray returns values of a type, written as text.
func textArray(t *testing.T, typ arrow.DataType, values ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for _, v := range values {
		if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// textBounds returns bounds of a column of a type; empty text is no bound.
func textBounds(t *testing.T, typ arrow.DataType, low, high string) bounds {
	t.Helper()
	b := bounds{exact: true, noNulls: true}
	for _, of := range []struct {
		text string
		to   **value
	}{{low, &b.low}, {high, &b.high}} {
		if of.text == "" {
			continue
		}
		term, ok := bindTerm(newTerm(t, 0, OpEqual, textArray(t, typ, of.text)).Term, typ)
		if !ok || len(term.values) != 1 {
			t.Fatalf("%s of type %s", of.text, typ)
		}
		*of.to = &term.values[0]
	}
	return b
}

// Each case is one that a careless comparison gets wrong: a row would be lost, or a row group read for nothing.
func TestTermExcludes(t *testing.T) {
	i64, u64, f64, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	day, hundredths, tenths := arrow.FixedWidthTypes.Date32, &arrow.Decimal128Type{Precision: 20, Scale: 2}, &arrow.Decimal128Type{Precision: 20, Scale: 1}
	micros, nanos := &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}
	zoned := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for _, tt := range []struct {
		column    arrow.DataType
		low, high string
		op        Op
		constant  arrow.DataType
		values    []string
		want      bool
	}{
		{i64, "1", "5", OpEqual, i64, []string{"6"}, true},
		{i64, "1", "5", OpEqual, i64, []string{"5"}, false},
		{i64, "1", "5", OpIn, i64, []string{"0", "9"}, true},
		{i64, "1", "5", OpIn, i64, []string{"0", "3", "9"}, false},
		{i64, "1", "5", OpIn, i64, nil, true},
		{i64, "5", "5", OpNotEqual, i64, []string{"5"}, true},
		{i64, "4", "5", OpNotEqual, i64, []string{"5"}, false},
		{i64, "", "5", OpGreater, i64, []string{"5"}, true},
		{i64, "", "5", OpLess, i64, []string{"-100"}, false},
		{i64, "3", "9", OpEqual, tenths, []string{"4.5"}, true}, // no integer is 4.5
		{i64, "3", "9", OpNotEqual, tenths, []string{"4.5"}, false},
		{i64, "5", "9", OpLess, tenths, []string{"4.5"}, true},
		{i64, "4", "9", OpLess, tenths, []string{"4.5"}, false},
		{i64, "4", "9", OpLessOrEqual, tenths, []string{"4.5"}, false},
		{i64, "-9", "-5", OpGreater, tenths, []string{"-5.5"}, false},
		{i64, "-9", "-6", OpGreaterOrEqual, tenths, []string{"-5.5"}, true},
		{i64, "-9", "-5", OpGreaterOrEqual, tenths, []string{"-5.5"}, false},
		{u64, "18446744073709551610", "18446744073709551615", OpLess, i64, []string{"-1"}, true},
		{u64, "1", "18446744073709551615", OpEqual, u64, []string{"18446744073709551614"}, false},
		{u64, "1", "9223372036854775807", OpGreater, u64, []string{"9223372036854775808"}, true},
		{hundredths, "1.25", "1.50", OpEqual, tenths, []string{"1.2"}, true},
		{hundredths, "1.20", "1.50", OpEqual, tenths, []string{"1.2"}, false},
		{hundredths, "1.20", "1.50", OpGreater, i64, []string{"1"}, false},
		{f64, "1", "5", OpEqual, f64, []string{"6"}, true},
		{f64, "1", "5", OpGreater, f64, []string{"6"}, false}, // NaN may be there, and larger
		{f64, "1", "1", OpNotEqual, f64, []string{"1"}, false},
		{f64, "1", "5", OpLess, f64, []string{"1"}, true},
		{f64, "1", "5", OpLess, f64, []string{"NaN"}, false},
		{f64, "1", "5", OpEqual, f64, []string{"NaN"}, false},
		{f64, "0", "5", OpEqual, f64, []string{"-0"}, false},
		{f64, "-1", "-0", OpEqual, f64, []string{"0"}, false},
		{f64, "1", "5", OpEqual, i64, []string{"9"}, false}, // of another family
		{text, "b", "d", OpEqual, text, []string{"dd"}, true},
		{text, "b", "d", OpEqual, text, []string{"c\xff"}, false},
		{text, "b", "\xff", OpGreater, text, []string{"é"}, false}, // bytes, not signed ones
		{day, "2024-01-02", "2024-01-03", OpEqual, micros, []string{"2024-01-02 00:00:00"}, false},
		{day, "2024-01-02", "2024-01-03", OpEqual, micros, []string{"2024-01-02 00:00:01"}, true},
		{day, "2024-01-02", "2024-01-03", OpLess, micros, []string{"2024-01-02 00:00:01"}, false},
		{day, "1960-01-02", "1960-01-03", OpGreaterOrEqual, micros, []string{"1960-01-03 12:00:00"}, true},
		{day, "1960-01-02", "1960-01-03", OpGreaterOrEqual, micros, []string{"1960-01-02 12:00:00"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", OpGreater, nanos, []string{"2024-01-02 00:00:00.999999999"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", OpGreater, day, []string{"2024-01-03"}, true},
		{zoned, "2024-01-02 00:00:00Z", "2024-01-02 00:00:01Z", OpGreater, micros, []string{"2025-01-01 00:00:00"}, false}, // what is meant depends on the zone
		{day, "2024-01-02", "2024-01-03", OpGreater, zoned, []string{"2025-01-01 00:00:00Z"}, false},
	} {
		b := textBounds(t, tt.column, tt.low, tt.high)
		term, ok := bindTerm(newTerm(t, 0, tt.op, textArray(t, tt.constant, tt.values...)).Term, tt.column)
		if got := ok && term.excludes(&b); got != tt.want {
			t.Errorf("%s from %q to %q, %s %s: got %t", tt.column, tt.low, tt.high, tt.op, strings.Join(tt.values, ", "), got)
		}
		if tt.op != OpIn && ok {
			all := bounds{low: b.low, high: b.high, allNulls: true}
			if !term.excludes(&all) {
				t.Errorf("%s %s: may be TRUE where all are NULL", tt.op, tt.values)
			}
		}
	}
	for _, op := range []Op{OpIsNull, OpIsNotNull} {
		term, _ := bindTerm(Term{Op: op}, i64)
		for _, b := range []bounds{{}, {noNulls: true}, {allNulls: true}} {
			if got, want := term.excludes(&b), op == OpIsNull && b.noNulls || op == OpIsNotNull && b.allNulls; got != want {
				t.Errorf("%s of %+v: got %t", op, b, got)
			}
		}
	}
	infinite := Term{Op: OpLess, Values: []scalar.Scalar{scalar.NewTimestampScalar(math.MaxInt64, micros)}}
	if _, ok := bindTerm(infinite, day); ok {
		t.Error("a date is compared with an infinite timestamp by its units")
	}
}

// Statistics that are old, missing, shortened or wrong say less, and never more than is sure.
func TestGroupBounds(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "u", Type: arrow.PrimitiveTypes.Uint32, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{
		textArray(t, arrow.PrimitiveTypes.Int32, "-5", "7"), textArray(t, arrow.PrimitiveTypes.Uint32, "5", "4000000000"), textArray(t, arrow.BinaryTypes.String, "a", "z"),
	}, 2)
	data := encodeParquet(t, 2, []arrow.RecordBatch{batch})
	const i, u, s = 0, 1, 2
	type known struct{ bounded, noNulls, exact bool }
	undefined := func(p *parquetFile) {
		orders := make([]parquet.ColumnOrder, 3)
		for c := range orders {
			orders[c] = parquet.ColumnOrders.Undefined
		}
		if err := p.meta.Schema.UpdateColumnOrders(orders); err != nil {
			t.Fatal(err)
		}
	}
	each := func(p *parquetFile, change func(*chunkStats)) {
		for c := range p.groups[0].chunks {
			change(&p.groups[0].chunks[c].stats)
		}
	}
	old := func(p *parquetFile) {
		undefined(p)
		each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
	}
	for _, tt := range []struct {
		name   string
		change func(p *parquetFile)
		want   [3]known // by column
	}{
		{"as written", func(*parquetFile) {}, [3]known{i: {true, true, true}, u: {true, true, true}, s: {true, true, false}}},
		{"old, before there were orders", old, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"old, where the format has orders", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.oldMin, of.oldMax, of.min, of.max = of.min, of.max, nil, nil })
		}, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"orders unknown, and both kinds of statistics", undefined, [3]known{i: {true, true, false}, u: {noNulls: true}, s: {noNulls: true}}},
		{"NULLs not counted", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.nulls = -1 })
		}, [3]known{i: {true, false, true}, u: {true, false, true}, s: {true, false, false}}},
		{"the largest alone", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.min, of.oldMin = nil, nil })
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {noNulls: true}}},
		{"shortened", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.maxExact, of.minExact = compactFalse, compactFalse })
		}, [3]known{i: {true, true, false}, u: {true, true, false}, s: {true, true, false}}},
		{"the wrong way round", func(p *parquetFile) {
			each(p, func(of *chunkStats) { of.min, of.max = of.max, of.min })
		}, [3]known{i: {noNulls: true, exact: true}, u: {noNulls: true, exact: true}, s: {noNulls: true}}},
		{"of another width", func(p *parquetFile) {
			for c := range 2 {
				p.chunk(0, c).stats.min = []byte{1}
			}
		}, [3]known{i: {noNulls: true}, u: {noNulls: true}, s: {true, true, false}}},
	} {
		src := mustOpen(t, Options{}, writeFile(t, t.TempDir(), "f.parquet", data)).(*table)
		p := src.files[0].input.(*parquetFile)
		tt.change(p)
		for c, want := range tt.want {
			b := p.groupBounds(0, c)
			if b.exact && !want.exact && (b.low == nil || b.high == nil) {
				b.exact = false // of nothing
			}
			if got := (known{b.low != nil && b.high != nil, b.noNulls, b.exact}); got.bounded != want.bounded || got.noNulls != want.noNulls || got.exact && !want.exact {
				t.Errorf("%s, column %d: got %+v, want %+v", tt.name, c, got, want)
			}
		}
	}
}
