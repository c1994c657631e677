package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mpga/mpga/tests/peer"
)

// viewOf returns the statement that makes t a view of a file. DuckDB is told the types of the
// columns of CSV, so that no time of a query goes into finding them; mpga finds them each time.
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
