package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mpga/mpga/tests/peer"
)

// database is a DuckDB in memory with a table or view t.
type database struct{ *peer.DuckDB }

func openDuckDB(ctx context.Context, threads int, dir string) (*database, error) {
	d, err := peer.OpenDuckDB(ctx, threads, dir)
	if err != nil {
		return nil, err
	}
	return &database{d}, nil
}

// viewOf returns the statement that makes t a view of a file. DuckDB is told what is in text, so that
// no time of a query goes into finding out; mpga finds out each time.
func viewOf(ctx context.Context, file string, kind fileKind) (string, error) {
	if kind != h2oCSV {
		return fmt.Sprintf("CREATE VIEW t AS FROM read_parquet(%s)", peer.Literal(file)), nil
	}
	src, err := fileOpener(file)(ctx)
	if err != nil {
		return "", err
	}
	columns := make([]string, src.Schema().NumFields())
	for i, f := range src.Schema().Fields() {
		columns[i] = fmt.Sprintf("%s: %s", peer.Literal(f.Name), peer.Literal(duckDBTypes[f.Type.ID()].name))
	}
	return fmt.Sprintf("CREATE VIEW t AS FROM read_csv(%s, header = true, delim = ',', auto_detect = false, columns = {%s})",
		peer.Literal(file), strings.Join(columns, ", ")), nil
}

// totalsOf wraps a query so that DuckDB, too, reads the result to its end and in all columns, which
// costs it less than a table of the result would.
func totalsOf(query string, kinds []totalKind) string {
	names, totals := make([]string, len(kinds)), make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = fmt.Sprint("c", i)
		totals[i] = fmt.Sprintf(map[totalKind]string{
			totalInt:   "coalesce(sum(%s), 0)::BIGINT",
			totalText:  "coalesce(sum(strlen(%s)), 0)::BIGINT",
			totalFloat: "coalesce(sum(%[1]s) FILTER (isfinite(%[1]s)), 0)",
			totalList:  "coalesce(sum(list_sum(%s)), 0)",
		}[kind], names[i])
	}
	return fmt.Sprintf("SELECT count(*), %s FROM (%s) AS r(%s)", strings.Join(totals, ", "), query, strings.Join(names, ", "))
}

// duckDBContender asks a database.
type duckDBContender struct {
	db    *database
	query string // that totalsOf returns
	kinds []totalKind
}

func (*duckDBContender) engine() engineName { return duckDB }

func (d *duckDBContender) run(ctx context.Context) (outcome, error) {
	a, err := d.db.totals(ctx, d.query, d.kinds)
	return outcome{answer: a}, err
}

// totals runs a query that totalsOf returned.
func (d *database) totals(ctx context.Context, query string, kinds []totalKind) (answer, error) {
	ints, floats := make([]int64, len(kinds)), make([]float64, len(kinds))
	var a answer
	targets := []any{&a.Groups}
	for i, kind := range kinds {
		if kind.isInt() {
			targets = append(targets, &ints[i])
		} else {
			targets = append(targets, &floats[i])
		}
	}
	if err := d.QueryRowContext(ctx, query).Scan(targets...); err != nil {
		return answer{}, fmt.Errorf("%s: %w", query, err)
	}
	a.take(kinds, ints, floats)
	return a, nil
}
