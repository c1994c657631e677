package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// Source is a table that can be read in parallel, by splits. Unless its documentation says
// otherwise, a source may be scanned any number of times, by several queries at once.
type Source interface {
	// Schema returns the columns of every record batch, in order. Names may repeat in the schema,
	// but a query cannot name a repeated column.
	Schema() *arrow.Schema

	// Stats returns the statistics that are known without reading rows.
	Stats() Stats

	// Splits cuts the table into parts that are read independently of each other, in input order (S2).
	// columns are indexes into Schema; batches hold just these columns, in this order.
	Splits(ctx context.Context, columns []int) ([]Split, error)
}

// IsHidden says whether a column of a source is one that a statement reads where it names it, and * does not have.
func IsHidden(f arrow.Field) bool { return delivery.IsHidden(f) }

// StructOf returns the name of the struct that a column is, behind the columns that are no structs, or is a field of: *
// has the struct in place of its fields. It is "" of other columns.
func StructOf(f arrow.Field) string { return delivery.StructOf(f) }

// Hidden returns the field of a hidden column.
func Hidden(f arrow.Field) arrow.Field { return delivery.Hidden(f) }

// Adviser is a Source that knows why some of its columns are text.
type Adviser interface {
	// WhyText returns why a column is text whose values are something else but for a few, or are objects and arrays,
	// and which options read them as that; nil of another column.
	WhyText(column string) error
}

// Expecter is a Source that learns how many rows it has while it is read.
type Expecter interface {
	// RowsExpected returns about how many rows there are in all, or 0 as long as nothing tells. It is
	// called while splits are read, by any goroutine.
	RowsExpected() int64
}

// Split is one part of a source: a row group, a block of text, a stream.
type Split interface {
	// Open starts reading. The batches that the reader returns stay valid until they are released,
	// also after Next is called again. Errors name the file and, where it is known, the row.
	//
	// A column that the schema says is utf8, large_utf8, binary, large_binary or of a fixed width
	// other than bool's may come as dictionary<int32, that type>, in some batches and not in
	// others; no entry of such a dictionary is NULL. Batches that share a dictionary share its
	// array data. A utf8 or large_utf8 column may also come as string_view, and binary or
	// large_binary as binary_view; in views the bytes behind short values are 0. NarrowDecimals
	// lets some decimals come as others.
	Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error)

	// Position is the place of the split's first row in the input: row i of the split has position
	// Position() + i, and all positions of later splits are larger.
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
	// Allocator takes the memory of the batches. If its buffers count in Budget by themselves,
	// large buffers at least, it has a method Counted(size int) int64, which returns how many bytes
	// of Budget a buffer takes so; 0 for a buffer that does not count. The default is
	// memory.DefaultAllocator.
	Allocator memory.Allocator

	// Budget is the memory that reading may take, the memory of the batches included: a reader
	// takes memory once there is room for it, and goes slower, or ends with the budget's error,
	// where there is no room. The default, nil, has no limit.
	Budget Budget

	// Wait is called with a function f that waits until other readers of the source have ended: it
	// calls f, and may give up threads meanwhile. The default just calls f.
	Wait func(ctx context.Context, f func()) error

	// BatchRows is the wanted number of rows of a batch. The default is 65,536.
	BatchRows int

	// BatchBytes is about how many bytes a batch of several rows may have. The default is 64 MiB.
	BatchBytes int64

	// Borrow lends the split a thread that has nothing else to do, to decode columns side by side,
	// until give is called. ok is false where there is none. The default, nil, lends none.
	Borrow func() (give func(), ok bool)

	// NarrowDecimals lets decimal128 of at most 18 digits come as decimal64 of the same precision
	// and scale, in some batches and not in others, as values and as the entries of dictionaries.
	NarrowDecimals bool

	// Sample says that the rows are read to look at them, and once more later: Pruning does not count them.
	Sample bool

	// Progress, when set, is called with the number of bytes consumed since the last call.
	Progress func(bytes int64)

	// Rejected, when set, is called with the number of rows that are left out because of errors,
	// where the source leaves out such rows (csv.Options.IgnoreErrors). A row counts once in a
	// scan, however often its split is read.
	Rejected func(rows int64)

	// Pages, when set, is called with pages that have been decoded, of files that have pages. Columns of nested
	// types have none that are counted.
	Pages func(PageCount)
}

// Budget bounds memory. It is safe for concurrent use.
type Budget interface {
	// Reserve promises bytes to the caller, or returns an error that says what the limit is and how
	// much would be enough.
	Reserve(bytes int64) error

	// Unreserve takes back bytes that were promised.
	Unreserve(bytes int64)

	// Room returns an error where Reserve would, and promises nothing.
	Room(bytes int64) error
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
}

// Stats is what a source knows of itself before it is read. Figures are promises, not estimates:
// an engine that finds them broken reports an error.
type Stats struct {
	Rows    int64         // -1 when it is not known
	Bytes   int64         // in the input's own form, compressed; -1 when it is not known
	Columns []ColumnStats // as long as the schema, or nil
	Once    bool          // the rows can be read once only, as standard input can
	Groups  bool          // the rows are groups that another query makes while they are read
}

// ColumnStats is what is known of a column before it is read. Each figure is a promise.
type ColumnStats = decode.ColumnStats

// ErrCorrupt marks input whose parts contradict each other, or that ends too early.
var ErrCorrupt = decode.ErrCorrupt

// NullCount returns the number of NULLs of an array. The array's own NullN counts them at its first
// call and keeps the number without a lock; this only reads, so that workers may share an array.
func NullCount(a arrow.Array) int { return delivery.NullCount(a) }

// IsViewOf says whether batches may hold views of a type where the schema has another. S1.
func IsViewOf(views, typ arrow.DataType) bool {
	return arrow.IsBaseBinary(typ.ID()) && arrow.TypeEqual(views, delivery.ViewType(typ))
}

// IsNarrowOf says whether batches may hold decimals of one type where the schema has another. S1.
func IsNarrowOf(narrow, typ arrow.DataType) bool {
	n, ok := narrow.(*arrow.Decimal64Type)
	if !ok {
		return false
	}
	wide, ok := typ.(*arrow.Decimal128Type)
	return ok && n.Precision == wide.Precision && n.Scale == wide.Scale &&
		n.Precision <= delivery.DecimalDigits[arrow.DECIMAL64]
}
