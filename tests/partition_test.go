package tests

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
)

// Folders that mpga has written are read by DuckDB, and the other way round, with values that must
// be escaped, and NULL. Names of columns are escaped too, which DuckDB does not undo.
func TestFoldersAndDuckDB(t *testing.T) {
	cities := []any{"a b/c=d%", "é~_.-*'", "", "Ulm", nil, "?x=1&y#z", "100%25", "..", `back\slash`, "%5F_HIVE", "\n\t\x01"}
	testFoldersAndDuckDB(t, cities, true)
	testFoldersAndDuckDB(t, append(cities, "__HIVE_DEFAULT_PARTITION__"), false) // which DuckDB writes as NULL
}

// testFoldersAndDuckDB reads with each what mpga has written, and with mpga what DuckDB has
// written, if theirs is set.
func testFoldersAndDuckDB(t *testing.T, cities []any, theirsToo bool) {
	t.Helper()
	db := openDuckDB(t)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	days := []any{int64(0), int64(-1), int64(19_000), nil}
	columns := make([][]any, 3)
	for i := range 5000 {
		columns[0] = append(columns[0], cities[i%len(cities)])
		columns[1] = append(columns[1], days[i%len(days)])
		columns[2] = append(columns[2], int64(i))
	}
	arrays := make([]arrow.Array, 3)
	for i := range arrays {
		arrays[i] = grouptest.Array(schema.Field(i).Type, columns[i])
	}
	batch := grouptest.Batch(schema, arrays...)
	q := query.Query{
		Keys:       []query.Key{{Column: "city"}, {Column: "day"}},
		Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "rows"}, {Func: query.Sum, Args: []string{"n"}}},
	}
	want, err := grouptest.Oracle(schema, []arrow.RecordBatch{batch}, q)
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
		err = grouptest.Equal(want, got)
	}
	if err != nil {
		t.Errorf("DuckDB reads what mpga has written: %v", err)
	}
	dirs := []string{ours, theirs}
	if !theirsToo {
		dirs = dirs[:1]
	}
	for _, dir := range dirs {
		src, err := dataset.Open(t.Context(), []string{dir}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		compareEngine(t, dir, engine.Options{}, src, q, want, nil)
	}
}

// Values of folders come back as they were, whatever they are: the word for NULL, empty strings,
// names of directories, slashes, escapes, control characters and the longest; and so do columns
// whose folders readers would pass over. What no folder can be named by is refused when it is
// written.
func TestFolderNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seedFlag, 21))
	const alphabet = "aZ_-.~%=/\\ \x00\x01\n\x7f+&?#:*\"'<>|é日😀"
	values := []any{nil, "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION_", "%5F_HIVE_DEFAULT_PARTITION__", "", ".", "..", "/", "=", "%", "%2F", "a", "A", "\x00",
		strings.Repeat("x", 253), "x"}
	for range 40 {
		var text strings.Builder
		for _, r := range rng.Perm(len([]rune(alphabet)))[:rng.IntN(10)] {
			text.WriteRune([]rune(alphabet)[r])
		}
		values = append(values, text.String())
	}
	for _, column := range []string{"k", "_k", ".k", "a=b/c%", "..", "_"} {
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: column, Type: arrow.BinaryTypes.String, Nullable: true},
		}, nil)
		numbers, texts := make([]any, len(values)), slices.Clone(values)
		for i := range values {
			numbers[i] = int64(i)
			if text, ok := values[i].(string); ok {
				if escaped := len(url.PathEscape(column)) + 3*len(text); len(text) == 253 && escaped > 255 {
					texts[i] = text[:250-len(url.PathEscape(column))-8]
				}
			}
		}
		dir := filepath.Join(t.TempDir(), "out")
		batch := grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, numbers), grouptest.Array(schema.Field(1).Type, texts))
		if err := write(dir, sink.Options{PartitionBy: []string{column}, OpenFilesMax: 9}, batch); err != nil {
			t.Fatalf("column %q: %v", column, err)
		}
		src, err := dataset.Open(t.Context(), []string{dir}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		q := query.Query{Keys: []query.Key{{Column: column}}, Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.Sum, Args: []string{"n"}}}}
		want, err := grouptest.Oracle(schema, []arrow.RecordBatch{batch}, q)
		if err != nil {
			t.Fatal(err)
		}
		compareEngine(t, fmt.Sprintf("-seed=%d, column %q", *seedFlag, column), engine.Options{}, src, q, want, nil)
	}
	for name, c := range map[string]struct{ column, value, want string }{
		"too long":    {"k", strings.Repeat("x", 254), "255"},
		"escapes":     {"k", strings.Repeat("/", 100), "255"},
		"not UTF-8":   {"k", "a\xff", "UTF-8"},
		"has no name": {"", "a", "without a name"},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: c.column, Type: arrow.BinaryTypes.String}}, nil)
		batch := grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, []any{int64(1)}), grouptest.Array(schema.Field(1).Type, []any{c.value}))
		parent := t.TempDir()
		err := write(filepath.Join(parent, "out"), sink.Options{PartitionBy: []string{c.column}}, batch)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left := fileNames(t, parent); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}
