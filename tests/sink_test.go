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

// DuckDB reads in mpga's Parquet files what it wrote itself: every type, with NULLs, in dictionaries and without,
// in each codec; and it finds the least and the greatest values, which statistics must not hide.
func TestSinkReadByDuckDB(t *testing.T) {
	s := openSQL(t)
	s.add(t, "t", strings.Replace(mixedTable, "range(3000)", "range(60000)", 1))
	for i, codec := range []string{"none", "snappy", "zstd", "gzip", "lz4", "brotli"} {
		file := filepath.Join(s.dir, codec+".parquet")
		s.copyTo(t, "SELECT * FROM t", file, sink.Options{Codec: codec, RowGroupRows: int64(25_000 << i), Threads: 1 + i%3})
		s.exec(t, fmt.Sprintf("CREATE OR REPLACE VIEW copy AS FROM read_parquet('%s')", file))
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
	out, err := sink.Create(file, result.Schema(), opt)
	check(err)
	for result.Next() {
		check(out.Write(result.RecordBatch()))
	}
	check(result.Err())
	check(out.Commit())
}
