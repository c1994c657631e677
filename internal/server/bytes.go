package server

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// bytesOf returns about how many bytes the rows of a batch take. Batches that are slices of the same
// memory have their parts of it, and not the whole each.
func bytesOf(batch arrow.RecordBatch) (bytes int64) {
	for _, c := range batch.Columns() {
		bytes += columnBytes(c)
	}
	return bytes
}

// columnBytes returns about how many bytes the rows of an array take.
func columnBytes(a arrow.Array) int64 {
	rows := int64(a.Len())
	switch a := a.(type) {
	case *array.String:
		return int64(len(a.ValueBytes())) + 4*rows
	case *array.LargeString:
		return int64(len(a.ValueBytes())) + 8*rows
	case *array.Binary:
		return int64(len(a.ValueBytes())) + 4*rows
	case *array.LargeBinary:
		return int64(len(a.ValueBytes())) + 8*rows
	}
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok && a.DataType().ID() != arrow.DICTIONARY {
		return (rows*int64(fixed.BitWidth()) + 7) / 8
	}
	return int64(a.Data().SizeInBytes())
}
