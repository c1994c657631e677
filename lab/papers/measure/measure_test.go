package measure

import (
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/lab/pairs"
	"github.com/mpga/mpga/lab/papers"
)

// Would catch a figure that is listed and not measured, or measured and not listed.
func TestMeasurements(t *testing.T) {
	for _, f := range papers.Figures() {
		if measurements[f.ID()] == nil {
			t.Errorf("%s has no measurement", f.ID())
		}
	}
	if len(measurements) != len(papers.Figures()) {
		t.Errorf("%d measurements of %d figures", len(measurements), len(papers.Figures()))
	}
}

// Would catch a file for DuckDB that has other rows than the input.
func TestWriteParquet(t *testing.T) {
	in, err := load(t.Context(), 3<<20, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	file := filepath.Join(t.TempDir(), "pairs.parquet")
	if err := writeParquet(t.Context(), file, in.Batches); err != nil {
		t.Fatal(err)
	}
	written, err := pairs.Open(t.Context(), file)
	if err != nil || written.Rows != in.Rows || written.Bytes != in.Bytes || written.Sum != in.Sum {
		t.Errorf("%v: %+v", err, written)
	}
}
