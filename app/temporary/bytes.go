package temporary

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// BytesOf returns about how many bytes the rows of a batch take. Batches that are slices of the same
// memory have their parts of it, and not the whole each.
func BytesOf(batch arrow.RecordBatch) (bytes int64) {
	for _, c := range batch.Columns() {
		bytes += columnBytes(c)
	}
	return bytes
}

// columnBytes returns how many bytes the rows of an array take, NULLs apart.
func columnBytes(a arrow.Array) int64 {
	rows := int64(a.Len())
	switch a := a.(type) {
	case array.BinaryLike:
		return int64(len(a.ValueBytes())) + rows*4
	case *array.FixedSizeList:
		return elementBytes(a, a.Len()) + rows/8
	case array.ListLike:
		return elementBytes(a, a.Len()) + rows*4
	case *array.Struct:
		sum := int64(0)
		for i := range a.NumField() {
			sum += columnBytes(a.Field(i))
		}
		return sum + rows/8
	}
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return (rows*int64(fixed.BitWidth()) + 7) / 8
	}
	return int64(a.Data().SizeInBytes())
}

// elementBytes returns how many bytes the elements of lists take.
func elementBytes(a array.ListLike, rows int) int64 {
	if rows == 0 {
		return 0
	}
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(rows - 1)
	elements := array.NewSlice(a.ListValues(), from, to)
	defer elements.Release()
	return columnBytes(elements)
}
