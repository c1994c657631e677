package tests

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/engine/spectest"
)

// Folders that mpga has written are read by DuckDB, and the other way round, with values that must be escaped, and
// NULL. Names of columns are escaped too, which DuckDB does not undo.
func TestFoldersAndDuckDB(t *testing.T) {
	db := openDuckDB(t)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	cities := []any{"a b/c=d%", "é~_.-*'", "", "Ulm", nil, "?x=1&y#z", "100%25", "..", `back\slash`}
	days := []any{int64(0), int64(-1), int64(19_000), nil}
	columns := make([][]any, 3)
	for i := range 5000 {
		columns[0] = append(columns[0], cities[i%len(cities)])
		columns[1] = append(columns[1], days[i%len(days)])
		columns[2] = append(columns[2], int64(i))
	}
	arrays := make([]arrow.Array, 3)
	for i := range arrays {
		arrays[i] = spectest.Array(schema.Field(i).Type, columns[i])
	}
	batch := spectest.Batch(schema, arrays...)
	q := spec.Query{
		Keys:       []spec.Key{{Column: "city"}, {Column: "day"}},
		Aggregates: []spec.Aggregate{{Func: spec.CountStar, Name: "rows"}, {Func: spec.Sum, Args: []string{"n"}}},
	}
	want, err := spectest.Oracle(schema, []arrow.RecordBatch{batch}, q)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	if err := write(ours, sink.Options{PartitionBy: []string{"city", "day"}, OpenFilesMax: 7}, batch, batch.NewSlice(0, 0)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		fmt.Sprintf(`CREATE TABLE t AS SELECT city, (day::DATE - DATE '1970-01-01')::BIGINT AS day, n
			FROM read_parquet('%s/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)`, ours),
		fmt.Sprintf(`COPY (SELECT city, DATE '1970-01-01' + day::INTEGER AS day, n FROM t) TO '%s' (FORMAT parquet, PARTITION_BY (city, day))`, theirs),
	} {
		if err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Answer(schema, q)
	if err == nil {
		err = spectest.Equal(want, got)
	}
	if err != nil {
		t.Errorf("DuckDB reads what mpga has written: %v", err)
	}
	for _, dir := range []string{ours, theirs} {
		src, err := scan.Open(t.Context(), []string{dir}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		compareEngine(t, dir, engine.Options{}, src, q, want, nil)
	}
}
