package scan

import (
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// openTable returns the table of one file.
func openTable(t testing.TB, path string) Source {
	t.Helper()
	src, err := tableOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func tableOf(path string) (Source, error) {
	in, err := openParquet(vfs.OS, path, newReserving(goHeap, nil))
	if err != nil {
		return nil, err
	}
	return newTable([]tableInput{{input: in}}, nil)
}
