package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2"
)

// database is a DuckDB in memory with a table or view t.
type database struct {
	db   *sql.DB
	conn *sql.Conn
}

// openDuckDB opens a database that uses so many threads and puts what does not fit memory into dir.
func openDuckDB(ctx context.Context, threads int, dir string) (*database, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d := &database{db, conn}
	if err := d.exec(ctx, duckDBSettings(threads, dir)...); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func duckDBSettings(threads int, dir string) []string {
	return []string{
		fmt.Sprintf("SET threads = %d", threads),
		"SET temp_directory = " + literal(dir+"/duckdb.tmp"),
		"SET preserve_insertion_order = false", // no engine promises an order of groups
	}
}

func (d *database) Close() error { return errors.Join(d.conn.Close(), d.db.Close()) }

func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// viewOf returns the statement that makes t a view of a file. DuckDB is told what is in text, so that
// no time of a query goes into finding out; mpga finds out each time.
func viewOf(ctx context.Context, file string, kind fileKind) (string, error) {
	if kind != h2oCSV {
		return fmt.Sprintf("CREATE VIEW t AS FROM read_parquet(%s)", literal(file)), nil
	}
	src, err := fileOpener(file)(ctx)
	if err != nil {
		return "", err
	}
	columns := make([]string, src.Schema().NumFields())
	for i, f := range src.Schema().Fields() {
		columns[i] = fmt.Sprintf("%s: %s", literal(f.Name), literal(duckDBTypes[f.Type.ID()].name))
	}
	return fmt.Sprintf("CREATE VIEW t AS FROM read_csv(%s, header = true, delim = ',', auto_detect = false, columns = {%s})",
		literal(file), strings.Join(columns, ", ")), nil
}

// literal quotes text for SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

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
	if err := d.conn.QueryRowContext(ctx, query).Scan(targets...); err != nil {
		return answer{}, fmt.Errorf("%s: %w", query, err)
	}
	a.take(kinds, ints, floats)
	return a, nil
}
