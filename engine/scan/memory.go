package scan

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// partRows is how many rows of a batch in memory make a split: enough that opening it costs nothing,
// few enough that one big batch keeps every thread busy.
const partRows = 1 << 17

// Batches returns a source over record batches in memory, read in parallel by batch and by slices
// of large batches. It may be scanned any number of times. The caller keeps the batches retained
// for as long as it uses the source. Batches whose columns are not those of the schema are an
// error of Splits.
func Batches(schema *arrow.Schema, batches []arrow.RecordBatch) Source {
	for _, batch := range batches {
		for _, column := range batch.Columns() {
			if d, ok := column.(*array.Dictionary); ok {
				d.Dictionary() // made and kept at the first call, without a lock: before scans share it
			}
		}
	}
	return mustTable(&batchInput{fields: deliveredSchema(schema), given: schema, batches: batches})
}

// mustTable is newTable for one input without hive columns, which nothing can disagree with.
func mustTable(in input) *table {
	t, err := newTable([]tableInput{{input: in}}, nil)
	if err != nil {
		panic(fmt.Sprintf("scan: a table of one input: %v", err))
	}
	return t
}

type batchInput struct {
	fields  *arrow.Schema
	given   *arrow.Schema
	batches []arrow.RecordBatch
}

func (b *batchInput) name() string          { return "record batches" }
func (b *batchInput) schema() *arrow.Schema { return b.fields }
func (b *batchInput) span() uint64          { return uint64(b.stats().Rows) }

// stats counts; null counts are in the arrays already.
func (b *batchInput) stats() Stats {
	stats := Stats{Columns: make([]ColumnStats, b.fields.NumFields())}
	for c := range stats.Columns {
		stats.Columns[c].NoNulls = true
		stats.Columns[c].Repeats = b.given.Field(c).Type.ID() == arrow.DICTIONARY
	}
	for _, batch := range b.batches {
		stats.Rows += batch.NumRows()
		for c := range min(len(stats.Columns), int(batch.NumCols())) {
			stats.Columns[c].NoNulls = stats.Columns[c].NoNulls && noNulls(batch.Column(c))
			stats.Bytes += int64(batch.Column(c).Data().SizeInBytes())
		}
	}
	return stats
}

// noNulls says whether an array surely has no NULL, also none behind a dictionary's code.
func noNulls(a arrow.Array) bool {
	switch a := a.(type) {
	case array.ExtensionArray:
		return noNulls(a.Storage())
	case *array.Dictionary:
		return NullCount(a) == 0 && noNulls(a.Dictionary())
	case *array.Null:
		return a.Len() == 0
	}
	switch a.DataType().ID() {
	case arrow.RUN_END_ENCODED, arrow.SPARSE_UNION, arrow.DENSE_UNION: // their NULLs are in their children
		return false
	}
	return NullCount(a) == 0
}

func (b *batchInput) parts(_ context.Context, columns []int) ([]part, error) {
	var parts []part
	var offset int64
	for i, batch := range b.batches {
		if err := b.check(batch); err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
		for from := int64(0); from < batch.NumRows(); from += partRows {
			to := min(from+partRows, batch.NumRows())
			parts = append(parts, &batchPart{batch: batch, index: i, columns: columns, from: from, to: to, first: offset + from})
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
		if got := batch.Column(c).DataType(); !arrow.TypeEqual(deliveredType(got), deliveredType(field.Type)) {
			return fmt.Errorf("column %q is %s, where the schema has %s", field.Name, got, field.Type)
		}
	}
	return nil
}

// batchPart is rows [from, to) of a batch.
type batchPart struct {
	batch    arrow.RecordBatch
	index    int
	columns  []int
	from, to int64
	first    int64 // row of the source that from is
}

func (p *batchPart) offset() uint64 { return uint64(p.first) }
func (p *batchPart) rows() int64    { return p.to - p.from }
func (p *batchPart) bytes() int64   { return 0 }
func (p *batchPart) name() string {
	return fmt.Sprintf("record batch %d, rows %d to %d", p.index, p.from, p.to)
}

func (p *batchPart) open(context.Context, readOptions) (rowReader, error) {
	fields := make([]arrow.Field, len(p.columns))
	columns := make([]arrow.Array, len(p.columns))
	for i, c := range p.columns {
		columns[i] = array.NewSlice(p.batch.Column(c), p.from, p.to)
		defer columns[i].Release()
		fields[i] = arrow.Field{Name: p.batch.ColumnName(c), Type: columns[i].DataType(), Nullable: true}
	}
	return &oneBatch{batch: array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, p.rows())}, nil
}

// oneBatch is the rowReader of a batch that is there already.
type oneBatch struct{ batch arrow.RecordBatch }

func (o *oneBatch) next(context.Context) (arrow.RecordBatch, error) {
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

// Reader returns a source over the batches of r: one split, which can be opened once. The caller
// keeps r retained while it uses the source, and releases it after.
func Reader(r array.RecordReader) Source {
	return mustTable(&readerInput{reader: r, fields: deliveredSchema(r.Schema())})
}

type readerInput struct {
	reader array.RecordReader
	fields *arrow.Schema
	opened atomic.Bool
}

func (r *readerInput) name() string          { return "record reader" }
func (r *readerInput) schema() *arrow.Schema { return r.fields }
func (r *readerInput) span() uint64          { return positionsUnknown }
func (r *readerInput) stats() Stats          { return Stats{Rows: -1, Bytes: -1, Once: true} }

func (r *readerInput) parts(_ context.Context, columns []int) ([]part, error) {
	return []part{&readerPart{input: r, columns: columns}}, nil
}

type readerPart struct {
	input   *readerInput
	columns []int
}

func (p *readerPart) offset() uint64 { return 0 }
func (p *readerPart) rows() int64    { return -1 }
func (p *readerPart) bytes() int64   { return 0 }
func (p *readerPart) name() string   { return p.input.name() }

func (p *readerPart) open(context.Context, readOptions) (rowReader, error) {
	if !p.input.opened.CompareAndSwap(false, true) {
		return nil, errReadOnce
	}
	return &recordReader{reader: p.input.reader, columns: p.columns}, nil
}

// recordReader is the rowReader over an array.RecordReader: the chosen columns of its batches.
type recordReader struct {
	reader  array.RecordReader
	columns []int
}

func (r *recordReader) next(context.Context) (arrow.RecordBatch, error) {
	if !r.reader.Next() {
		if err := r.reader.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	return project(r.reader.RecordBatch(), r.columns), nil
}

func (r *recordReader) Close() error { return nil }

func (p *batchPart) rowName(row int64) string {
	return rowOf(fmt.Sprintf("record batch %d", p.index), p.from+row)
}
