//go:build cgo

package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
)

// topBatch has rows in random order, of which the last column tells which row it is.
func topBatch(rng *rand.Rand, from, rows int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "url", Type: arrow.BinaryTypes.String},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}},
		{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_ns}, {Name: "day", Type: arrow.FixedWidthTypes.Date64}, {Name: "position", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	floats := []any{nil, math.NaN(), math.Inf(-1), 0.0, math.Copysign(0, -1)}
	cells := make([][]any, schema.NumFields())
	for i := range rows {
		row := []any{
			int64(rng.IntN(20)), rng.NormFloat64(), fmt.Sprint("the first bytes are those of ", rng.IntN(9)),
			fmt.Sprintf("http://example.org/%d/%s", rng.IntN(1e6), strings.Repeat("x", rng.IntN(30))),
			big.NewInt(rng.Int64N(1e6)), rng.Int64N(1e6) * 1e9, rng.Int64N(1000) * 86_400_000, int64(from + i),
		}
		if rng.IntN(5) == 0 {
			row[0], row[1], row[2] = nil, floats[rng.IntN(len(floats))], strings.Repeat("\x00", rng.IntN(10))
		}
		for c := range cells {
			cells[c] = append(cells[c], row[c])
		}
	}
	arrays := make([]arrow.Array, len(cells))
	for c := range arrays {
		arrays[c] = grouptest.Array(schema.Field(c).Type, cells[c])
	}
	return grouptest.Batch(schema, arrays...)
}

// topTables are the same rows in files of Parquet, in a text and in memory.
func topTables(t *testing.T, rng *rand.Rand) map[string]plan.Table {
	t.Helper()
	dir := t.TempDir()
	var batches []arrow.RecordBatch
	for i, rows := range []int{9000, 1, 14_000} {
		from := 0
		for _, b := range batches {
			from += int(b.NumRows())
		}
		batch := topBatch(rng, from, rows)
		batches = append(batches, batch)
		var file bytes.Buffer
		properties := parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(5000), parquet.WithDataPageSize(1<<(10+4*i)))
		w, err := pqarrow.NewFileWriter(batch.Schema(), &file, properties, pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.parquet", i)), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]plan.Table{
		"files":  {Files: []string{filepath.Join(dir, "*.parquet")}},
		"memory": {Source: scan.Batches(batches[0].Schema(), batches)},
	}
}

// The first rows in an order are the first of all rows in that order, whichever columns are read
// late. Would catch rows that are turned away by a bound that is not theirs, and columns of other
// rows.
func TestTopRows(t *testing.T) {
	eng := openEngine(t)
	rng := rand.New(rand.NewPCG(3, 5))
	tables := topTables(t, rng)
	columns := []string{"k", "x", "s", "url", "price", "at", "day", "position", "length(url) AS n", "upper(s) AS u", "*"}
	keys := []string{"k", "x", "s", "url", "price", "at", "day", "k % 7", "lower(s)", "x IS NULL"}
	conditions := []string{"", "", "WHERE k < 12", "WHERE s LIKE '%first%' AND x > 0", "WHERE url LIKE '%77%'", "WHERE k < 0", "WHERE position % 3 = 1"}
	late := 0
	for range 120 {
		var items, by []string
		for range 1 + rng.IntN(4) {
			items = append(items, columns[rng.IntN(len(columns))])
		}
		for range 1 + rng.IntN(3) {
			by = append(by, keys[rng.IntN(len(keys))]+[]string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}[rng.IntN(4)])
		}
		name := []string{"files", "files", "files", "memory"}[rng.IntN(4)]
		text := fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s, position", strings.Join(items, ", "), name, conditions[rng.IntN(len(conditions))], strings.Join(by, ", "))
		limit, offset := rng.IntN(1<<rng.IntN(12)), rng.IntN(1<<rng.IntN(8))
		want, err := ask(eng, text, tables)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want = want[min(offset, len(want)):]
		want = want[:min(limit, len(want))]
		text += fmt.Sprintf(" LIMIT %d OFFSET %d", limit, offset)
		got, err := ask(eng, text, tables)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%s: got %d rows, want %d\n%.500q\n%.500q", text, len(got), len(want), got, want)
		}
		explained, err := explained(eng, text, tables)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(explained, "read late") {
			late++
		}
	}
	if late < 20 {
		t.Errorf("%d statements read columns late", late)
	}
}

// A statement is run any number of times, each with a bound of its own.
func TestTopRowsAgain(t *testing.T) {
	eng := openEngine(t)
	tables := topTables(t, rand.New(rand.NewPCG(7, 1)))
	q, err := prepare(eng, "SELECT url, position FROM files ORDER BY position DESC LIMIT 2", tables)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for range 3 {
		r, err := q.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := ""
		for r.Next() {
			rows += fmt.Sprint(r.RecordBatch().Column(1))
		}
		if err := r.Err(); err != nil || rows != "[23000 22999]" {
			t.Errorf("%s, %v", rows, err)
		}
		r.Release()
	}
}
