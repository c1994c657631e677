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

// Input is one file, or what stands for one, opened far enough to know its columns.
type Input interface {
	Name() string

	// Schema has the types that are delivered: see Schema.
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
}

// Part is what a format knows of a split.
type Part interface {
	Open(ctx context.Context, opt Options) (RowReader, error)
	Offset() uint64 // of its first row among the input's positions
	Rows() int64    // -1 when it is not known
	Bytes() int64   // 0 when it is not known
	Name() string
}

// Options tell a part how to read: OpenOptions, filled in.
type Options struct {
	Memory         *reserve.Allocator // of the reader's own buffers and of its batches
	BatchRows      int
	BatchBytes     int64
	Threads        int
	NarrowDecimals bool
	Progress       func(bytes int64) // nil where nobody asks
}

// RowReader reads a part. Its batches may have any size and any type that deliver knows.
type RowReader interface {
	// Next returns a batch that belongs to the caller, or io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	io.Closer
}

// Thrifty is a RowReader that can read on after it had no room in the memory.
type Thrifty interface {
	RowReader

	// Spare gives back what the reader holds between steps. The next step reads it anew.
	Spare()

	// Shrink makes steps smaller. It returns false where they cannot be.
	Shrink() bool
}

// PositionsUnknown is the span of an input whose rows nobody has counted: 2^44 rows are more than a
// stream brings in a day at 100 M rows/s, and a million such inputs fit 64 bits.
const PositionsUnknown = 1 << 44

// RowNamer is implemented by parts that can tell where their rows are.
type RowNamer interface {
	RowName(row int64) string // row is counted from the part's first
}

// RowPlacer is implemented by row readers that know where the rows of their last batch are, which are not all rows of
// the part one after the other, or have a better name.
type RowPlacer interface {
	PlaceOf(row int64) string
}

// Needer is implemented by row readers that can tell what the step that was refused takes in all, where they ask for
// it bit by bit.
type Needer interface{ Needed() int64 }

// NextPlacer is implemented by row readers that know where the row is that comes next, if not by the number of rows
// that were read.
type NextPlacer interface{ NextPlace() string }

// StreamPart is a whole input that can only be read from its start.
type StreamPart struct {
	Path   string
	Size   int64 // -1 when it is not known
	OpenAt func(Options) (RowReader, error)
}

func (p *StreamPart) Offset() uint64 { return 0 }

func (p *StreamPart) Rows() int64 { return -1 }

func (p *StreamPart) Bytes() int64 { return max(p.Size, 0) }

func (p *StreamPart) Name() string { return p.Path }

func (p *StreamPart) RowName(row int64) string { return RowOf(p.Path, row) }

func (p *StreamPart) Open(_ context.Context, opt Options) (RowReader, error) {
	return p.OpenAt(opt)
}

// RowCounter reads no column: it says how many rows there are.
type RowCounter struct{ Left int64 }

func (r *RowCounter) Next(context.Context) (arrow.RecordBatch, error) {
	if r.Left == 0 {
		return nil, io.EOF
	}
	n := min(r.Left, math.MaxInt32)
	r.Left -= n
	return delivery.EmptyBatch(n), nil
}

func (r *RowCounter) Close() error { return nil }

// CountingReader counts the bytes that pass.
type CountingReader struct {
	R io.Reader
	N int64
}

func (c *CountingReader) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N += int64(n)
	return n, err
}

// ErrReadOnce is what the second scan of a stream gets.
var ErrReadOnce = errors.New("a stream can be read once")

// StdinName is the pattern and the name of standard input.
const StdinName = "-"

// AddKnown adds figures of which -1 means unknown.
func AddKnown(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// RowsMax bounds what a file may claim to hold: 2^44 rows of one byte are 16 TiB.
const RowsMax = PositionsUnknown

// FooterCopies is how many times its bytes a footer takes, decoded and as it is: a column chunk's figures take three
// times as much as they do in the file, and the schema is there twice.
const FooterCopies = 6

// ColumnInfo is what a file says of a column. All of its row groups count together.
type ColumnInfo struct {
	Name              string
	Type              arrow.DataType
	Nulls             int64 // -1 when it is not known
	CompressedBytes   int64 // -1 when it is not known
	UncompressedBytes int64 // -1 when it is not known
	Codecs            []string
	Encodings         []string
	HasRange          bool
	Min, Max          string // as text, of the row groups that have statistics if all do
}

// ShrinkFactor is by how much a step that had no room becomes smaller.
const ShrinkFactor = 2

// Stats is a scan.Stats of one input.
type Stats struct {
	Rows    int64         // -1 when it is not known
	Bytes   int64         // in the input's own form, compressed; -1 when it is not known
	Columns []ColumnStats // as long as the schema, or nil
	Once    bool          // the rows can be read once only, as those of standard input
}

// ColumnStats is what is known of one column.
type ColumnStats = rowdata.ColumnStats
