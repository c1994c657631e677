package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/internal/grouptest"
)

// writeSummaryFile writes a Parquet file of a column n, and perhaps of others.
func writeSummaryFile(t *testing.T, path string, fields []arrow.Field, cells ...[]any) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema(fields, nil)
	w, err := pqarrow.NewFileWriter(schema, f, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	columns := make([]arrow.Array, len(cells))
	for i := range cells {
		columns[i] = grouptest.Array(fields[i].Type, cells[i])
	}
	if err := w.Write(grouptest.Batch(schema, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// shownSummary writes a summary such that a test can tell it.
func shownSummary(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v rows %d parts %d\n", len(s.Files), s.Formats, s.Rows, s.Parts)
	for _, c := range s.Columns {
		fmt.Fprintf(&b, "%s %s files %d path %t nulls %d range %q to %q\n", c.Name, c.Type, c.Files, c.Path, c.Nulls, c.Min, c.Max)
	}
	for _, d := range s.Differences {
		fmt.Fprintf(&b, "%s: %s %v, %v\n", filepath.Base(d.Path), d.Column, d.Type, d.Common)
	}
	return b.String()
}

// Would catch ranges that compare numbers as text, sums that leave a file out, files without values
// that hide a range, and differences that are not told.
func TestSummarize(t *testing.T) {
	number := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	text := arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}
	dir := t.TempDir()
	writeSummaryFile(t, filepath.Join(dir, "k=9", "a.parquet"), []arrow.Field{number, text}, []any{int64(9), nil}, []any{nil, nil})
	writeSummaryFile(t, filepath.Join(dir, "k=10", "b.parquet"), []arrow.Field{text, number}, []any{"x", "b"}, []any{int64(10), int64(-5)})
	writeSummaryFile(t, filepath.Join(dir, "k=10", "c.parquet"), []arrow.Field{number, text}, []any{}, []any{})
	s, err := Summarize(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "3 [parquet] rows 4 parts 3\n" +
		"s utf8 files 3 path false nulls 2 range \"b\" to \"x\"\n" +
		"n int64 files 3 path false nulls 1 range \"-5\" to \"10\"\n" +
		"k int64 files 0 path true nulls -1 range \"9\" to \"10\"\n"
	if got := shownSummary(s); got != want || s.Table != nil {
		t.Errorf("got\n%s%v\nwant\n%s", got, s.Table, want)
	}

	writeSummaryFile(t, filepath.Join(dir, "k=11", "d.parquet"), []arrow.Field{{Name: "n", Type: arrow.BinaryTypes.String}}, []any{"z"})
	if s, err = Summarize(t.Context(), []string{dir}, Options{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(shownSummary(s), "\n")
	for _, line := range []string{
		"n int64 files 4 path false nulls 1 range \"\" to \"\"", "s utf8 files 3 path false nulls -1 range \"b\" to \"x\"",
		"d.parquet: n utf8, int64", "d.parquet: s <nil>, utf8",
	} {
		if !slices.Contains(lines, line) {
			t.Errorf("no %s in\n%s", line, strings.Join(lines, "\n"))
		}
	}
	if s.Table == nil {
		t.Error("files that disagree are read as one table")
	}
}
