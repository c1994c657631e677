package rowdata

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ArrayBytes returns about how much memory an array holds, of a slice that of its part alone where its
// type says how much that is.
func ArrayBytes(a arrow.Array) int64 {
	size := int64(a.Len()+7) / 8
	switch a := a.(type) {
	case *array.String:
		return size + int64(len(a.ValueBytes())) + 4*int64(a.Len())
	case *array.Binary:
		return size + int64(len(a.ValueBytes())) + 4*int64(a.Len())
	case *array.LargeString:
		return size + int64(len(a.ValueBytes())) + 8*int64(a.Len())
	case *array.LargeBinary:
		return size + int64(len(a.ValueBytes())) + 8*int64(a.Len())
	}
	if dt, ok := a.DataType().(arrow.FixedWidthDataType); ok && a.DataType().ID() != arrow.DICTIONARY {
		return size + int64(dt.BitWidth())*int64(a.Len())/8
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
