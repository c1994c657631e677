package scan

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/recordreader"
)

// partRows is how many rows of a batch in memory make a split: enough that opening a split costs
// nothing beside them, few enough that a single big batch keeps every thread busy.
const partRows = 1 << 17

// Batches returns a source over record batches in memory, read in parallel by batch and by slices
// of large batches. It may be scanned any number of times. The caller keeps the batches retained
// while it uses the source. Batches with other columns than the schema are an error of Splits. What
// is in the batches is taken as it is, unlike what is in files: that strings are UTF-8, and that
// offsets and codes are within bounds, is up to the caller.
func Batches(schema *arrow.Schema, batches []arrow.RecordBatch) Source {
	for _, batch := range batches {
		for _, column := range batch.Columns() {
			makeDictionaries(column)
		}
	}
	return mustTable(&batchInput{flat: delivery.Flatten(schema), given: schema, batches: batches})
}

// makeDictionaries asks for the dictionaries of an array and of the fields of structs: they are made
// and kept at the first call, without a lock, before scans share them.
func makeDictionaries(a arrow.Array) {
	switch a := a.(type) {
	case *array.Dictionary:
		a.Dictionary()
	case *array.Struct:
		for i := range a.NumField() {
			makeDictionaries(a.Field(i))
		}
	}
}

// mustTable is NewTable for a single input without folders, where NewTable has no error.
func mustTable(in decode.Input) Source {
	t, err := NewTable([]decode.File{{Input: in}}, nil, Whole{})
	if err != nil {
		panic(fmt.Sprintf("scan: a table of one input: %v", err))
	}
	return t
}

// batchInput is the Input of record batches in memory.
type batchInput struct {
	flat    *delivery.Flat
	given   *arrow.Schema // of the batches
	batches []arrow.RecordBatch
}

func (b *batchInput) Name() string          { return "record batches" }
func (b *batchInput) Schema() *arrow.Schema { return b.flat.Schema }
func (b *batchInput) Span() uint64          { return uint64(b.Stats().Rows) }

// Stats counts; null counts are in the arrays already.
func (b *batchInput) Stats() decode.Stats {
	stats := decode.Stats{Columns: make([]ColumnStats, len(b.flat.Paths))}
	for c, path := range b.flat.Paths {
		stats.Columns[c].NoNulls = true
		stats.Columns[c].Repeats = len(path) == 1 && b.given.Field(path[0]).Type.ID() == arrow.DICTIONARY
	}
	for _, batch := range b.batches {
		stats.Rows += batch.NumRows()
		for _, column := range batch.Columns() {
			stats.Bytes += int64(column.Data().SizeInBytes())
		}
		for c, path := range b.flat.Paths {
			if path[0] < int(batch.NumCols()) {
				stats.Columns[c].NoNulls = stats.Columns[c].NoNulls && noNulls(batch.Column(path[0]), path[1:]...)
			}
		}
	}
	return stats
}

// noNulls says whether an array, or the field of a struct that a path leads to, surely has no NULL,
// also none behind a dictionary's code.
func noNulls(a arrow.Array, path ...int) bool {
	if len(path) > 0 {
		of, ok := a.(*array.Struct)
		return ok && delivery.NullCount(a) == 0 && path[0] < of.NumField() && noNulls(of.Field(path[0]), path[1:]...)
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return noNulls(a.Storage())
	case *array.Dictionary:
		return delivery.NullCount(a) == 0 && noNulls(a.Dictionary())
	case *array.Null:
		return a.Len() == 0
	}
	switch a.DataType().ID() {
	case arrow.RUN_END_ENCODED, arrow.SPARSE_UNION, arrow.DENSE_UNION: // their NULLs are in their children
		return false
	}
	return delivery.NullCount(a) == 0
}

func (b *batchInput) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	var parts []decode.Part
	var offset int64
	flat, columns := b.flat.Some(columns)
	for i, batch := range b.batches {
		if err := b.check(batch); err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
		for from := int64(0); from < batch.NumRows(); from += partRows {
			to := min(from+partRows, batch.NumRows())
			p := &batchPart{batch: batch, index: i, columns: columns, flat: flat, from: from, to: to, first: offset + from}
			parts = append(parts, p)
		}
		offset += batch.NumRows()
	}
	return parts, nil
}

func (b *batchInput) check(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != b.given.NumFields() {
		return fmt.Errorf("%d columns, where the schema has %d", batch.NumCols(), b.given.NumFields())
	}
	for c, field := range b.given.Fields() {
		if got := batch.Column(c).DataType(); !arrow.TypeEqual(delivery.Type(got), delivery.Type(field.Type)) {
			return fmt.Errorf("column %q is %s, where the schema has %s", field.Name, got, field.Type)
		}
	}
	return nil
}

// batchPart is rows [from, to) of a batch.
type batchPart struct {
	batch    arrow.RecordBatch
	index    int            // of the batch
	columns  []int          // of the batch
	flat     *delivery.Flat // of columns
	from, to int64
	first    int64 // row of the source that row from of the batch is
}

func (p *batchPart) Offset() uint64 { return uint64(p.first) }
func (p *batchPart) Rows() int64    { return p.to - p.from }
func (p *batchPart) Bytes() int64   { return 0 }
func (p *batchPart) Name() string {
	return fmt.Sprintf("record batch %d, rows %d to %d", p.index, p.from, p.to)
}

// RowName implements decode.RowNamer.
func (p *batchPart) RowName(row int64) string {
	return decode.RowOf(fmt.Sprintf("record batch %d", p.index), p.from+row)
}

func (p *batchPart) Open(_ context.Context, opt decode.Options) (decode.RowReader, error) {
	columns := recordreader.Project(p.batch, p.columns)
	defer columns.Release()
	// A slice even of all rows: arrays note their NULLs without a lock, and scans share the batch.
	rows := recordreader.Slice(columns, p.from, p.to)
	defer rows.Release()
	batch, err := p.flat.Take(opt.Memory, rows)
	if err != nil {
		return nil, err
	}
	return &oneBatch{batch: batch}, nil
}

// oneBatch is the RowReader of a batch in memory.
type oneBatch struct{ batch arrow.RecordBatch } // owned; nil once returned or closed

func (o *oneBatch) Next(context.Context) (arrow.RecordBatch, error) {
	if o.batch == nil {
		return nil, io.EOF
	}
	batch := o.batch
	o.batch = nil
	return batch, nil
}

func (o *oneBatch) Close() error {
	if o.batch != nil {
		o.batch.Release()
		o.batch = nil
	}
	return nil
}

// Reader returns a source over the batches of r: a single split, which can be opened once. The
// caller keeps r retained while it uses the source, and releases r after.
func Reader(r array.RecordReader) Source {
	return mustTable(&readerInput{reader: r, flat: delivery.Flatten(r.Schema())})
}

// readerInput is the Input of the batches of a record reader.
type readerInput struct {
	reader array.RecordReader
	flat   *delivery.Flat
	opened atomic.Bool
}

func (r *readerInput) Name() string          { return "record reader" }
func (r *readerInput) Schema() *arrow.Schema { return r.flat.Schema }
func (r *readerInput) Span() uint64          { return decode.PositionsUnknown }
func (r *readerInput) Stats() decode.Stats   { return decode.Stats{Rows: -1, Bytes: -1, Once: true} }

func (r *readerInput) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	flat, columns := r.flat.Some(columns)
	return []decode.Part{&readerPart{input: r, columns: columns, flat: flat}}, nil
}

// readerPart is all batches of a record reader, and their RowReader: it is opened once.
type readerPart struct {
	input   *readerInput
	columns []int          // of the reader
	flat    *delivery.Flat // of columns
	mem     memory.Allocator
}

func (p *readerPart) Offset() uint64 { return 0 }
func (p *readerPart) Rows() int64    { return -1 }
func (p *readerPart) Bytes() int64   { return 0 }
func (p *readerPart) Name() string   { return p.input.Name() }

func (p *readerPart) Open(_ context.Context, opt decode.Options) (decode.RowReader, error) {
	if !p.input.opened.CompareAndSwap(false, true) {
		return nil, decode.ErrReadOnce
	}
	p.mem = opt.Memory
	return p, nil
}

func (p *readerPart) Next(context.Context) (arrow.RecordBatch, error) {
	batch, err := recordreader.Next(p.input.reader)
	switch {
	case err != nil:
		return nil, decode.Locate(p.Name(), err) // not io.EOF itself
	case batch == nil:
		return nil, io.EOF
	}
	columns := recordreader.Project(batch, p.columns)
	defer columns.Release()
	return p.flat.Take(p.mem, columns)
}

func (p *readerPart) Close() error { return nil }
