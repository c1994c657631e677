// Package peer opens DuckDB for those who measure beside it.
package peer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // for sql.Open
)

// DuckDB is a database in memory, and the one connection that its settings are of.
type DuckDB struct {
	*sql.Conn
	db *sql.DB
}

// OpenDuckDB opens a database that uses so many threads and puts what does not fit memory into dir.
func OpenDuckDB(ctx context.Context, threads int, dir string) (*DuckDB, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d := &DuckDB{conn, db}
	if err := d.Exec(ctx, DuckDBSettings(threads, dir)...); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// DuckDBSettings returns the statements that OpenDuckDB starts with.
func DuckDBSettings(threads int, dir string) []string {
	return []string{
		fmt.Sprintf("SET threads = %d", threads),
		"SET temp_directory = " + Literal(dir+"/duckdb.tmp"),
		"SET preserve_insertion_order = false", // no engine promises an order of groups
	}
}

// Close ends the connection and the database.
func (d *DuckDB) Close() error { return errors.Join(d.Conn.Close(), d.db.Close()) }

// Exec runs statements, up to the first that fails; the error has its text.
func (d *DuckDB) Exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Literal quotes text for SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
