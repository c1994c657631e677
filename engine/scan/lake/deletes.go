package lake

import (
	"context"
	"slices"

	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// OpenFile finishes the opening of a data file: it leaves out the rows that are deleted.
func (f *File) OpenFile(_ context.Context, fsys vfs.FS, file *parquet.File) error {
	var rows []int64
	var err error
	for _, d := range f.deletes {
		if rows, err = d.rows(fsys, rows, int64(file.Span())); err != nil {
			return err
		}
	}
	slices.Sort(rows)
	return file.Delete(rows)
}
