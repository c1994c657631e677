package sinktest

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// CompareTables compares values; types may differ in what Parquet keeps only for Arrow readers.
func CompareTables(t *testing.T, want, got arrow.Table) {
	t.Helper()
	if want.NumRows() != got.NumRows() || want.NumCols() != got.NumCols() {
		t.Fatalf("%d x %d, want %d x %d", got.NumRows(), got.NumCols(), want.NumRows(), want.NumCols())
	}
	if want.NumRows() == 0 {
		return
	}
	for i := range int(want.NumCols()) {
		w, err := array.Concatenate(want.Column(i).Data().Chunks(), memory.DefaultAllocator)
		Check(t, err)
		g, err := array.Concatenate(got.Column(i).Data().Chunks(), memory.DefaultAllocator)
		Check(t, err)
		for row := range w.Len() {
			// seconds of the day, read as ms
			if strings.TrimSuffix(w.ValueStr(row), ".000") != strings.TrimSuffix(g.ValueStr(row), ".000") {
				t.Errorf("column %d (%s, read as %s), row %d: %s, want %s", i, w.DataType(), g.DataType(), row,
					g.ValueStr(row), w.ValueStr(row))
				break
			}
		}
	}
}

// ReadTable reads a Parquet file by arrow-go, and fails the test where it cannot.
func ReadTable(t *testing.T, path string) arrow.Table {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	Check(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	Check(t, err)
	table, err := r.ReadTable(context.Background())
	Check(t, err)
	return table
}
