package store

import (
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vfs"
)

// tracedFile measures when it is read and written.
type tracedFile struct {
	vfs.TempFile
	rows *trace.Rows
}

// ReadAt implements io.ReaderAt.
func (f tracedFile) ReadAt(b []byte, offset int64) (int, error) {
	row := f.rows.Begin("read")
	defer f.rows.End(row)
	return f.TempFile.ReadAt(b, offset)
}

// WriteAt implements io.WriterAt.
func (f tracedFile) WriteAt(b []byte, offset int64) (int, error) {
	row := f.rows.Begin("write")
	defer f.rows.End(row)
	return f.TempFile.WriteAt(b, offset)
}
