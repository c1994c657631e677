//go:build cgo

package plan_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// A column that is named as an expression is written is still the column, and the expression the
// expression.
func TestColumnsNamedAsExpressions(t *testing.T) {
	names := []string{"a", "b", "count(*)", "(a + b)", "sum(a)", "a, b", "NULL"}
	values := [][]int64{{1, 10, 100, 1000, 5, 7, 9}, {2, 20, 100, 1000, 5, 7, 9}}
	fields := make([]arrow.Field, len(names))
	columns := make([]arrow.Array, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for _, row := range values {
			b.Append(row[i])
		}
		columns[i] = b.NewArray()
	}
	schema := arrow.NewSchema(fields, nil)
	source := scan.Batches(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, columns, 2)})
	eng, tables := openEngine(t), map[string]plan.Table{"t": {Source: source}}
	for _, c := range []struct{ text, want string }{
		{`SELECT "count(*)", count(*) FROM t GROUP BY 1`, "[[100 2]]"},
		{`SELECT count(*), "count(*)" FROM t GROUP BY 2`, "[[2 100]]"},
		{`SELECT sum("(a + b)"), sum(a + b) FROM t`, "[[2000 33]]"},
		{`SELECT sum(a + b), sum("(a + b)") FROM t`, "[[33 2000]]"},
		{`SELECT "sum(a)", sum(a) FROM t GROUP BY "sum(a)"`, "[[5 3]]"},
		{`SELECT "(a + b)", a + b, count(*) FROM t GROUP BY 1, 2 ORDER BY a + b`, "[[1000 11 1] [1000 22 1]]"},
		{`SELECT sum(greatest("a, b", 0)), sum(greatest(a, b, 0)) FROM t`, "[[14 30]]"},
		{`SELECT sum(coalesce("NULL", 0)), sum(coalesce(NULL, 0)) FROM t`, "[[18 0]]"},
		{`SELECT "(a + b)", a + b AS c FROM t ORDER BY a + b DESC`, "[[1000 22] [1000 11]]"},
	} {
		rows, err := ask(eng, c.text, tables)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := fmt.Sprint(rows); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// A column without a name is no column less.
func TestNamelessColumn(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2}, nil)
	b.Field(1).(*array.Int64Builder).AppendValues([]int64{30, 40}, nil)
	eng, tables := openEngine(t), map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})}}
	for text, want := range map[string]string{
		"SELECT * FROM t ORDER BY a":                "[[1 30] [2 40]]",
		"SELECT sum(C1) AS s FROM t WHERE c1 > 30":  "[[40]]",
		"SELECT C1 / 10 AS x FROM t GROUP BY C1, x": "[[3] [4]]",
	} {
		answersInAnyOrder(t, eng, tables, text, want)
	}
	if _, err := ask(eng, "SELECT *", nil); err == nil {
		t.Error("* of no table has an answer")
	}
}

// Rows of 0.0 and -0.0 are one group, but not where another key tells them apart.
func TestKeysOfZeros(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: arrow.PrimitiveTypes.Float64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{0, math.Copysign(0, -1), 2}, nil)
	eng, tables := openEngine(t), map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})}}
	for _, c := range []struct{ text, want string }{
		{"SELECT count(*), count(*) FILTER (WHERE d = 0) FROM t GROUP BY d ORDER BY 1", "[[1 0] [2 2]]"},
		{"SELECT 1 / d AS x, count(*) FROM t GROUP BY d, x ORDER BY x", "[[-Inf 1] [0.5 1] [+Inf 1]]"},
		{"SELECT CAST(d AS VARCHAR) AS x FROM t GROUP BY d, x ORDER BY x", "[[-0.0] [0.0] [2.0]]"},
	} {
		answers(t, eng, tables, c.text, c.want)
	}
}

// A name of the list behind SELECT that a column has, too: would catch conditions and orders of the
// one that is not meant.
func TestNamesOfColumns(t *testing.T) {
	eng, tables := openEngine(t), map[string]plan.Table{"docs": {Source: docsTable()}}
	for _, c := range []struct{ text, want string }{
		{"SELECT -x AS y FROM docs WHERE y < 40 ORDER BY y", "[[-4] [-2] [-1]]"},
		{"SELECT -x AS y FROM docs WHERE y < 40 ORDER BY y + 0", "[[-1] [-4] [-2]]"},
		{"SELECT y AS k, -y AS x, x AS y FROM docs ORDER BY -k LIMIT 1", "[[40 -40 NULL]]"},
		{"SELECT x AS k, count(*) AS x FROM docs GROUP BY k HAVING x > 1 ORDER BY k", "[[2 1] [4 1]]"},
		{"SELECT x AS k, max(y) AS x FROM docs GROUP BY k ORDER BY x", "[[1 10] [4 20] [2 30] [NULL 40]]"},
		{"SELECT x AS k, max(y) AS x FROM docs GROUP BY k ORDER BY x + 0", "[[1 10] [2 30] [4 20] [NULL 40]]"},
		{"SELECT b, max(y) AS y FROM docs GROUP BY b HAVING y > 25 ORDER BY -y", "[[NULL 40] [true 30]]"},
		{"SELECT y // 20 AS y, count(*) FROM docs GROUP BY y // 20 HAVING y > 0 ORDER BY y * -1", "[[2 1] [1 2]]"},
	} {
		answers(t, eng, tables, c.text, c.want)
	}
}

// Would catch a column of one table that is found by the name of another, and a * of one table that has the
// columns of both: DuckDB 2.0.0 answers so.
func TestScopes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
	}, nil)
	text := strings.NewReader(`[{"id": 1, "l": [10, 20]}, {"id": 2, "l": [30]}]`)
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, text)
	if err != nil {
		t.Fatal(err)
	}
	source := scan.Batches(schema, []arrow.RecordBatch{rows})
	tables := map[string]plan.Table{"lists": {Source: source, In: []string{"memory", "main"}}}
	eng := openEngine(t)
	for _, c := range []struct{ text, want string }{
		{"SELECT t.id, u.id FROM lists t, unnest(l) u(id) ORDER BY 2", "[[1 10] [1 20] [2 30]]"},
		{"SELECT u.*, t.id FROM lists t, unnest(t.l) u(id) ORDER BY u.id", "[[10 1] [20 1] [30 2]]"},
		{"SELECT t.id, sum(u.id) FROM lists t, unnest(l) u(id) WHERE u.id > 10 GROUP BY t.id ORDER BY t.id", "[[1 20] [2 30]]"},
		{"SELECT lists.id FROM lists ORDER BY lists.id LIMIT 1", "[[1]]"},
		{"SELECT main.lists.id FROM main.lists ORDER BY id LIMIT 1", "[[1]]"},
		{"SELECT memory.main.LISTS.id FROM memory.main.lists ORDER BY id LIMIT 1", "[[1]]"},
		{"WITH c AS (SELECT id AS k FROM lists) SELECT c.k, d.k FROM (SELECT c.* FROM c) d ORDER BY d.k", ""},
		{"WITH c AS (SELECT id AS k FROM lists) SELECT d.* FROM (SELECT c.* FROM c) d ORDER BY d.k", "[[1] [2]]"},
		{"DESCRIBE SELECT u.* FROM lists t, unnest(l) u(e)", "[[e BIGINT YES NULL NULL NULL]]"},
		{"DESCRIBE SELECT * FROM lists t, unnest(l) u(id)", "[[id BIGINT YES NULL NULL NULL] [l BIGINT[] YES NULL NULL NULL] [id_1 BIGINT YES NULL NULL NULL]]"},
		{"SUMMARIZE SELECT u.* FROM lists t, unnest(l) u(id)", "[[id BIGINT 10 30 3 20.0 10.0 15 20 25 3 0]]"},
		{"SELECT d.one AS uno FROM (SELECT 1 AS one, id FROM lists) d GROUP BY ALL", "[[1]]"},
		{"SELECT 1 AS one FROM lists GROUP BY ALL", "[[1] [1]]"},
		{"DESCRIBE SELECT nope.* FROM lists", ""},
		{"SELECT e FROM (SELECT abs(id) AS l FROM lists) d, unnest(l) AS u(e)", ""},
		{"SELECT -id AS z FROM lists t ORDER BY t.z", ""},
		{"SELECT u.* FROM lists t", ""},
		{"SELECT id FROM lists t, unnest(l) u(id)", ""},
	} {
		if _, err := ask(eng, c.text, tables); c.want == "" {
			if err == nil {
				t.Errorf("%s: no error", c.text)
			}
			continue
		}
		answers(t, eng, tables, c.text, c.want)
	}
}

// Would catch a name that the planner gives a column of its own, and that a column has: each statement has the
// answer that it has over columns of other names.
func TestNamesOfHelpers(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "Distinct 1", Type: arrow.PrimitiveTypes.Int64}, {Name: "distinct 1", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Int64}, {Name: "grouping set", Type: arrow.PrimitiveTypes.Int64},
		{Name: "unnest(l)", Type: arrow.PrimitiveTypes.Int64}, {Name: "position", Type: arrow.PrimitiveTypes.Int64},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}, {Name: "(x + 1)", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[
		{"Distinct 1": 1, "distinct 1": 2, "x": 3, "grouping set": 4, "unnest(l)": 5, "position": 6, "l": [7, 8], "(x + 1)": 9},
		{"Distinct 1": 1, "distinct 1": 2, "x": 30, "grouping set": 4, "unnest(l)": 5, "position": 6, "l": [9], "(x + 1)": 9}]`))
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{rows})}}
	eng := openEngine(t)
	for _, c := range []struct{ text, want string }{
		{`SELECT "Distinct 1", "distinct 1", count(DISTINCT x), sum(DISTINCT x) FROM t GROUP BY ALL`, "[[1 2 2 33]]"},
		{`SELECT "grouping set", "x", count(*) FROM t GROUP BY ROLLUP ("grouping set", x) ORDER BY ALL`, "[[4 3 1] [4 30 1] [4 NULL 2] [NULL NULL 2]]"},
		{`SELECT unnest(l), "unnest(l)" FROM t ORDER BY 1`, "[[7 5] [8 5] [9 5]]"},
		{`SELECT unnest(l) AS e, count(*) FROM t GROUP BY e ORDER BY e`, "[[7 1] [8 1] [9 1]]"},
		{`SELECT x, position FROM t ORDER BY x DESC LIMIT 1`, "[[30 6]]"},
		{`SELECT max(x + 1), max("(x + 1)") FROM t GROUP BY x + 1, "(x + 1)" ORDER BY 1`, "[[4 9] [31 9]]"},
	} {
		answers(t, eng, tables, c.text, c.want)
	}
}
