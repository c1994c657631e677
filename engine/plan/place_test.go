//go:build cgo

package plan_test

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
)

// numbered has rows of their number and of a text, which is of two lines in every thousandth.
func numbered(rows int) (arrow.RecordBatch, []byte) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	text := []byte("n,s\n")
	for n := range rows {
		s := fmt.Sprintf("row %045d", n)
		if n%1000 == 0 {
			s += "\nand more"
		}
		b.Field(0).(*array.Int64Builder).Append(int64(n))
		b.Field(1).(*array.StringBuilder).Append(s)
		text = fmt.Appendf(text, "%d,%q\n", n, "")
		text = append(text[:len(text)-2], s+"\"\n"...)
	}
	return b.NewRecordBatch(), text
}

// Would catch an error of an expression that names no file or row, or a wrong one: behind filters
// that leave rows out, in later splits, row groups and batches, in text whose rows are of several
// lines.
func TestErrorPlaces(t *testing.T) {
	const rows = 250_000
	dir := t.TempDir()
	batch, text := numbered(rows)
	file := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(file("t.csv"), text, 0o666))
	packed, err := os.Create(file("t.csv.gz"))
	check(err)
	w := gzip.NewWriter(packed)
	_, err = w.Write(text)
	check(err)
	check(w.Close())
	check(packed.Close())
	for _, name := range []string{"t.parquet", "t.arrow"} {
		out, err := sink.Create(t.Context(), file(name), batch.Schema(), sink.Options{RowGroupRows: 70_001})
		check(err)
		for from := int64(0); from < rows; from += 50_000 {
			check(out.Write(batch.NewSlice(from, from+50_000)))
		}
		check(out.Commit())
	}
	eng := openEngine(t)
	tables := map[string]plan.Table{"m": {Source: scan.Batches(batch.Schema(), []arrow.RecordBatch{batch})}}
	for _, name := range []string{"t.csv", "t.csv.gz", "t.parquet", "t.arrow"} {
		tables[name] = plan.Table{Files: []string{file(name)}}
	}
	for _, bad := range []int{0, 65_535, 123_456, rows - 1} {
		for name := range tables {
			want := fmt.Sprintf("%s, row %d: ", file(name), bad+1)
			switch {
			case strings.Contains(name, "csv"):
				want = fmt.Sprintf("%s, line %d: ", file(name), 2+bad+(bad+999)/1000)
			case name == "m":
				want = fmt.Sprintf("record batch 0, row %d: ", bad+1)
			}
			fails := fmt.Sprintf("CASE WHEN n = %d THEN n + 9223372036854775807 + 1 ELSE n END", bad)
			for _, q := range []string{
				"SELECT sum(%[1]s) FROM \"%[2]s\"",
				"SELECT %[1]s FROM \"%[2]s\"",
				"SELECT count(*) FROM \"%[2]s\" WHERE %[1]s >= 0",
				"SELECT count(*) FROM \"%[2]s\" WHERE n %% 3 >= 0 AND %[1]s >= 0 GROUP BY n %% 7",
				"SELECT sum(%[1]s) FROM \"%[2]s\" WHERE n %% 3 = %[3]d AND s <> ''",
				"SELECT %[1]s FROM \"%[2]s\" WHERE n >= %[3]d",
				"SELECT sum(x) FROM (SELECT %[1]s AS x FROM \"%[2]s\" WHERE n BETWEEN %[4]d AND %[4]d + 9000)",
			} {
				q = fmt.Sprintf(q, fails, name, bad%3, bad-1)
				if _, err := ask(eng, q, tables); err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s: %v, want %s", q, err, want)
				}
			}
		}
	}
}
