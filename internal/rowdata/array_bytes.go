package rowdata

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ArrayBytes returns about how much memory an array holds. Of a slice of a larger array it counts
// the slice alone, where the type says how much memory a value takes.
func ArrayBytes(a arrow.Array) int64 {
	validity := int64(a.Len()+7) / 8
	dt := a.DataType()
	if text, ok := a.(interface{ ValueBytes() []byte }); ok {
		offsets := dt.(arrow.OffsetsDataType).OffsetTypeTraits().BytesRequired(a.Len())
		return validity + int64(len(text.ValueBytes())) + int64(offsets)
	}
	if fixed, ok := dt.(arrow.FixedWidthDataType); ok && dt.ID() != arrow.DICTIONARY {
		return validity + int64(fixed.BitWidth())*int64(a.Len())/8
	}
	if list, ok := a.(*array.List); ok && a.Len() > 0 {
		from, _ := list.ValueOffsets(0)
		_, to := list.ValueOffsets(a.Len() - 1)
		elements := array.NewSlice(list.ListValues(), from, to)
		defer elements.Release()
		return validity + int64(arrow.Int32Traits.BytesRequired(a.Len()+1)) + ArrayBytes(elements)
	}
	return bufferBytes(a.Data())
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
