package scan_test

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

// bind returns a term on the column of a table of one column; false where it is of no use.
func bind(t scan.Term, typ arrow.DataType) (bound predicate.Term, ok bool) {
	for _, bound = range scan.BindTerms([]scan.Term{t}, arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ}}, nil)) {
		ok = true
	}
	return bound, ok
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
		term, ok := bind(scantest.NewTerm(t, 0, scan.OpEqual, scantest.TextArray(t, typ, of.text)).Term, typ)
		if !ok || len(term.Values) != 1 {
			t.Fatalf("%s of type %s", of.text, typ)
		}
		*of.to = &term.Values[0]
	}
	return b
}

// Each case is one that a careless comparison gets wrong: a row would be lost, or a row group read
// for nothing.
func TestTermExcludes(t *testing.T) {
	i64, u64, f64, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	day, hundredths, tenths := arrow.FixedWidthTypes.Date32, &arrow.Decimal128Type{Precision: 20, Scale: 2}, &arrow.Decimal128Type{Precision: 20, Scale: 1}
	micros, nanos := &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}
	zoned := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for _, tt := range []struct {
		column    arrow.DataType
		low, high string
		op        scan.Op
		constant  arrow.DataType
		values    []string
		want      bool
	}{
		{i64, "1", "5", scan.OpEqual, i64, []string{"6"}, true},
		{i64, "1", "5", scan.OpEqual, i64, []string{"5"}, false},
		{i64, "1", "5", scan.OpIn, i64, []string{"0", "9"}, true},
		{i64, "1", "5", scan.OpIn, i64, []string{"0", "3", "9"}, false},
		{i64, "1", "5", scan.OpIn, i64, nil, true},
		{i64, "5", "5", scan.OpNotEqual, i64, []string{"5"}, true},
		{i64, "4", "5", scan.OpNotEqual, i64, []string{"5"}, false},
		{i64, "", "5", scan.OpGreater, i64, []string{"5"}, true},
		{i64, "", "5", scan.OpLess, i64, []string{"-100"}, false},
		{i64, "3", "9", scan.OpEqual, tenths, []string{"4.5"}, true}, // no integer is 4.5
		{i64, "3", "9", scan.OpNotEqual, tenths, []string{"4.5"}, false},
		{i64, "5", "9", scan.OpLess, tenths, []string{"4.5"}, true},
		{i64, "4", "9", scan.OpLess, tenths, []string{"4.5"}, false},
		{i64, "4", "9", scan.OpLessOrEqual, tenths, []string{"4.5"}, false},
		{i64, "-9", "-5", scan.OpGreater, tenths, []string{"-5.5"}, false},
		{i64, "-9", "-6", scan.OpGreaterOrEqual, tenths, []string{"-5.5"}, true},
		{i64, "-9", "-5", scan.OpGreaterOrEqual, tenths, []string{"-5.5"}, false},
		{u64, "18446744073709551610", "18446744073709551615", scan.OpLess, i64, []string{"-1"}, true},
		{u64, "1", "18446744073709551615", scan.OpEqual, u64, []string{"18446744073709551614"}, false},
		{u64, "1", "9223372036854775807", scan.OpGreater, u64, []string{"9223372036854775808"}, true},
		{hundredths, "1.25", "1.50", scan.OpEqual, tenths, []string{"1.2"}, true},
		{hundredths, "1.20", "1.50", scan.OpEqual, tenths, []string{"1.2"}, false},
		{hundredths, "1.20", "1.50", scan.OpGreater, i64, []string{"1"}, false},
		{f64, "1", "5", scan.OpEqual, f64, []string{"6"}, true},
		{f64, "1", "5", scan.OpGreater, f64, []string{"6"}, false}, // NaN may be there, and larger
		{f64, "1", "1", scan.OpNotEqual, f64, []string{"1"}, false},
		{f64, "1", "5", scan.OpLess, f64, []string{"1"}, true},
		{f64, "1", "5", scan.OpLess, f64, []string{"NaN"}, false},
		{f64, "1", "5", scan.OpEqual, f64, []string{"NaN"}, false},
		{f64, "0", "5", scan.OpEqual, f64, []string{"-0"}, false},
		{f64, "-1", "-0", scan.OpEqual, f64, []string{"0"}, false},
		{f64, "1", "5", scan.OpEqual, i64, []string{"9"}, false}, // of another family
		{text, "b", "d", scan.OpEqual, text, []string{"dd"}, true},
		{text, "b", "d", scan.OpEqual, text, []string{"c\xff"}, false},
		{text, "b", "\xff", scan.OpGreater, text, []string{"é"}, false}, // bytes, not signed ones
		{day, "2024-01-02", "2024-01-03", scan.OpEqual, micros, []string{"2024-01-02 00:00:00"}, false},
		{day, "2024-01-02", "2024-01-03", scan.OpEqual, micros, []string{"2024-01-02 00:00:01"}, true},
		{day, "2024-01-02", "2024-01-03", scan.OpLess, micros, []string{"2024-01-02 00:00:01"}, false},
		{day, "1960-01-02", "1960-01-03", scan.OpGreaterOrEqual, micros, []string{"1960-01-03 12:00:00"}, true},
		{day, "1960-01-02", "1960-01-03", scan.OpGreaterOrEqual, micros, []string{"1960-01-02 12:00:00"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", scan.OpGreater, nanos, []string{"2024-01-02 00:00:00.999999999"}, false},
		{micros, "2024-01-02 00:00:00", "2024-01-02 00:00:01", scan.OpGreater, day, []string{"2024-01-03"}, true},
		{zoned, "2024-01-02 00:00:00Z", "2024-01-02 00:00:01Z", scan.OpGreater, micros, []string{"2025-01-01 00:00:00"}, false}, // what is meant depends on the zone
		{day, "2024-01-02", "2024-01-03", scan.OpGreater, zoned, []string{"2025-01-01 00:00:00Z"}, false},
	} {
		b := textBounds(t, tt.column, tt.low, tt.high)
		term, ok := bind(scantest.NewTerm(t, 0, tt.op, scantest.TextArray(t, tt.constant, tt.values...)).Term, tt.column)
		if got := ok && term.Excludes(&b); got != tt.want {
			t.Errorf("%s from %q to %q, %s %s: got %t", tt.column, tt.low, tt.high, tt.op, strings.Join(tt.values, ", "), got)
		}
		if tt.op != scan.OpIn && ok {
			all := predicate.Bounds{Low: b.Low, High: b.High, AllNulls: true}
			if !term.Excludes(&all) {
				t.Errorf("%s %s: may be TRUE where all are NULL", tt.op, tt.values)
			}
		}
	}
	for _, op := range []scan.Op{scan.OpIsNull, scan.OpIsNotNull} {
		term, _ := bind(scan.Term{Op: op}, i64)
		for _, b := range []predicate.Bounds{{}, {NoNulls: true}, {AllNulls: true}} {
			if got, want := term.Excludes(&b), op == scan.OpIsNull && b.NoNulls || op == scan.OpIsNotNull && b.AllNulls; got != want {
				t.Errorf("%s of %+v: got %t", op, b, got)
			}
		}
	}
	infinite := scan.Term{Op: scan.OpLess, Values: []scalar.Scalar{scalar.NewTimestampScalar(math.MaxInt64, micros)}}
	if _, ok := bind(infinite, day); ok {
		t.Error("a date is compared with an infinite timestamp by its units")
	}
}
