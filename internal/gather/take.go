package gather

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/recordreader"
)

// Take returns rows of a column, in the order in which they are named. Dictionaries are kept.
func Take(mem memory.Allocator, column arrow.Array, rows []int64) (arrow.Array, error) {
	at := make([]Row, len(rows))
	for i, row := range rows {
		at[i].Row = uint32(row)
	}
	return TakeRows(mem, column, at)
}

// TakeRows is Take of rows of the only batch.
func TakeRows(mem memory.Allocator, column arrow.Array, rows []Row) (arrow.Array, error) {
	dictionary, ok := column.(*array.Dictionary)
	if !ok {
		return Column(mem, []arrow.Array{column}, rows)
	}
	indexes, err := Column(mem, []arrow.Array{dictionary.Indices()}, rows)
	if err != nil {
		return nil, err
	}
	defer indexes.Release()
	return array.NewDictionaryArray(column.DataType(), indexes, dictionary.Dictionary()), nil
}

// Valid returns the validity bits of rows of a column; nil where no value of the column is NULL.
func Valid(mem memory.Allocator, column arrow.Array, rows []Row) (bits *memory.Buffer, nulls int) {
	return (&gathering{mem, []arrow.Array{column}, rows}).valid()
}

// Batch returns some rows of a batch, as columns of a schema, which the caller owns.
func Batch(mem memory.Allocator, schema *arrow.Schema, from arrow.RecordBatch, rows []Row) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, from.NumCols())
	defer recordreader.ReleaseAll(columns)
	for i, c := range from.Columns() {
		var err error
		if columns[i], err = Column(mem, []arrow.Array{c}, rows); err != nil {
			return nil, fmt.Errorf("rows of %s: %w", from.ColumnName(i), err)
		}
	}
	return recordreader.Batch(schema, columns, int64(len(rows))), nil
}
