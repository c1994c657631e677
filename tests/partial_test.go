package tests

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/tests/h2o"
)

// H2O's questions of several files, each aggregated by itself and merged, beside DuckDB's answer to
// all files at once.
func TestH2OInParts(t *testing.T) {
	rows := "1e5"
	if testing.Short() {
		rows = "1e4"
	}
	dir := t.TempDir()
	var files []string
	for i, name := range h2o.Variants(rows)[:3] {
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.parquet", i)))
		if err := h2o.Write(context.Background(), name, files[i]); err != nil {
			t.Fatal(err)
		}
	}
	db := openDuckDB(t)
	src := openFiles(t, dataset.Options{}, files...)
	if err := db.LoadParquet(filepath.Join(dir, "*.parquet"), src.Schema()); err != nil {
		t.Fatal(err)
	}
	for _, q := range h2o.Questions() {
		t.Run(q.Name, func(t *testing.T) {
			want, err := db.Answer(src.Schema(), q.Query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := inParts(t, q.Query, files)
			if err != nil {
				t.Fatal(err)
			}
			if err := grouptest.Equal(rounded(q.Query, want), got); err != nil {
				t.Error(err)
			}
		})
	}
}

// inParts answers a query by the partial states of each file, in a directory each.
func inParts(t *testing.T, q query.Query, files []string) (*grouptest.Rows, error) {
	eng, err := engine.Open(engine.Options{Threads: 2})
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	var sources [][]partial.Blob
	for i, file := range files {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := writePartial(eng, path, openFiles(t, dataset.Options{}, file), q); err != nil {
			return nil, err
		}
		blobs, err := partial.OpenDir(vfs.OS, path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, blobs)
	}
	result, err := eng.Merge(context.Background(), sources, partial.MergeOptions{})
	if err != nil {
		return nil, err
	}
	defer result.Release()
	return grouptest.ReadAll(result, len(q.Keys))
}

func writePartial(eng *engine.Engine, path string, src scan.Source, q query.Query) (err error) {
	dir, err := partial.CreateDir(vfs.OS, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Abort()) }()
	if _, err := eng.Partial(context.Background(), src, q, partial.Options{Partitions: 8, Create: dir.Create}); err != nil {
		return err
	}
	return dir.Commit()
}
