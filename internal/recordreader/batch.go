package recordreader

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
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
