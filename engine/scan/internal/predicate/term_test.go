package predicate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

func bind(t scan.Term, typ arrow.DataType) (predicate.Term, bool) {
	return predicate.Bind(t.Column, t.Op, t.Values, typ)
}

// textBounds returns bounds of a column of a type; empty text is no bound.
func textBounds(t *testing.T, typ arrow.DataType, low, high string) predicate.Bounds {
	t.Helper()
	b := predicate.Bounds{Exact: true, NoNulls: true}
	for _, of := range []struct {
		text string
		to   **predicate.Value
	}{{low, &b.Low}, {high, &b.High}} {
		if of.text == "" {
			continue
		}
		term, ok := bind(scantest.NewTerm(t, 0, predicate.OpEqual, scantest.TextArray(t, typ, of.text)).Term, typ)
		if !ok || len(term.Values) != 1 {
			t.Fatalf("%s of type %s", of.text, typ)
		}
		*of.to = &term.Values[0]
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
		op        predicate.Op
		constant  arrow.DataType
		values    []string
		want      bool
	}{
		{i64, "1", "5", predicate.OpEqual, i64, []string{"6"}, true},
		{i64, "1", "5", predicate.OpEqual, i64, []string{"5"}, false},
		{i64, "1", "5", predicate.OpIn, i64, []string{"0", "9"}, true},
		{i64, "1", "5", predicate.OpIn, i64, []string{"0", "3", "9"}, false},
		{i64, "1", "5", predicate.OpIn, i64, nil, true},
		{i64, "5", "5", predicate.OpNotEqual, i64, []string{"5"}, true},
		{i64, "4", "5", predicate.OpNotEqual, i64, []string{"5"}, false},
		{i64, "", "5", predicate.OpGreater, i64, []string{"5"}, true},
		{i64, "", "5", predicate.OpLess, i64, []string{"-100"}, false},
		{i64, "3", "9", predicate.OpEqual, tenths, []string{"4.5"}, true}, // no integer is 4.5
		{i64, "3", "9", predicate.OpNotEqual, tenths, []string{"4.5"}, false},
		{i64, "5", "9", predicate.OpLess, tenths, []string{"4.5"}, true},
		{i64, "4", "9", predicate.OpLess, tenths, []string{"4.5"}, false},
		{i64, "4", "9", predicate.OpLessOrEqual, tenths, []string{"4.5"}, false},
		{i64, "-9", "-5", predicate.OpGreater, tenths, []string{"-5.5"}, false},
		{i64, "-9", "-6", predicate.OpGreaterOrEqual, tenths, []string{"-5.5"}, true},
		{i64, "-9", "-5", predicate.OpGreaterOrEqual, tenths, []string{"-5.5"}, false},
		{u64, "18446744073709551610", "18446744073709551615", predicate.OpLess, i64, []string{"-1"}, true},
		{u64, "1", "18446744073709551615", predicate.OpEqual, u64, []string{"18446744073709551614"}, false},
		{u64, "1", "9223372036854775807", predicate.OpGreater, u64, []string{"9223372036854775808"}, true},
		{hundredths, "1.25", "1.50", predicate.OpEqual, tenths, []string{"1.2"}, true},
		{hundredths, "1.20", "1.50", predicate.OpEqual, tenths, []string{"1.2"}, false},
		{hundredths, "1.20", "1.50", predicate.OpGreater, i64, []string{"1"}, false},
		{f64, "1", "5", predicate.OpEqual, f64, []string{"6"}, true},
		{f64, "1", "5", predicate.OpGreater, f64, []string{"6"}, false}, // NaN may be there, and larger
		{f64, "1", "1", predicate.OpNotEqual, f64, []string{"1"}, false},
		{f64, "1", "5", predicate.OpLess, f64, []string{"1"}, true},
		{f64, "1", "5", predicate.OpLess, f64, []string{"NaN"}, false},
		{f64, "1", "5", predicate.OpEqual, f64, []string{"NaN"}, false},
		{f64, "0", "5", predicate.OpEqual, f64, []string{"-0"}, false},
		{f64, "-1", "-0", predicate.OpEqual, f64, []string{"0"}, false},
		{f64, "1", "5", predicate.OpEqual, i64, []string{"9"}, false}, // of another family
		{text, "b", "d", predicate.OpEqual, text, []string{"dd"}, true},
		{text, "b", "d", predicate.OpEqual, text, []string{"c\xff"}, false},
		{text, "b", "\xff", predicate.OpGreater, text, []string{"é"}, false}, // bytes, not signed ones
		{day, "2024-01-02", "2024-01-03", predicate.OpEqual, micros, []string{"2024-01-02 00:00:00"}, false},
		{day, "2024-01-02", "2024-01-03", predicate.OpEqual, micros, []string{"2024-01-02 00:00:01"}, true},
		{day, "2024-01-02", "2024-01-03", predicate.OpLess, micros, []string{"2024-01-02 00:00:01"}, false},
		{day, "1960-01-02", "1960-01-03", predicate.OpGreaterOrEqual, micros, []string{"1960-01-03 12:00:00"}, true},
		{day, "1960-01-02", "1960-01-03", predicate.OpGreaterOrEqual, micros, []string{"1960-01-02 12:00:00"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", predicate.OpGreater, nanos, []string{"2024-01-02 00:00:00.999999999"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", predicate.OpGreater, day, []string{"2024-01-03"}, true},
		{zoned, "2024-01-02 00:00:00Z", "2024-01-02 00:00:01Z", predicate.OpGreater, micros, []string{"2025-01-01 00:00:00"}, false}, // what is meant depends on the zone
		{day, "2024-01-02", "2024-01-03", predicate.OpGreater, zoned, []string{"2025-01-01 00:00:00Z"}, false},
	} {
		b := textBounds(t, tt.column, tt.low, tt.high)
		term, ok := bind(scantest.NewTerm(t, 0, tt.op, scantest.TextArray(t, tt.constant, tt.values...)).Term, tt.column)
		if got := ok && term.Excludes(&b); got != tt.want {
			t.Errorf("%s from %q to %q, %s %s: got %t", tt.column, tt.low, tt.high, tt.op, strings.Join(tt.values, ", "), got)
		}
		if tt.op != predicate.OpIn && ok {
			all := predicate.Bounds{Low: b.Low, High: b.High, AllNulls: true}
			if !term.Excludes(&all) {
				t.Errorf("%s %s: may be TRUE where all are NULL", tt.op, tt.values)
			}
		}
	}
	for _, op := range []predicate.Op{predicate.OpIsNull, predicate.OpIsNotNull} {
		term, _ := bind(scan.Term{Op: op}, i64)
		for _, b := range []predicate.Bounds{{}, {NoNulls: true}, {AllNulls: true}} {
			if got, want := term.Excludes(&b), op == predicate.OpIsNull && b.NoNulls || op == predicate.OpIsNotNull && b.AllNulls; got != want {
				t.Errorf("%s of %+v: got %t", op, b, got)
			}
		}
	}
	infinite := scan.Term{Op: predicate.OpLess, Values: []scalar.Scalar{scalar.NewTimestampScalar(math.MaxInt64, micros)}}
	if _, ok := bind(infinite, day); ok {
		t.Error("a date is compared with an infinite timestamp by its units")
	}
}
