package tests

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	mpgasql "github.com/mpga/mpga/engine/sql"
)

// DuckDB reads in mpga's Parquet files what it wrote itself: every type, with NULLs, in
// dictionaries and without, in each codec; and it finds the least and the greatest values, which
// statistics must not hide.
func TestSinkReadByDuckDB(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", strings.Replace(mixedTable, "range(3000)", "range(60000)", 1))
	for i, codec := range []string{"none", "snappy", "zstd", "gzip", "lz4", "brotli"} {
		file := filepath.Join(s.dir, codec+".parquet")
		layout := sink.Options{Codec: codec, RowGroupRows: int64(25_000 << i), Threads: 1 + i%3}
		if codec == "brotli" {
			layout.Level = 10 // in pieces
		}
		s.copyTo(t, "SELECT * FROM t", file, layout)
		s.addFile(t, "copy", file)
		s.sameRows(t, "FROM t", "FROM copy")
	}
	columns, err := s.theirs("SELECT column_name FROM (DESCRIBE t)")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		name := c[0].(string)
		for _, bound := range []string{"min", "max"} {
			where := fmt.Sprintf(" WHERE %s = (SELECT %s(%s) FROM t) OR %s IS NULL", name, bound, name, name)
			s.sameRows(t, "FROM t"+where, "FROM copy"+where)
		}
	}
}

// The page index of a file that mpga wrote leaves out pages, and no row that DuckDB finds.
func TestSinkPageIndex(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", strings.Replace(mixedTable, "range(3000)", "range(120000)", 1))
	for _, order := range []string{"id", "s, d", "ts DESC, w"} {
		file := filepath.Join(s.dir, "ordered.parquet")
		s.copyTo(t, "SELECT * FROM t ORDER BY "+order, file, sink.Options{})
		s.addFile(t, "ordered", file)
		for _, where := range []string{
			"id BETWEEN 70000 AND 70100", "id = 119999 OR id < 3", "s = 'aaa' AND d > 900", "s >= 'Ä' AND d < -999", "s IS NULL AND d IS NULL",
			"ts < TIMESTAMP '1940-03-01'", "ts IS NULL AND f > 120", "w > 123456700000000000", "d = 0.0", "n = 'name 17'", "dt = DATE '1999-12-31'",
		} {
			s.check(t, "SELECT id, l, s, d, w, n, ts, dt FROM ordered WHERE "+where+" ORDER BY id")
		}
	}
}

// Long strings, of which not all rows of a batch fit the memory, are as DuckDB's.
func TestSQLLongStrings(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", mixedTable)
	for _, text := range []string{
		"SELECT count(*), sum(length(repeat(n, 2000))) FROM t WHERE length(repeat(s, 3000)) > 9000",
		"SELECT id % 5 AS k, max(length(replace(lpad(n, 20000, 'xy'), 'x', 'zzz'))) FROM t GROUP BY k ORDER BY k",
		"SELECT id, length(concat(x, '-', x)), right(x, 9) FROM (SELECT id, repeat(n, 1500) AS x FROM t) ORDER BY id",
		"SELECT id, length(CASE WHEN id % 500 = 3 THEN repeat(n, 200000) ELSE n END) FROM t ORDER BY id",
	} {
		s.check(t, text)
	}
}

// sameRows fails where two queries of DuckDB have not the same rows.
func (s *sqlTables) sameRows(t *testing.T, want, got string) {
	t.Helper()
	rows, err := s.theirs(fmt.Sprintf("SELECT (SELECT count(*) FROM (%[1]s)), (SELECT count(*) FROM (%[2]s)), (SELECT count(*) FROM (%[1]s EXCEPT ALL %[2]s))", want, got))
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r[0] != r[1] || fmt.Sprint(r[2]) != "0" {
		t.Errorf("%s: %v rows, want %v of %s; %v differ", got, r[1], r[0], want, r[2])
	}
}

// copyTo writes a statement's result to a file.
func (s *sqlTables) copyTo(t *testing.T, text, file string, opt sink.Options) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	check(err)
	defer eng.Close()
	statement, err := mpgasql.Parse(text)
	check(err)
	query, err := plan.Prepare(context.Background(), eng, statement, plan.Options{Tables: s.tables})
	check(err)
	defer query.Close()
	result, err := query.Run(context.Background())
	check(err)
	defer result.Release()
	out, err := sink.Create(t.Context(), file, result.Schema(), opt)
	check(err)
	for result.Next() {
		check(out.Write(result.RecordBatch()))
	}
	check(result.Err())
	check(out.Commit())
}

// Would catch NULL within nested values, which has a type of its own, and fields without names in files that nobody reads.
func TestSinkNestedParts(t *testing.T) {
	s := openSQL(t)
	for _, format := range []string{"parquet", "arrow"} {
		file := filepath.Join(s.dir, "parts."+format)
		s.copyTo(t, "SELECT [NULL] AS a, {'n': NULL} AS b, [] AS c, MAP {} AS d, (1, NULL) AS e, [(2, 'x')] AS f", file, sink.Options{})
		s.tables["parts"] = plan.Table{Files: []string{file}}
		text := "SELECT a::VARCHAR, b::VARCHAR, c::VARCHAR, len(d::VARCHAR), e.element1, e.element2, f[1].element2 FROM "
		want := [][]any{{"[NULL]", "{'n': NULL}", "[]", "2", "1", nil, "x"}}
		got, err := s.ours(text + "parts")
		if err == nil {
			err = sameCells(want, got, true)
		}
		if err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if format == "parquet" {
			theirs, err := s.theirs(text + "'" + file + "'")
			if err == nil {
				err = sameCells(theirs, got, true)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}
