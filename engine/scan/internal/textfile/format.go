package textfile

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// Format is what the format of a text knows of its rows.
type Format interface {
	// NewSplitter returns what cuts rows into the fields of the wanted columns.
	NewSplitter(columns []int) Splitter

	// SplitterBytes returns the memory of a splitter; columns is how many columns are wanted.
	SplitterBytes(columns int) int64

	// RowBytes returns how many bytes a row takes at least.
	RowBytes() int

	// ReadChunk fills buf with a chunk, by ReadRange, and returns where in it the first row begins that
	// starts in the chunk, len(buf)+1 where no row does; and the newlines before the chunk, where rows
	// with errors are left out.
	ReadChunk(ctx context.Context, f io.ReaderAt, chunk int, buf []byte) (first int, lines int64, err error)

	// RowLength returns how many bytes the first row of a text has, at most RowLimit.
	RowLength(text io.Reader) int64

	// Columns returns what the columns of a reader have in common, but for the memory.
	Columns() fields.Options

	// ValueError is the error of a field, in quotes or not, that is no value of its column's type.
	ValueError(column string, typ arrow.DataType, format *fields.Format, field []byte, quoted bool) error

	// LongRow is the error of a row that is longer than RowLimit.
	LongRow() error
}

// Splitter finds the fields of the wanted columns in rows. Its errors are of type Error where they
// have a place.
type Splitter interface {
	// Split finds some whole rows behind buf[p], which belong to the chunk that ends at limit, up to
	// rowsMax, and returns where it goes on. It returns no rows only where the buffer has no whole row,
	// or with an error, which is io.EOF where the chunk has no more rows. There are fields.Slack more
	// bytes behind buf.
	Split(buf []byte, p, limit, rowsMax int) (next, rows int, err error)

	// Fields returns the fields of a wanted column, of the rows that were split last.
	Fields(column int) []fields.Span

	// End returns the error of a text that ends behind buf[p], where Split has found no row.
	End(buf []byte, p int) error

	// RowStart returns where the row begins that Split would find at p.
	RowStart(buf []byte, p int) int
}

// Error is an error at an offset of a buffer.
type Error struct {
	At     int
	Reason error
	Next   int // where the row behind begins, where rows with errors are left out
}

// Error implements error.
func (e *Error) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }
