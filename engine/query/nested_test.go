package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestFieldName(t *testing.T) {
	for want, path := range map[string][]string{
		"a.b": {"a", "b"}, `a."x.y".c`: {"a", "x.y", "c"}, `"a""b".c`: {`a"b`, "c"}, `a.""`: {"a", ""}, "a.B c": {"a", "B c"},
	} {
		if got := FieldName(path...); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := HiddenFieldName("a", "b", "c"); got != "(a).b.c" {
		t.Errorf("got %s", got)
	}
}

// The names are DuckDB's.
func TestTypeName(t *testing.T) {
	of := arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "c", Type: arrow.BinaryTypes.String})
	for want, dt := range map[string]arrow.DataType{
		"INTERVAL": arrow.FixedWidthTypes.MonthInterval,

		"STRUCT(b INTEGER, c VARCHAR)":   of,
		"STRUCT(b INTEGER, c VARCHAR)[]": arrow.LargeListOf(of),
		"BIGINT[][]":                     arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64)),
		"FLOAT[3]":                       arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
		"MAP(VARCHAR, DECIMAL(9,2))":     arrow.MapOf(arrow.BinaryTypes.String, &arrow.Decimal128Type{Precision: 9, Scale: 2}),
		"TIMESTAMP WITH TIME ZONE":       arrow.FixedWidthTypes.Timestamp_us,
		"TIMESTAMP":                      &arrow.TimestampType{Unit: arrow.Second},
		"TIMESTAMP_NS":                   &arrow.TimestampType{Unit: arrow.Nanosecond},
		"VARCHAR":                        &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		"run_end_encoded<run_ends: int32, values: int64>": arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64),
	} {
		if got := TypeName(dt); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An error names the column, the type and what can be done; it does not grow with the type.
func TestCheckReadable(t *testing.T) {
	fields := make([]arrow.Field, 1000)
	for i := range fields {
		fields[i] = arrow.Field{Name: strings.Repeat("é", 20), Type: arrow.PrimitiveTypes.Int32}
	}
	for want, dt := range map[string]arrow.DataType{
		`column "c" is a list, VARCHAR[], of which the elements can be read: unnest(c)`: arrow.ListOf(arrow.BinaryTypes.String),
		`column "c" is a list, DATE[][], and cannot be read`:                            arrow.ListOf(arrow.ListOf(arrow.FixedWidthTypes.Date32)),
		`column "c" is a map, MAP(INTEGER, DATE), and cannot be read`:                   arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Date32),
		`column "c" is a nested column, STRUCT(), and cannot be read`:                   arrow.StructOf(),
		`..., and cannot be read; the other columns can`:                                arrow.StructOf(fields...),
	} {
		if err := CheckReadable("c", dt); err == nil || !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := CheckReadable("c", arrow.BinaryTypes.String); err != nil {
		t.Error(err)
	}
}

// Who names a struct is told of its fields.
func TestFindColumnOfStruct(t *testing.T) {
	names := []string{"a.b", "(a).b", "a.c", "ab", `"x.y".z`}
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}
	}
	schema := arrow.NewSchema(fields, nil)
	for name, want := range map[string]string{"A": "its fields are columns: a.b, (a).b, a.c", "x.y": `its fields are columns: "x.y".z`} {
		if _, err := FindColumn(schema, name); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
