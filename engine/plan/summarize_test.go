//go:build cgo

package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
)

// summaryTable has the types that SUMMARIZE tells apart: two values and a NULL of each.
func summaryTable() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "b", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "The C", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "e", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "f", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "i", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
	}, nil)
	cells := [][]any{
		{int64(1), int64(2), nil},
		{1.5, math.NaN(), nil},
		{"a", "b", nil},
		{int64(18262), int64(18263), nil},
		{int64(1577840523000000), int64(1577840525000000), nil},
		{true, false, nil},
		{int64(3723000000), int64(3724000000), nil},
		{int64(math.MaxInt64), int64(math.MaxInt64), nil},
	}
	columns := make([]arrow.Array, len(cells))
	for i := range cells {
		columns[i] = grouptest.Array(schema.Field(i).Type, cells[i])
	}
	lists := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64)
	defer lists.Release()
	for _, valid := range []bool{true, true, false} {
		lists.Append(valid)
	}
	columns = append(columns, lists.NewArray())
	return scan.Batches(schema, []arrow.RecordBatch{grouptest.Batch(schema, columns...)})
}

// Would catch an infinite time, which has no microseconds, as an error. DuckDB's mean takes it for the largest time.
func TestSummarizeInfinity(t *testing.T) {
	answers(t, openEngine(t), nil, `SELECT max, avg, count FROM (SUMMARIZE SELECT * FROM
		(VALUES (TIMESTAMP 'infinity'), ('-infinity'), ('2001-01-01'), ('2001-01-03')) v(t))`,
		"[[infinity 2001-01-02 00:00:00 4]]")
}

// What DuckDB 2.0.0 answers, but for quantiles between two values, which DuckDB approximates.
func TestSummarize(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"t": {Source: summaryTable()}}
	answers(t, eng, tables, "SUMMARIZE t", "["+strings.Join([]string{
		"[a INTEGER 1 2 2 1.5 0.7071067811865476 1 2 2 3 33.33]",
		"[b DOUBLE 1.5 nan 2 nan nan 1.5 1.5 1.5 3 33.33]",
		"[The C VARCHAR a b 2 NULL NULL NULL NULL NULL 3 33.33]",
		"[d DATE 2020-01-01 2020-01-02 2 2020-01-01 12:00:00 NULL 2020-01-01 2020-01-02 2020-01-02 3 33.33]",
		"[e TIMESTAMP 2020-01-01 01:02:03 2020-01-01 01:02:05 2 2020-01-01 01:02:04 NULL 2020-01-01 01:02:03.5 2020-01-01 01:02:04 2020-01-01 01:02:04.5 3 33.33]",
		"[f BOOLEAN false true 2 NULL NULL NULL NULL NULL 3 33.33]",
		"[i TIME 01:02:03 01:02:04 2 01:02:03.5 NULL 01:02:03.25 01:02:03.5 01:02:03.75 3 33.33]",
		"[k BIGINT 9223372036854775807 9223372036854775807 1 9.223372036854776e+18 0.0 9223372036854775807 9223372036854775807 9223372036854775807 3 33.33]",
		"[l BIGINT[] [] [] 1 NULL NULL NULL NULL NULL 3 33.33]",
	}, " ")+"]")
	answers(t, eng, tables, "SUMMARIZE SELECT a, a + 1 AS b FROM t WHERE false",
		"[[a INTEGER NULL NULL 0 NULL NULL NULL NULL NULL 0 NULL] [b INTEGER NULL NULL 0 NULL NULL NULL NULL NULL 0 NULL]]")
	answers(t, eng, tables, `SUMMARIZE SELECT "The C", count(*) AS n FROM t GROUP BY ALL ORDER BY n LIMIT 2`,
		"[[The C VARCHAR a b 2 NULL NULL NULL NULL NULL 2 0] [n BIGINT 1 1 1 1.0 0.0 1 1 1 2 0]]")
}

func TestDescribe(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"t": {Source: summaryTable()}}
	answers(t, eng, tables, `DESCRIBE SELECT k, "The C", sum(b) AS s, avg(a)::DECIMAL(10, 2) AS m FROM t GROUP BY ALL`,
		"[[k BIGINT YES NULL NULL NULL] [The C VARCHAR YES NULL NULL NULL] [s DOUBLE YES NULL NULL NULL] [m DECIMAL(10,2) YES NULL NULL NULL]]")
	if rows, err := ask(eng, "EXPLAIN SELECT a, count(*) FROM t GROUP BY a", tables); err != nil || len(rows) != 1 ||
		rows[0][0] != "physical_plan" || !strings.Contains(rows[0][1], "count(*)") {
		t.Errorf("EXPLAIN: %v, %v", rows, err)
	}
	for range 2 { // the second run finds the sources as the first did
		rows, err := ask(eng, "EXPLAIN ANALYZE SELECT a, count(*) FROM t GROUP BY a", tables)
		if err != nil || len(rows) != 1 || rows[0][0] != "analyzed_plan" || !strings.Contains(rows[0][1], "ran: ") {
			t.Errorf("EXPLAIN ANALYZE: %v, %v", rows, err)
		}
	}
	_, err := ask(eng, "DESCRIBE SELECT nothing FROM t", tables)
	if want := "column \"nothing\" does not exist"; err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "                    ^") {
		t.Errorf("got %v, want %s at its place", err, want)
	}
}

// Types that expressions do not know are named as DuckDB names them.
func TestTypeName(t *testing.T) {
	for want, dt := range map[string]arrow.DataType{
		"INTEGER[]":                        arrow.ListOf(arrow.PrimitiveTypes.Int32),
		"VARCHAR[3]":                       arrow.FixedSizeListOf(3, arrow.BinaryTypes.LargeString),
		"MAP(VARCHAR, BIGINT[])":           arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int64)),
		`STRUCT(a DOUBLE, "b ""c""" DATE)`: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: `b "c"`, Type: arrow.FixedWidthTypes.Date32}),
	} {
		if got := query.TypeName(dt); got != want {
			t.Errorf("%s: got %s, want %s", dt, got, want)
		}
	}
}
