package delivery

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// NewArray makes an array of buffers, which the caller still owns.
func NewArray(typ arrow.DataType, rows, nulls int, buffers ...*memory.Buffer) arrow.Array {
	data := array.NewData(typ, rows, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// NewBuffer returns a buffer, which the caller owns. Its bytes are not cleared.
func NewBuffer(mem memory.Allocator, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(size)
	return b
}

// SizeOf returns how many bytes a value of type T takes.
func SizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// View takes bytes as values of another type.
// Requires: b is aligned for T, as the memory of allocators is.
func View[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/SizeOf[T]())
}

// NullCount returns the number of NULLs of an array. The array's own NullN counts them at its first
// call and keeps the number without a lock; this only reads, so that workers may share an array.
func NullCount(a arrow.Array) int {
	data := a.Data()
	if n := data.NullN(); n >= 0 {
		return n
	}
	bitmap := a.NullBitmapBytes()
	if bitmap == nil {
		return 0
	}
	return data.Len() - bitutil.CountSetBits(bitmap, data.Offset(), data.Len())
}

// integer is a value of a fixed-width column.
type integer interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64
}

// Narrow converts values that are known to fit.
func Narrow[Out, In integer](out []Out, in []In) {
	for i, v := range in {
		out[i] = Out(v)
	}
}

// Fill sets all elements of out to v.
func Fill[T any](out []T, v T) {
	for i := range out {
		out[i] = v
	}
}

// copyValidity returns an array's validity bits from bit 0 on, or nil where it has no NULL.
func copyValidity(mem memory.Allocator, a arrow.Array) *memory.Buffer {
	if NullCount(a) == 0 {
		return nil
	}
	buf := NewBuffer(mem, (a.Len()+7)/8)
	clear(buf.Bytes())
	bitutil.CopyBitmap(a.NullBitmapBytes(), a.Data().Offset(), a.Len(), buf.Bytes(), 0)
	return buf
}

// EmptyBatch is rows without columns.
func EmptyBatch(rows int64) arrow.RecordBatch {
	return array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, rows)
}

// FixedBytesOf returns how many bytes a value of a type takes in a batch, beside bytes of strings.
func FixedBytesOf(t arrow.DataType) int64 {
	if fixed, ok := t.(arrow.FixedWidthDataType); ok {
		return int64(fixed.BitWidth()+7) / 8
	}
	return viewBytes
}

// CodeBytes is the size of a code of a dictionary, and viewBytes the size of a view.
const CodeBytes, viewBytes = 4, 16
