package scan

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowdata"
)

// input is one file, or what stands for one, opened far enough to know its columns.
type input interface {
	name() string

	// schema has the types that are delivered: see deliveredSchema.
	schema() *arrow.Schema

	stats() Stats

	// span is how many positions the rows take at most.
	span() uint64

	// parts cuts the input; batches hold the given columns of the schema, in that order.
	parts(ctx context.Context, columns []int) ([]part, error)
}

// part is what a format knows of a split.
type part interface {
	open(ctx context.Context, opt readOptions) (rowReader, error)
	offset() uint64 // of its first row among the input's positions
	rows() int64    // -1 when it is not known
	bytes() int64   // 0 when it is not known
	name() string
}

// readOptions tell a part how to read: OpenOptions, filled in.
type readOptions struct {
	Memory         *reserving // of the reader's own buffers and of its batches
	BatchRows      int
	BatchBytes     int64
	Threads        int
	NarrowDecimals bool
	Progress       func(bytes int64) // nil where nobody asks
}

// rowReader reads a part. Its batches may have any size and any type that deliver knows.
type rowReader interface {
	// next returns a batch that belongs to the caller, or io.EOF.
	next(ctx context.Context) (arrow.RecordBatch, error)
	io.Closer
}

// thrifty is a rowReader that can read on after it had no room in the memory.
type thrifty interface {
	rowReader

	// spare gives back what the reader holds between steps. The next step reads it anew.
	spare()

	// shrink makes steps smaller. It returns false where they cannot be.
	shrink() bool
}

// positionsUnknown is the span of an input whose rows nobody has counted: 2^44 rows are more than a
// stream brings in a day at 100 M rows/s, and a million such inputs fit 64 bits.
const positionsUnknown = 1 << 44

// rowNamer is implemented by parts that can tell where their rows are.
type rowNamer interface {
	rowName(row int64) string // row is counted from the part's first
}

// rowPlacer is implemented by row readers that know where the rows of their last batch are, which are not all rows of
// the part one after the other, or have a better name.
type rowPlacer interface {
	placeOf(row int64) string
}

// needer is implemented by row readers that can tell what the step that was refused takes in all, where they ask for
// it bit by bit.
type needer interface{ needed() int64 }

// nextPlacer is implemented by row readers that know where the row is that comes next, if not by the number of rows
// that were read.
type nextPlacer interface{ nextPlace() string }

// streamPart is a whole input that can only be read from its start.
type streamPart struct {
	path   string
	size   int64 // -1 when it is not known
	openAt func(readOptions) (rowReader, error)
}

func (p *streamPart) offset() uint64 { return 0 }

func (p *streamPart) rows() int64 { return -1 }

func (p *streamPart) bytes() int64 { return max(p.size, 0) }

func (p *streamPart) name() string { return p.path }

func (p *streamPart) rowName(row int64) string { return rowOf(p.path, row) }

func (p *streamPart) open(_ context.Context, opt readOptions) (rowReader, error) {
	return p.openAt(opt)
}

// rowCounter reads no column: it says how many rows there are.
type rowCounter struct{ left int64 }

func (r *rowCounter) next(context.Context) (arrow.RecordBatch, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	n := min(r.left, math.MaxInt32)
	r.left -= n
	return emptyBatch(n), nil
}

func (r *rowCounter) Close() error { return nil }

// countingReader counts the bytes that pass.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// errReadOnce is what the second scan of a stream gets.
var errReadOnce = errors.New("a stream can be read once")

// stdinName is the pattern and the name of standard input.
const stdinName = "-"

// addKnown adds figures of which -1 means unknown.
func addKnown(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// rowsMax bounds what a file may claim to hold: 2^44 rows of one byte are 16 TiB.
const rowsMax = positionsUnknown

// footerCopies is how many times its bytes a footer takes, decoded and as it is: a column chunk's figures take three
// times as much as they do in the file, and the schema is there twice.
const footerCopies = 6

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

// shrinkFactor is by how much a step that had no room becomes smaller.
const shrinkFactor = 2

// Stats is what a source knows of itself before it is read. Figures are promises, not estimates:
// an engine that finds them broken reports an error.
type Stats struct {
	Rows    int64         // -1 when it is not known
	Bytes   int64         // in the input's own form, compressed; -1 when it is not known
	Columns []ColumnStats // as long as the schema, or nil
	Once    bool          // the rows can be read once only, as those of standard input
}

// ColumnStats is what is known of one column.
type ColumnStats = rowdata.ColumnStats
