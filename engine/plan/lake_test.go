//go:build cgo

package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
)

// Rows of the tables in testdata/lake, which deltalake 1.6 and pyiceberg 0.12 have written, but the deletes of
// Iceberg: id counts from 0 on, k is id % 3 or 5, s is NULL or s(id % 11), ts is the id-th hour of 2026.
//
//	delta_parts      partitions by k; 20 and 10 rows, without id 5 since version 2, which has a checkpoint; 10 more rows
//	iceberg_evolved  12 rows in partitions by day and bucket; columns renamed, widened, added and dropped; 8 rows more
//	iceberg_equal    100 and 50 rows; of the first 100, those with (k, s) = (3, NULL) are deleted
//	iceberg_vector   version 3: 100 rows but 6, by a vector in Puffin; columns dflt and n have defaults
var lakeAnswers = []struct{ table, statement, want string }{
	{"delta_parts", "SELECT count(*), sum(id), min(id), max(id), count(s) FROM $", "[[39 775 0 39 33]]"},
	{"delta_parts", "SELECT k, count(*) FROM $ GROUP BY k ORDER BY k", "[[0 14] [1 13] [2 12]]"},
	{"delta_parts", "SELECT id, k, s, st, st.a, l FROM $ WHERE id IN (5, 6, 7) ORDER BY id", `[[6 0 s6 {"a":6,"t":"t6"} 6 NULL] [7 1 s7 {"a":7,"t":"t7"} 7 [7,8]]]`},
	{"delta_parts", "SELECT count(*) FROM $ WHERE k = 2 AND id < 12", "[[3]]"},
	{"delta_scan('delta_parts', version := 1)", "SELECT count(*), max(id) FROM $", "[[30 29]]"},
	{"delta_scan('delta_parts', version => '0')", "SELECT count(*) FROM $ WHERE id = 5", "[[1]]"},
	{"delta_parts", "SELECT count(DISTINCT filename), min(file_row_number) FROM $", "[[9 0]]"},
	{"iceberg_evolved", "SELECT count(*), sum(k), count(nu), count(text), min(st.tt), sum(st.zz) FROM $", "[[20 19 8 17 t0 124]]"},
	{"iceberg_evolved", "SELECT id, k, text, d, st, nu FROM $ WHERE id = 11 OR id = 12 ORDER BY id",
		`[[11 2 s0 2026-01-12 {"a":11,"tt":"t11","zz":null} NULL] [12 0 s1 2026-01-13 {"a":12,"tt":"t12","zz":12} n12]]`},
	{"iceberg_evolved", "SELECT count(*) FROM $ WHERE id = 3 AND nu IS NULL", "[[1]]"},
	{"iceberg_evolved", "SELECT id FROM $ WHERE ts >= '2026-01-01 10:00:00' AND ts < '2026-01-01 14:00:00' ORDER BY id", "[[10] [11] [12] [13]]"},
	{"iceberg_equal", "SELECT count(*), count(*) FILTER (WHERE k = 3 AND s IS NULL) FROM $", "[[147 1]]"},
	{"iceberg_equal", "SELECT count(*) FROM $", "[[147]]"},
	{"iceberg_vector", "SELECT count(*), sum(id), min(dflt), sum(n) FROM $", "[[94 4783 old 3948]]"},
	{"iceberg_vector", "SELECT count(*) FROM $", "[[94]]"},
	{"iceberg_vector", "SELECT min(id), max(id) FROM $", "[[1 98]]"},
	{"iceberg_vector", "SELECT file_row_number - id, count(*) FROM $ WHERE id > 4 GROUP BY ALL", "[[0 90]]"},
	{"iceberg_vector", "SELECT count(*) FROM $ WHERE n = 41", "[[0]]"},
	{"iceberg_vector", "SELECT count(*) FROM $ WHERE id < 8", "[[4]]"},
}

// refusals are statements of lakes that end with an error.
var refusals = []struct{ statement, want string }{
	{"FROM delta_scan('testdata/lake/delta_parts', version := 9)", "there is no version 9; the last is 3"},
	{"FROM delta_scan('testdata/lake/delta_parts', as_of := '1999-01-01')", "there is no version of 1999-01-01 or before"},
	{"FROM delta_scan('testdata/lake/delta_parts', as_of := 'soon')", `"soon" is no time`},
	{"FROM delta_scan('testdata/lake/delta_parts', snapshot_from_id := 1)", "there is no option snapshot_from_id"},
	{"FROM delta_scan('testdata/lake/iceberg_equal')", "no such file or directory"},
	{"FROM iceberg_scan('testdata/lake/delta_parts')", "there is no directory metadata"},
	{"FROM iceberg_scan('testdata/lake/iceberg_equal', snapshot_from_id := 5)", "snapshot 5 is not there, or has expired; the table has"},
	{"FROM iceberg_scan('testdata/lake/iceberg_equal', version := 5)", "there is no version 5 of the metadata"},
	{"FROM iceberg_scan(['testdata/lake/iceberg_equal', 'testdata/lake/iceberg_vector'])", "is read by itself"},
	{"FROM read_parquet('testdata/lake/delta_parts/*/*.parquet', version := 1)", "there is no option version"},
}

// Would catch a state that is not there, and is not named.
func TestLakeRefusals(t *testing.T) {
	eng := openEngine(t)
	for _, c := range refusals {
		if _, err := ask(eng, c.statement, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.statement, err, c.want)
		}
	}
}

// Would catch a row that is deleted and read on one of the routes, or counted by statistics, and columns that are
// matched by their names.
func TestLake(t *testing.T) {
	for _, opt := range []engine.Options{{}, {Threads: 1, MemoryLimit: 1 << 30}, {Device: "host:64MiB"}} {
		eng, err := engine.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		for _, c := range lakeAnswers {
			table := c.table
			if dir, rest, ok := strings.Cut(table, "('"); ok {
				table = dir + "('testdata/lake/" + rest
			} else {
				table = "'testdata/lake/" + table + "/'"
			}
			answers(t, eng, nil, strings.ReplaceAll(c.statement, "$", table), c.want)
		}
	}
}

// Would catch a table that is taken for the files below it, by its name, by links of its log, or among others.
func TestLakeNames(t *testing.T) {
	eng := openEngine(t)
	dir := t.TempDir()
	for _, name := range []string{"t.parquet", "t[1]", "t", "more/a", "more/b"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("testdata/lake/delta_parts")); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "t", "_delta_log")
	entries, err := os.ReadDir(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // a log of links
		from, to := filepath.Join(log, e.Name()), filepath.Join(dir, e.Name())
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"t.parquet", "t.parquet/", "t[1]", "t[1]/", "t"} {
		answers(t, eng, nil, fmt.Sprintf("SELECT count(*) FROM '%s/%s'", dir, name), "[[39]]")
	}
	for _, name := range []string{"more", "more/*", "more/a*"} {
		_, err := ask(eng, fmt.Sprintf("SELECT count(*) FROM '%s/%s'", dir, name), nil)
		if err == nil || !strings.Contains(err.Error(), "is a table of delta among other files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
