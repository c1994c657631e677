package tests

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/tests/h2o"
	"github.com/mpga/mpga/tests/hits"
)

// H2O's ten questions as SQL.
func TestSQLH2O(t *testing.T) {
	s := openSQL(t)
	for i, name := range h2o.Variants("1e5") {
		if testing.Short() && i%2 != 0 {
			continue
		}
		s.file(t, "t", func(file string) error { return h2o.Write(context.Background(), name, file) })
		for _, text := range h2o.SQL {
			s.check(t, text)
		}
	}
}

// file makes a table of both of a file that a function writes.
func (s *sqlTables) file(t testing.TB, name string, write func(file string) error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".parquet")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	s.addFile(t, name, file)
}

// TPC-H's first query, to the last digit.
func TestSQLTPCH(t *testing.T) {
	s := openSQL(t)
	s.file(t, "lineitem", func(file string) error {
		table, err := gen.Lineitem(0.02, 1)
		if err != nil {
			return err
		}
		return h2o.WriteTable(context.Background(), table, file)
	})
	s.check(t, `
		SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
		  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
		  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
		  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
		FROM lineitem
		WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
		GROUP BY l_returnflag, l_linestatus
		ORDER BY l_returnflag, l_linestatus`)
	s.check(t, `
		SELECT sum(l_extendedprice * l_discount) AS revenue
		FROM lineitem
		WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
		  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24`)
}

// ClickBench's questions, with orders that leave no choice, and none without an answer.
func TestSQLClickBench(t *testing.T) {
	s := openSQL(t)
	s.file(t, "hits", func(file string) error {
		table, err := gen.Hits(60_000, 1)
		if err != nil {
			return err
		}
		return h2o.WriteTable(context.Background(), table, file)
	})
	for _, q := range hits.Questions {
		s.check(t, q.OfFew())
		if rows, err := s.theirs(q.OfFew()); len(rows) == 0 {
			t.Errorf("no answer to %s: %v", q.OfFew(), err)
		}
	}
}
