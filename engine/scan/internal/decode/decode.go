package decode

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/rowdata"
)

// Input is a file, a stream, or batches in memory, opened far enough to know its columns.
type Input interface {
	Name() string

	// Schema has the columns and types that are delivered: delivery.Flatten.
	Schema() *arrow.Schema

	Stats() Stats

	// Span is how many positions the rows take at most.
	Span() uint64

	// Parts cuts the input; batches hold the given columns of the schema, in that order.
	Parts(ctx context.Context, columns []int) ([]Part, error)
}

// File is an input of a table.
type File struct {
	Input
	Changed func() error // returns the error of a file that is another by now; nil where the input is no file

	// Constants are columns of which all rows of the file have one value, as Folder.Values has it, by name: they
	// are not read from the file.
	Constants map[string]any
}

// Part is a format's side of a split.
type Part interface {
	Open(ctx context.Context, opt Options) (RowReader, error)
	Offset() uint64 // of its first row among the input's positions
	Rows() int64    // -1 when it is not known
	Bytes() int64   // 0 when it is not known
	Name() string
}

// Options tell a part how to read: scan.OpenOptions, filled in.
type Options struct {
	Memory         *reserve.Allocator // of the reader's own buffers and of its batches
	BatchRows      int
	BatchBytes     int64
	NarrowDecimals bool
	Sample         bool                          // rows do not count
	Borrow         func() (give func(), ok bool) // nil where nobody lends a thread
	Progress       func(bytes int64)             // nil where nobody asks
	Rejected       func(rows int64)              // nil where nobody asks
	Pages          func(PageCount)               // nil where nobody asks
}

// RowReader reads a part. Its batches may have any size, and any type that package delivery knows.
type RowReader interface {
	// Next returns a batch that belongs to the caller, or io.EOF. The row of a TextError whose place
	// is not named is counted from the batch that was to be returned.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	io.Closer
}

// Thrifty is a RowReader that can read on after it had no room in the memory.
type Thrifty interface {
	RowReader

	// Spare gives back the memory that the reader holds between steps; the next step reads it
	// again.
	Spare()

	// Shrink makes steps smaller. It returns false where they cannot be.
	Shrink() bool
}

// PositionsUnknown is the span of an input whose rows nobody has counted: 2^44 rows are more than a
// stream brings in a day at 100 M rows/s, and a million such inputs fit 64 bits.
const PositionsUnknown = 1 << 44

// RowsMax bounds what a file may claim to hold: 2^44 rows of one byte are 16 TiB.
const RowsMax = PositionsUnknown

// RowNamer is implemented by parts that can tell where their rows are.
type RowNamer interface {
	RowName(row int64) string // row is counted from the part's first
}

// RowPlacer is implemented by row readers whose rows are not all rows of the part one after the
// other, or have a better place than their number.
type RowPlacer interface {
	PlaceOf(row int64) string // of the last batch
	NextPlace() string        // of the row that is read next
}

// RowNumberer is implemented by row readers whose rows are not all rows of the part one after the
// other.
type RowNumberer interface {
	// RowNumbers writes where the rows of the last batch from a row on are in the part, counted from
	// its first row: as many as to has room for.
	RowNumbers(from int64, to []int)
}

// Needer is implemented by row readers that ask for the memory of a step bit by bit, and can tell
// what a step that was refused takes in all.
type Needer interface{ Needed() int64 } // bytes

// StreamPart is a whole input that can only be read from its start.
type StreamPart struct {
	Path   string
	Size   int64 // -1 when it is not known
	OpenAt func(Options) (RowReader, error)
}

// Offset implements Part: a stream is one part, so it begins at position 0 of its input.
func (p *StreamPart) Offset() uint64 { return 0 }

// Rows implements Part. It returns -1: nobody knows how many rows a stream has.
func (p *StreamPart) Rows() int64 { return -1 }

// Bytes implements Part. It returns Size, or 0 when that is not known.
func (p *StreamPart) Bytes() int64 { return max(p.Size, 0) }

// Name implements Part. It returns Path.
func (p *StreamPart) Name() string { return p.Path }

// RowName implements RowNamer: the path, and the row counted from 1.
func (p *StreamPart) RowName(row int64) string { return RowOf(p.Path, row) }

// Open implements Part by OpenAt.
func (p *StreamPart) Open(_ context.Context, opt Options) (RowReader, error) {
	return p.OpenAt(opt)
}

// RowCounter is the RowReader of no columns: it says how many rows there are.
type RowCounter struct{ Left int64 } // rows

// Next returns a batch without columns of at most 2^31-1 rows, or io.EOF when no rows are left.
func (r *RowCounter) Next(context.Context) (arrow.RecordBatch, error) {
	if r.Left == 0 {
		return nil, io.EOF
	}
	n := min(r.Left, math.MaxInt32)
	r.Left -= n
	return delivery.EmptyBatch(n), nil
}

// Close does nothing: a RowCounter holds nothing.
func (r *RowCounter) Close() error { return nil }

// CountingReader counts the bytes that are read.
type CountingReader struct {
	R io.Reader
	N int64 // bytes
}

// Read implements io.Reader, and adds the bytes that it has read to N.
func (c *CountingReader) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N += int64(n)
	return n, err
}

// ErrReadOnce is the error of the second scan of a stream.
var ErrReadOnce = errors.New("a stream can be read once")

// StdinName is the pattern and the name of standard input.
const StdinName = "-"

// FooterCopies is how many times its bytes a footer takes in memory, encoded and decoded: a column
// chunk's figures take three times as much as in the file, and the schema is there twice.
const FooterCopies = 6

// ShrinkFactor is by how much a step that had no room becomes smaller.
const ShrinkFactor = 2

// Stats is a scan.Stats of one input.
type Stats struct {
	Rows    int64         // -1 when it is not known
	Bytes   int64         // in the input's own form, compressed; -1 when it is not known
	Columns []ColumnStats // as long as the schema, or nil
	Once    bool          // the rows can be read once only, as standard input can
}

// ColumnStats is scan.ColumnStats.
type ColumnStats = rowdata.ColumnStats

// AddKnown adds figures of which -1 means unknown.
func AddKnown(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
