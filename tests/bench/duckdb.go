package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/tests/peer"
)

// duckDBStatements makes t a table of DuckDB's own, or a view of a file.
func duckDBStatements(ctx context.Context, in input, file string) (setup, drop string, err error) {
	switch in.kind {
	case inMemory:
		return "CREATE TABLE t AS FROM read_parquet(" + peer.Literal(file) + ")", "DROP TABLE t", nil
	case h2oCSV:
		setup, err = csvView(ctx, file)
		return setup, "DROP VIEW t", err
	}
	return "CREATE VIEW t AS FROM read_parquet(" + peer.Literal(file) + ")", "DROP VIEW t", nil
}

// csvView returns the statement that makes t a view of a CSV file. DuckDB is told the types of the
// columns, so that no time of a query goes into finding them; mpga finds them each time.
func csvView(ctx context.Context, file string) (string, error) {
	src, err := fileOpener(file)(ctx)
	if err != nil {
		return "", err
	}
	columns := make([]string, src.Schema().NumFields())
	for i, f := range src.Schema().Fields() {
		columns[i] = fmt.Sprintf("%s: %s", peer.Literal(f.Name), peer.Literal(duckDBTypes[f.Type.ID()]))
	}
	return fmt.Sprintf("CREATE VIEW t AS FROM read_csv(%s, header = true, delim = ',', auto_detect = false, columns = {%s})",
		peer.Literal(file), strings.Join(columns, ", ")), nil
}

// duckDBTypes are DuckDB's names of the types of H2O's columns.
var duckDBTypes = map[arrow.Type]string{
	arrow.INT64:   "BIGINT",
	arrow.FLOAT64: "DOUBLE",
	arrow.STRING:  "VARCHAR",
}
