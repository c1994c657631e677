package gather

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Take returns rows of a column, in the order in which they are named. Dictionaries are kept.
func Take(mem memory.Allocator, column arrow.Array, rows []int64) (arrow.Array, error) {
	at := make([]Row, len(rows))
	for i, row := range rows {
		at[i].Row = uint32(row)
	}
	dictionary, ok := column.(*array.Dictionary)
	if !ok {
		return (&gathering{mem, []arrow.Array{column}, at}).array()
	}
	indexes, err := (&gathering{mem, []arrow.Array{dictionary.Indices()}, at}).array()
	if err != nil {
		return nil, err
	}
	defer indexes.Release()
	return array.NewDictionaryArray(column.DataType(), indexes, dictionary.Dictionary()), nil
}
