package parquet

import (
	"testing"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/vfs"
)

// openTable returns the table of one file.
func openTable(t testing.TB, path string) scan.Source {
	t.Helper()
	src, err := tableOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func tableOf(path string) (scan.Source, error) {
	in, err := Open(vfs.OS, path, reserve.New(reserve.GoHeap, nil))
	if err != nil {
		return nil, err
	}
	return scan.NewTable([]decode.File{{Input: in}}, nil, scan.Whole{})
}
