package scan

import (
	"context"
	"testing"
)

// readCSV writes text to a file and reads all of it.
func readCSV(t testing.TB, text string, opt CSVOptions, read OpenOptions) (Source, []string, error) {
	t.Helper()
	path := writeFile(t, t.TempDir(), "f.csv", []byte(text))
	src, err := Open(context.Background(), []string{path}, Options{CSV: opt, NoHive: true})
	if err != nil {
		return nil, nil, err
	}
	rows, err := readAll(src, allColumns(src.Schema()), read)
	return src, rows, err
}
