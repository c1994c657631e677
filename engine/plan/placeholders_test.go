//go:build cgo

package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

// twoColumns is a table of three rows: (1, 'one'), (2, 'two'), (3, NULL).
func twoColumns() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int32Builder).AppendValues([]int32{1, 2, 3}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"one", "two", ""}, []bool{true, true, false})
	return scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
}

// A parameter stands for its value wherever an expression may stand, next to every sign, and has
// the type that its place lets expect.
func TestParameters(t *testing.T) {
	eng, tables := openEngine(t), map[string]plan.Table{"t": {Source: twoColumns(), In: []string{"mpga", "main"}}}
	number := func(text string) plan.Parameter {
		return plan.Parameter{Type: arrow.PrimitiveTypes.Int64, Text: text}
	}
	text := func(text string) plan.Parameter { return plan.Parameter{Type: arrow.BinaryTypes.String, Text: text} }
	day := plan.Parameter{Type: arrow.FixedWidthTypes.Date32, Text: "2025-12-31"}
	null := plan.Parameter{Type: arrow.PrimitiveTypes.Int64, Null: true}
	for _, c := range []struct {
		text        string
		values      []plan.Parameter
		types, want string
	}{
		{"SELECT ?", []plan.Parameter{number("7")}, "[utf8]", "[[7]]"},
		{"SELECT ?+?-?", []plan.Parameter{number("7"), number("-2"), number("1")}, "[utf8 utf8 utf8]", "[[4]]"},
		{"SELECT $2, $1, $2 || 'x'", []plan.Parameter{number("1"), text("b")}, "[utf8 utf8]", "[[b 1 bx]]"},
		{"SELECT count(*) FROM t WHERE n>=?", []plan.Parameter{number("2")}, "[int32]", "[[2]]"},
		{"SELECT count(*) FROM main.t WHERE n=? OR s IN(?,?)", []plan.Parameter{number("3"), text("one"), text("?")}, "[int32 utf8 utf8]", "[[2]]"},
		{"SELECT count(*) FROM mpga.main.t WHERE n BETWEEN? AND?", []plan.Parameter{number("2"), number("3")}, "[int32 int32]", "[[2]]"},
		{"SELECT '?', \"s\" /* ? */ FROM t -- ?\nWHERE n=?", []plan.Parameter{number("1")}, "[int32]", "[[? one]]"},
		{"SELECT sum(n + ?) AS s FROM (SELECT n FROM t WHERE n < ?) u HAVING sum(n) > ?", []plan.Parameter{number("1"), number("3"), number("0")}, "[int32 int32 utf8]", "[[5]]"},
		{"SELECT n FROM t ORDER BY n LIMIT ? OFFSET ?", []plan.Parameter{number("1"), number("1")}, "[int64 int64]", "[[2]]"},
		{"SELECT n % ? AS r, count(*) FROM t GROUP BY 1 ORDER BY 1", []plan.Parameter{number("2")}, "[int32]", "[[0 1] [1 2]]"},
		{"SELECT n % ? AS r, count(*) FROM t GROUP BY n % ? ORDER BY 1", []plan.Parameter{number("2"), number("2")}, "[int32 int32]", "[[0 1] [1 2]]"},
		{"SELECT ?::DATE + 1", []plan.Parameter{day}, "[date32]", "[[2026-01-01]]"},
		{"SELECT count(*) FROM t WHERE n = ?", []plan.Parameter{null}, "[int32]", "[[0]]"},
		{"SELECT coalesce(?, s) FROM t WHERE n = 1", []plan.Parameter{null}, "[utf8]", "[[one]]"},
	} {
		s, err := sql.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		q, err := plan.Prepare(context.Background(), eng, s, plan.Options{Tables: tables})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := fmt.Sprint(q.Parameters()); got != c.types {
			t.Errorf("%s: parameters of types %s, want %s", c.text, got, c.types)
		}
		if _, err := q.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "values that are given: 0") {
			t.Errorf("%s: run without values: %v", c.text, err)
		}
		q.Close()
		rows, err := askOf(eng, s, plan.Options{Tables: tables, Parameters: c.values})
		if got := fmt.Sprint(rows); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}

// Would catch a value too many, values of parameters that do not suit, and names of other schemas.
func TestParameterErrors(t *testing.T) {
	eng, tables := openEngine(t), map[string]plan.Table{"t": {Source: twoColumns(), In: []string{"mpga", "main"}}}
	one := []plan.Parameter{{Type: arrow.BinaryTypes.String, Text: "abc"}}
	for text, want := range map[string]string{
		"SELECT 1":                           "parameters of the statement: 0; values that are given: 1",
		"SELECT ?, ?":                        "parameters of the statement: 2; values that are given: 1",
		"SELECT count(*) FROM t WHERE n > ?": "abc",
		"SELECT ?, $1":                       "beside parameters without",
		"SELECT $0":                          "numbered from $1",
		"SELECT $99999999999":                "numbered from $1",
		"SELECT ? FROM temp.t":               "no table is named temp.t",
		"SELECT ? FROM other.main.t":         "no table is named other.main.t",
		"SELECT n FROM t LIMIT ?":            "LIMIT takes a number",
	} {
		s, err := sql.Parse(text)
		if err == nil {
			_, err = askOf(eng, s, plan.Options{Tables: tables, Parameters: one})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

// The values of a row of a batch arrive as they are, whatever their types.
func TestParametersOf(t *testing.T) {
	eng := openEngine(t)
	for _, c := range []struct {
		typ        arrow.DataType
		text, want string
	}{
		{arrow.PrimitiveTypes.Int8, "-128", "-128"},
		{arrow.PrimitiveTypes.Uint64, "18446744073709551615", "18446744073709551615"},
		{arrow.PrimitiveTypes.Float64, "0.1", "0.1"},
		{arrow.PrimitiveTypes.Float32, "0.5", "0.5"},
		{arrow.FixedWidthTypes.Boolean, "true", "true"},
		{arrow.BinaryTypes.LargeString, "it's", "it's"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, "12345678.25", "12345678.25"},
		{arrow.FixedWidthTypes.Date32, "2025-12-31", "2025-12-31"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, "2025-12-31T23:59:58.123456", "2025-12-31T23:59:58.123456"},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "2025-12-31T23:59:58Z", "2025-12-31T23:59:58Z"},
		{arrow.FixedWidthTypes.Time64us, "23:59:58.5", "23:59:58.500000"},
		{arrow.BinaryTypes.Binary, "/1x4NDE=", "/1x4NDE="}, // the bytes FF 5C 78 34 31, as ValueStr writes them
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "word", "word"},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, c.typ)
		if err := b.AppendValueFromString(c.text); err != nil {
			t.Fatal(err)
		}
		b.AppendNull()
		schema := arrow.NewSchema([]arrow.Field{{Name: "p", Type: c.typ, Nullable: true}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 2)
		for row, want := range []string{c.want, "NULL"} {
			s, err := sql.Parse("SELECT ?")
			if err != nil {
				t.Fatal(err)
			}
			rows, err := askOf(eng, s, plan.Options{Parameters: plan.ParametersOf(batch, row)})
			if got := fmt.Sprint(rows); err != nil || got != "[["+want+"]]" {
				t.Errorf("%s, row %d: got %s, %v, want %s", c.typ, row, got, err, want)
			}
		}
	}
}
