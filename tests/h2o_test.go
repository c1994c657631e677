package tests

import (
	"context"
	"flag"
	"math"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/engine/scan/dataset"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/tests/h2o"
	"github.com/mpga/mpga/tests/oracle"
)

var largeFlag = flag.Bool("large", false, "ask H2O's questions of 1e7 rows, and add up 1e9")

// H2O's ten questions in all five variants, beside DuckDB, from one Parquet file.
func TestH2O(t *testing.T) {
	rows := "2e5" // tables fill and scatter: q10 has as many groups
	switch {
	case *largeFlag:
		rows = "1e7"
	case testing.Short():
		rows = "1e4"
	}
	for _, name := range h2o.Variants(rows) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name+".parquet")
			if err := h2o.Write(context.Background(), name, file); err != nil {
				t.Fatal(err)
			}
			db := openDuckDB(t)
			src := openFiles(t, dataset.Options{}, file)
			if err := db.LoadParquet(file, src.Schema()); err != nil {
				t.Fatal(err)
			}
			for _, q := range h2o.Questions() {
				t.Run(q.Name, func(t *testing.T) { compareFile(t, db, src, q.Query) })
			}
		})
	}
}

// compareFile holds the engine's answer to a query on a file against DuckDB's, which has the same
// file as its table t.
func compareFile(t *testing.T, db *oracle.DuckDB, src scan.Source, q query.Query) {
	t.Helper()
	want, err := db.Answer(src.Schema(), q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ask(t, engine.Options{Threads: 2}, src, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := grouptest.Equal(rounded(q, want), got); err != nil {
		t.Error(err)
	}
}

// rounded allows for other orders of additions than DuckDB's, in numbers of ordinary size, and for
// what a sketch does not know.
func rounded(q query.Query, want *grouptest.Rows) *grouptest.Rows {
	for _, row := range want.Cells {
		for i, a := range q.Aggregates {
			switch v := row[want.Keys+i].(type) {
			case float64:
				row[want.Keys+i] = grouptest.Approx{Value: v, Tolerance: 1e-9 * max(1, math.Abs(v)), Condition: 10}
			case int64:
				if a.Func == query.ApproxCountDistinct {
					row[want.Keys+i] = grouptest.NearCount(v)
				}
			}
		}
	}
	return loosened(q, want)
}
