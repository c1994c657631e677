package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/tests/h2o"
	"github.com/mpga/mpga/tests/hits"
	"github.com/mpga/mpga/tests/peer"
)

// query is one row of the result.
type query struct {
	name  string
	table table
	text  string

	// rowsAlone says that only the numbers of rows are compared: the statement leaves a choice, such
	// as a LIMIT among equals.
	rowsAlone bool
}

type querySet struct {
	name    string
	queries []query
}

// table is a Parquet file that is made when it is first asked for.
type table struct {
	name string // in statements
	file string // in the directory; it says all that the rows depend on
	make func(ctx context.Context, db *peer.Process, path string) error
}

// tpchQ1 is TPC-H's first query.
const tpchQ1 = `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
	sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
	avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
	FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
	GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`

// tpchQ6 is TPC-H's sixth query, nearly all of which is a filter.
const tpchQ6 = `SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
	WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
	AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24`

// tpchQ18 is what TPC-H's eighteenth query groups: as many groups as orders, of which few stay.
const tpchQ18 = `SELECT l_orderkey, sum(l_quantity) AS quantity FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300`

// plainSums read what h2o's questions read most, and compute next to nothing: what they gain by more
// threads is what memory and files give.
const plainSums = `SELECT sum(v1) AS v1, sum(v3) AS v3 FROM t`

// texts ask for one function of strings each, which ClickBench's questions mix with other work.
var texts = []struct{ name, sql string }{
	{"URL LIKE '%site%'", "SELECT count(*) FROM hits WHERE URL LIKE '%site%'"},
	{"URL LIKE '%?id=9%'", "SELECT count(*) FROM hits WHERE URL LIKE '%?id=9%'"},
	{"strpos(URL)", "SELECT sum(strpos(URL, 'page')) FROM hits"},
	{"lower(URL) LIKE", "SELECT count(*) FROM hits WHERE lower(URL) LIKE '%page%'"},
	{"lower(Title) LIKE", "SELECT count(*) FROM hits WHERE lower(Title) LIKE '%а%'"},
	{"max(lower(Title))", "SELECT max(lower(Title)) FROM hits"},
	{"max(strlen(Title))", "SELECT max(strlen(Title)) FROM hits"},
	{"max(length(Title))", "SELECT max(length(Title)) FROM hits"},
	{"count(DISTINCT URL)", "SELECT count(DISTINCT URL) FROM hits"},
	{"by URL", "SELECT URL, count(*) AS n FROM hits GROUP BY URL ORDER BY n DESC LIMIT 10"},
	{"by Title", "SELECT Title, count(*) AS n FROM hits GROUP BY Title ORDER BY n DESC LIMIT 10"},
	{"by SearchPhrase", "SELECT SearchPhrase, count(*) AS n FROM hits GROUP BY SearchPhrase ORDER BY n DESC LIMIT 10"},
	{"min(URL)", "SELECT CounterID, min(URL), count(*) AS n FROM hits GROUP BY CounterID ORDER BY n DESC LIMIT 10"},
	{"regexp_replace(URL)", `SELECT regexp_replace(URL, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, count(*) AS n
		FROM hits GROUP BY k ORDER BY n DESC LIMIT 10`},
}

// lineitemColumns are the columns that the queries need, and the key, by which the table is sorted.
var lineitemColumns = []string{"l_orderkey", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate"}

func querySets(o *options) []querySet {
	lineitem := table{"lineitem", fmt.Sprintf("lineitem-%v.parquet", o.scale), func(ctx context.Context, _ *peer.Process, path string) error {
		t, err := gen.Lineitem(o.scale, 1)
		if err != nil {
			return err
		}
		return h2o.WriteTable(ctx, t, path, lineitemColumns...)
	}}
	groups := table{"t", fmt.Sprintf("h2o-%d.parquet", o.rows), func(ctx context.Context, _ *peer.Process, path string) error {
		return h2o.Write(ctx, fmt.Sprintf("G1_%d_1e2_0_0", o.rows), path)
	}}
	clicks := table{"hits", fmt.Sprintf("hits-%d.parquet", o.hits), func(ctx context.Context, db *peer.Process, path string) error {
		return writeHits(ctx, db, o.hits, path)
	}}
	orders := int64(o.scale * 6_000_000) // keys leave three quarters of the numbers out
	sorted := fmt.Sprintf(`SELECT l_returnflag, count(*) AS n, sum(l_quantity) AS q, sum(l_extendedprice) AS p FROM lineitem
		WHERE l_orderkey > %d AND l_orderkey <= %d GROUP BY l_returnflag`, orders/2, orders/2+orders/100)
	sets := []querySet{
		{"TPC-H", []query{
			{name: "Q1", table: lineitem, text: tpchQ1}, {name: "Q6", table: lineitem, text: tpchQ6},
			{name: "groups of Q18", table: lineitem, text: tpchQ18},
		}},
		{"H2O", nil}, {"ClickBench", nil}, {"text", nil},
		{"plain sums", []query{{name: "two columns", table: groups, text: plainSums}}},
		{"1% of sorted data", []query{{name: "by the key", table: lineitem, text: sorted}}},
	}
	for i, text := range h2o.SQL {
		sets[1].queries = append(sets[1].queries, query{name: fmt.Sprint("q", i+1), table: groups, text: text})
	}
	for i, q := range hits.Questions {
		sets[2].queries = append(sets[2].queries, query{hits.Number(i), clicks, q.SQL, !q.Determined()})
	}
	for _, q := range texts {
		sets[3].queries = append(sets[3].queries, query{q.name, clicks, q.sql, true})
	}
	return sets
}

// path returns where a table's file is, and makes the file if it is not there.
func (t table) path(ctx context.Context, db *peer.Process, dir string) (string, error) {
	path := filepath.Join(dir, t.file)
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	unfinished := path + ".part.parquet"
	if err := t.make(ctx, db, unfinished); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", t.file, err), os.RemoveAll(unfinished))
	}
	return path, os.Rename(unfinished, path)
}

// writeHits writes ClickBench's table as DuckDB does: with pages of a whole column chunk, and
// dictionaries where they are worth it.
func writeHits(ctx context.Context, db *peer.Process, rows int64, path string) error {
	t, err := gen.Hits(rows, 1)
	if err != nil {
		return err
	}
	made := path + ".made.parquet"
	if err := h2o.WriteTable(ctx, t, made); err != nil {
		return err
	}
	err = db.Run(peer.DuckDB, "COPY (FROM "+peer.Literal(made)+") TO "+peer.Literal(path)+" (FORMAT parquet, ROW_GROUP_SIZE 500000)")
	return errors.Join(err, os.Remove(made))
}
