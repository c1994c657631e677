// Package oracle asks DuckDB what the answer to a query is.
//
//	record batches -> plain columns -> Parquet -> table t -> SQL -> cells -> grouptest.Rows
//
// DuckDB sees each column in the plainest type that holds its values: times as 64-bit integers in
// their unit, floats as doubles, dictionaries as their values. A further column, the row's
// position, gives an order to the functions that need one. Where DuckDB means something else than
// mpga does (SEMANTICS.md), the SQL says what mpga means.
package oracle

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/tests/peer"
)

// DuckDB is a database in memory, of the linked DuckDB or of a Python's.
type DuckDB struct {
	db     *sql.DB       // nil where python answers
	python *peer.Process // nil where db answers
	dir    string        // of the Parquet files on their way to it
}

// Open starts a database that uses so many threads, of the linked DuckDB where python is nil, which stays the
// caller's. Only with one does every aggregate of DuckDB see the rows in order. The cache of files is off: DuckDB
// 1.5.5 tells the versions of a file apart by size and time, in seconds, and so took the blocks of one table for
// another's, which Load had written in the same second.
func Open(threads int, python *peer.Process) (*DuckDB, error) {
	dir, err := os.MkdirTemp("", "mpga-oracle-")
	if err != nil {
		return nil, err
	}
	d := &DuckDB{python: python, dir: dir}
	if python == nil {
		if d.db, err = sql.Open("duckdb", ""); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		d.db.SetMaxOpenConns(1) // a connection has its own settings and temporary tables
	}
	if err := d.Exec(fmt.Sprintf("SET threads = %d; SET enable_external_file_cache = false", threads)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends the database and removes its files.
func (d *DuckDB) Close() (err error) {
	if d.db != nil {
		err = d.db.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Exec runs a statement.
func (d *DuckDB) Exec(statement string) (err error) {
	if d.python != nil {
		err = d.python.Run(peer.DuckDB, statement)
	} else {
		_, err = d.db.Exec(statement)
	}
	if err != nil {
		return fmt.Errorf("duckdb: %w, of\n%s", err, statement)
	}
	return nil
}

// rows returns what a query answers, with values as the linked DuckDB's driver has them or as grouptest.Value has
// them.
func (d *DuckDB) rows(text string) (table [][]any, err error) {
	if d.python == nil {
		return d.linkedRows(text)
	}
	_, err = d.python.Ask(peer.Request{Engine: peer.DuckDB, Query: text}, func(r array.RecordReader) error {
		for r.Next() {
			b := r.RecordBatch()
			for i := range int(b.NumRows()) {
				values := make([]any, b.NumCols())
				for c := range values {
					values[c] = grouptest.Value(b.Column(c), i)
				}
				table = append(table, values)
			}
		}
		return r.Err()
	})
	if err != nil {
		return nil, duckError(err, text)
	}
	return table, nil
}

func (d *DuckDB) linkedRows(text string) (table [][]any, err error) {
	rows, err := d.db.Query(text)
	if err != nil {
		return nil, duckError(err, text)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(names))
		pointers := make([]any, len(names))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		table = append(table, values)
	}
	if err := rows.Err(); err != nil {
		return nil, duckError(err, text)
	}
	return table, nil
}

// Load makes the table t of record batches.
func (d *DuckDB) Load(schema *arrow.Schema, batches []arrow.RecordBatch) error {
	file := filepath.Join(d.dir, "t.parquet")
	if err := writePlain(file, schema, batches); err != nil {
		return err
	}
	return d.Exec("CREATE OR REPLACE TABLE t AS FROM read_parquet(" + literal(file) + ")")
}

// LoadParquet makes the table t of a Parquet file of this schema, with the rows' positions.
func (d *DuckDB) LoadParquet(file string, schema *arrow.Schema) error {
	columns := []string{"file_row_number AS " + position}
	for _, f := range schema.Fields() {
		column := quote(f.Name)
		if dt, ok := f.Type.(*arrow.TimestampType); ok {
			column = "epoch_" + dt.Unit.String() + "(" + column + ") AS " + column
		}
		columns = append(columns, column)
	}
	return d.Exec("CREATE OR REPLACE TABLE t AS SELECT " + strings.Join(columns, ", ") +
		" FROM read_parquet(" + literal(file) + ", file_row_number = true)")
}

// Answer runs a query on the table t, whose columns had this schema when they were loaded. Its
// error is grouptest.ErrOverflow when a sum does not fit the result.
func (d *DuckDB) Answer(schema *arrow.Schema, q query.Query) (*grouptest.Rows, error) {
	result, err := grouptest.ResultSchema(schema, q)
	if err != nil {
		return nil, err
	}
	text, err := SQL(schema, q, "t")
	if err != nil {
		return nil, err
	}
	table, err := d.rows(text)
	if err != nil {
		return nil, err
	}
	answer := &grouptest.Rows{Schema: result, Keys: len(q.Keys), Cells: table}
	for _, values := range table {
		for i, v := range values {
			if values[i], err = cell(v, result.Field(i).Type, q.Overflow); err != nil {
				return nil, fmt.Errorf("%s: %w", result.Field(i).Name, err)
			}
		}
	}
	return answer, nil
}

func duckError(err error, text string) error {
	for _, words := range []string{"Overflow in HUGEINT addition", "Overflow in SUM of DECIMAL"} {
		if strings.Contains(err.Error(), words) {
			return fmt.Errorf("%w: %v", grouptest.ErrOverflow, err)
		}
	}
	return fmt.Errorf("duckdb: %w, of\n%s", err, text)
}

// cell converts what the driver gives to a cell of the type that mpga answers in.
func cell(v any, dt arrow.DataType, overflow query.Overflow) (any, error) {
	switch v := v.(type) {
	case nil, bool, uint64, string, int64:
		return v, nil
	case int32:
		return int64(v), nil
	case []byte:
		return string(v), nil
	case float64:
		if arrow.IsFloating(dt.ID()) {
			return v, nil
		}
		if v >= math.MaxInt64 {
			return int64(math.MaxInt64), nil
		}
		return int64(math.Round(v)), nil // a quantile of times
	case *big.Int:
		return grouptest.Total(v, dt, overflow)
	case duckdb.Decimal:
		return grouptest.Total(v.Value, dt, overflow)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			element, err := cell(v[i], dt.(*arrow.ListType).Elem(), overflow)
			if err != nil {
				return nil, err
			}
			list[i] = element
		}
		return list, nil
	}
	return nil, fmt.Errorf("no cell for a %T", v)
}
