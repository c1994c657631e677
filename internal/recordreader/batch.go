package recordreader

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Slice returns rows of a batch. RecordBatch.NewSlice loses the rows of a batch without columns.
func Slice(b arrow.RecordBatch, from, to int64) arrow.RecordBatch {
	if b.NumCols() == 0 {
		return array.NewRecordBatch(b.Schema(), nil, to-from)
	}
	return b.NewSlice(from, to)
}

// Columns returns the schema of some columns.
func Columns(schema *arrow.Schema, columns []int) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	return arrow.NewSchema(fields, nil)
}

// Arrays returns some columns of a batch, which stay the batch's.
func Arrays(in arrow.RecordBatch, columns []int) []arrow.Array {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = in.Column(c)
	}
	return arrays
}

// Project returns some columns of a batch, which the caller owns.
func Project(in arrow.RecordBatch, columns []int) arrow.RecordBatch {
	fields, arrays := make([]arrow.Field, len(columns)), Arrays(in, columns)
	for i, c := range columns {
		fields[i] = arrow.Field{Name: in.ColumnName(c), Type: arrays[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, in.NumRows())
}

// Pick returns some columns of a batch, as columns of a schema.
func Pick(schema *arrow.Schema, in arrow.RecordBatch, columns []int) arrow.RecordBatch {
	return Batch(schema, Arrays(in, columns), in.NumRows())
}

// Batch makes a batch whose columns may be dictionaries or views where the schema has the type of their values.
func Batch(schema *arrow.Schema, columns []arrow.Array, rows int64) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(i)
		fields[i].Type = c.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
}

// Joined returns the rows of some batches of one schema as one batch, which the caller owns.
func Joined(mem memory.Allocator, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batches[0].NumCols())
	defer func() { ReleaseAll(columns) }()
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	parts := make([]arrow.Array, len(batches))
	for i := range columns {
		for k, b := range batches {
			parts[k] = b.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(parts, mem); err != nil {
			columns[i] = nil
			return nil, err
		}
	}
	return array.NewRecordBatch(batches[0].Schema(), columns, rows), nil
}

// ReleaseAll releases the arrays or batches of a list that are not nil, and sets them to nil.
func ReleaseAll[T interface {
	comparable
	Release()
}](list []T) {
	var none T
	for i, of := range list {
		if of != none {
			of.Release()
			list[i] = none
		}
	}
}
