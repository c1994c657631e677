package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/rowdata"
)

// Source is a table that can be read in parallel, by splits. A source may be scanned any number of
// times unless its documentation says otherwise, and by one query at a time unless it says otherwise.
type Source interface {
	// Schema returns the columns of every record batch, in order. Names may repeat in the schema,
	// but a query cannot name a repeated column.
	Schema() *arrow.Schema

	// Stats returns what is known of the table without reading its rows.
	Stats() Stats

	// Splits cuts the table into parts that are read independently of each other, in input order.
	// columns are indexes into Schema; batches hold just those, in that order.
	Splits(ctx context.Context, columns []int) ([]Split, error)
}

// Split is one part of a source: a row group, a block of text, a stream.
type Split interface {
	// Open starts reading. The batches that the reader returns stay valid until they are released,
	// also after Next is called again. Errors name the file and, where it is known, the row.
	//
	// A column that the schema says is utf8, large_utf8, binary, large_binary or of a fixed width other than
	// bool's may come as dictionary<int32, that type>, in some batches and not in others; no entry of such
	// a dictionary is NULL. Batches that share a dictionary share its array data. One that is utf8 or
	// large_utf8 may also come as string_view, and binary or large_binary as binary_view, in which the
	// bytes behind short values are 0. NarrowDecimals lets some decimals come as others.
	Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error)

	// Position is the place of the split's first row in the input: row i of the split has position
	// Position() + i, and the positions of a later split are larger than all of this one's.
	Position() uint64

	// Rows returns the number of rows, or -1 when only reading can tell.
	Rows() int64

	// Bytes returns about how many bytes Open will read, for progress; 0 when it is not known.
	Bytes() int64

	// Name says which part this is, for errors and traces: "flights.parquet, row group 3".
	Name() string
}

// OpenOptions tell a split how to read.
type OpenOptions struct {
	// Allocator takes the memory of the batches. The default is memory.DefaultAllocator.
	Allocator memory.Allocator

	// Budget is the memory that reading may take, that of the batches included: a reader takes memory once there is
	// room for it, and goes slower, or ends with the budget's error, where there is none. What the buffers of an
	// Allocator that is a CountingAllocator take counts in the budget by itself. The default, nil, has no limit.
	Budget rowdata.Budget

	// Wait, when set, is called in place of a function that waits until other readers of the source have ended: the
	// caller may give others what it holds meanwhile. The default just calls the function.
	Wait func(ctx context.Context, f func()) error

	// BatchRows is the wanted number of rows of a batch. The default is 65,536.
	BatchRows int

	// BatchBytes is about how many bytes a batch may have; it has one row at least. The default is 64 MiB.
	BatchBytes int64

	// Threads is how many threads this split may use to decode its columns. The default is 1.
	Threads int

	// NarrowDecimals lets decimal128 of at most 18 digits come as decimal64 of the same precision and scale, in some
	// batches and not in others, and as the entries of dictionaries.
	NarrowDecimals bool

	// Progress, when set, is called with the number of bytes consumed since the last call.
	Progress func(bytes int64)
}

// CountingAllocator is an allocator whose buffers count in a budget by themselves, large ones at least.
type CountingAllocator interface {
	memory.Allocator

	// Counted returns how many bytes of the budget a buffer of size bytes takes; 0 of one that does not count.
	Counted(size int) int64
}

// EnsureDefaults fills in what is zero.
func (o *OpenOptions) EnsureDefaults() {
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.Wait == nil {
		o.Wait = func(_ context.Context, f func()) error {
			f()
			return nil
		}
	}
	if o.BatchRows <= 0 {
		o.BatchRows = 1 << 16
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = delivery.BatchBytesMax
	}
	if o.Threads <= 0 {
		o.Threads = 1
	}
}

// Stats is what a source knows of itself before it is read. Figures are promises, not estimates:
// an engine that finds them broken reports an error.
type Stats = decode.Stats

// ColumnStats is what is known of one column.
type ColumnStats = rowdata.ColumnStats

// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
var ErrCorrupt = decode.ErrCorrupt

// NullCount returns the number of NULLs of an array. The array's own NullN counts them at its first
// call and keeps the number without a lock; this only reads, so that workers may share an array.
func NullCount(a arrow.Array) int { return delivery.NullCount(a) }

// IsViewOf says whether batches may hold views of a type where the schema has another. S1.
func IsViewOf(views, typ arrow.DataType) bool { return delivery.IsViewOf(views, typ) }

// IsNarrowOf says whether batches may hold decimals of one type where the schema has another. S1.
func IsNarrowOf(narrow, typ arrow.DataType) bool { return delivery.IsNarrowOf(narrow, typ) }
