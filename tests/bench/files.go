package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/tests/h2o"
)

// fileKind says what a file holds and how.
type fileKind string

const (
	inMemory   fileKind = "" // no file
	snappy     fileKind = "snappy"
	zstd       fileKind = "zstd"
	h2oParquet fileKind = "parquet" // H2O's table
	h2oCSV     fileKind = "csv"     // the same
)

// rowGroupRows is the size of the row groups of Parquet files.
const rowGroupRows = 1 << 20

// parquetFile returns the path of a table's Parquet file, which is written if it is not there. A
// file's name tells all that its rows depend on, and files appear whole.
func (t table) parquetFile(ctx context.Context, dir string, codec fileKind) (string, error) {
	path := filepath.Join(dir, t.name()+"."+string(codec)+".parquet")
	if there, err := exists(path); there || err != nil {
		return path, err
	}
	set, err := t.make(ctx)
	if err != nil {
		return "", err
	}
	defer set.release()
	w, err := sink.Create(context.Background(), path, set.schema, sink.Options{Codec: string(codec), RowGroupRows: rowGroupRows})
	if err != nil {
		return "", err
	}
	for _, b := range set.batches {
		if err := w.Write(b); err != nil {
			return "", err
		}
	}
	return path, w.Commit()
}

// h2oFile returns the path of H2O's table of so many rows, K = 100, which is written if it is not
// there.
func h2oFile(ctx context.Context, dir string, rows int64, kind fileKind) (string, error) {
	opt, err := gen.ParseH2O(fmt.Sprintf("G1_%d_1e2_0_0", rows))
	if err != nil {
		return "", err
	}
	t, err := gen.H2O(opt)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, t.Name()+"."+string(kind))
	if there, err := exists(path); there || err != nil {
		return path, err
	}
	return path, h2o.Write(ctx, t.Name(), path)
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
