package rowdata

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ArrayBytes returns about how much memory an array holds. Of a slice of a larger array it counts
// the slice alone, where the type says how much memory a value takes.
func ArrayBytes(a arrow.Array) int64 {
	bytes := int64(a.Len()+7) / 8 // validity
	dt := a.DataType()
	if offsets, ok := dt.(arrow.OffsetsDataType); ok {
		bytes += int64(offsets.OffsetTypeTraits().BytesRequired(a.Len() + 1))
	}
	switch typed := a.(type) {
	case interface{ ValueBytes() []byte }:
		return bytes + int64(len(typed.ValueBytes()))
	case *array.List, *array.LargeList, *array.Map, *array.FixedSizeList:
		return bytes + elementBytes(a.(array.ListLike))
	case *array.Struct:
		for i := range typed.NumField() {
			bytes += ArrayBytes(typed.Field(i))
		}
		return bytes
	}
	if fixed, ok := dt.(arrow.FixedWidthDataType); ok && dt.ID() != arrow.DICTIONARY {
		return bytes + int64(fixed.BitWidth())*int64(a.Len())/8
	}
	return bufferBytes(a.Data())
}

// elementBytes returns the ArrayBytes of the elements of lists, which lie side by side.
func elementBytes(a array.ListLike) int64 {
	if a.Len() == 0 {
		return 0
	}
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(a.Len() - 1)
	elements := array.NewSlice(a.ListValues(), from, to)
	defer elements.Release()
	return ArrayBytes(elements)
}

// bufferBytes returns the bytes of all buffers of an array.
func bufferBytes(data arrow.ArrayData) (sum int64) {
	for _, b := range data.Buffers() {
		if b != nil {
			sum += int64(b.Len())
		}
	}
	for _, child := range data.Children() {
		sum += bufferBytes(child)
	}
	return sum
}

// BatchBytes returns the ArrayBytes of all columns of a batch.
func BatchBytes(batch arrow.RecordBatch) (sum int64) {
	for _, column := range batch.Columns() {
		sum += ArrayBytes(column)
	}
	return sum
}

// Values returns the values of an array of fixed width, whose Go type is T.
func Values[T any](a arrow.Array) []T {
	if a.Len() == 0 {
		return nil // maybe without a buffer
	}
	from := a.Data().Offset()
	return View[T](a.Data().Buffers()[1].Bytes())[from : from+a.Len()]
}
