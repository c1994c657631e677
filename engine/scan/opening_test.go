package scan

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// mustOpen opens paths with the zero options.
// mustOpenFiles opens files, or fails the test.
func mustOpenFiles(t testing.TB, opt Options, patterns ...string) Source {
	t.Helper()
	src, err := Open(context.Background(), patterns, opt)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// readBytes reads a file of the given bytes; it fails the test if the reading leaks.
func readBytes(t testing.TB, data []byte, name string) ([]string, error) {
	t.Helper()
	path := writeFile(t, t.TempDir(), name, data)
	src, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		return nil, err
	}
	if src.Stats().Rows > rowsReadMax {
		return nil, errManyRows
	}
	var columns []int
	for i, f := range src.Schema().Fields() {
		if !arrow.IsNested(f.Type.ID()) {
			columns = append(columns, i)
		}
	}
	return readAll(src, columns, OpenOptions{BatchRows: 64, Threads: 2})
}
