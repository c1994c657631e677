// Package vector turns words into Arrow arrays, as package encode turns arrays into words.
package vector

import (
	"errors"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/rowdata"
)

// ErrTooLarge says that values need more than the 2 GiB or 2^31 elements that the 32-bit
// offsets of a string or list array can address.
var ErrTooLarge = errors.New("more than 2^31-1 bytes or elements in one array")

// Vector is a result column before it is an array.
type Vector struct {
	Kind  rowdata.Kind
	Words []uint64 // of the values, in the natural encoding of Kind: Kind.Words() each
	Valid []uint8  // by value, 0 for NULL and 1 otherwise; nil when no value is NULL
}

// Len returns the number of values.
func (v *Vector) Len() int { return len(v.Words) / v.Kind.Words() }

// SetNull marks a value as NULL.
func (v *Vector) SetNull(i int) {
	if v.Valid == nil {
		v.Valid = make([]uint8, v.Len())
		for j := range v.Valid {
			v.Valid[j] = 1
		}
	}
	v.Valid[i] = 0
}

// IsNull reports whether a value is NULL.
func (v *Vector) IsNull(i int) bool { return v.Valid != nil && v.Valid[i] == 0 }

// Array makes an array of a type from a vector of the type's kind.
func (v *Vector) Array(mem memory.Allocator, dt arrow.DataType) (arrow.Array, error) {
	if v.Kind == rowdata.Bytes {
		return v.bytesArray(mem, dt)
	}
	n := v.Len()
	bits := 8 * 16
	if fixed, ok := dt.(arrow.FixedWidthDataType); ok {
		bits = fixed.BitWidth()
	}
	values := NewBuffer(mem, int(bitutil.BytesForBits(int64(n*bits))))
	v.Fill(values.Bytes(), dt.ID())
	return NewArray(dt, n, nil, v.Nulls(mem), values), nil
}

// Fill writes the values in the form of a fixed-width type.
func (v *Vector) Fill(out []byte, id arrow.Type) {
	switch id {
	case arrow.BOOL:
		for i, w := range v.Words {
			if w != 0 {
				bitutil.SetBit(out, i)
			}
		}
	case arrow.INT8, arrow.UINT8:
		rowdata.Narrow[uint8](out, v.Words)
	case arrow.INT16, arrow.UINT16:
		rowdata.Narrow[uint16](out, v.Words)
	case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		rowdata.Narrow[uint32](out, v.Words)
	case arrow.FLOAT32:
		values := rowdata.View[float32](out)
		for i, w := range v.Words {
			values[i] = float32(math.Float64frombits(w))
		}
	case arrow.FLOAT16:
		values := rowdata.View[uint16](out)
		for i, w := range v.Words {
			values[i] = rowdata.ToHalf(float32(math.Float64frombits(w)))
		}
	case arrow.DECIMAL128:
		if v.Kind == rowdata.Int128 {
			copy(rowdata.View[uint64](out), v.Words)
			return
		}
		values := rowdata.View[[2]uint64](out)
		for i, w := range v.Words {
			values[i] = [2]uint64{w, uint64(int64(w) >> 63)}
		}
	default:
		copy(rowdata.View[uint64](out), v.Words)
	}
}

// bytesArray makes an array of strings or binary values.
func (v *Vector) bytesArray(mem memory.Allocator, dt arrow.DataType) (arrow.Array, error) {
	values := rowdata.View[rowdata.Bytes2](v.Words)
	total := 0
	for i := range values {
		if !v.IsNull(i) {
			total += values[i].Len()
		}
	}
	switch dt.ID() {
	case arrow.STRING, arrow.BINARY:
		if total > math.MaxInt32 {
			return nil, ErrTooLarge
		}
		return offsetArray[int32](v, mem, dt, values, total), nil
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return offsetArray[int64](v, mem, dt, values, total), nil
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.Reserve(len(values))
	for i := range values {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		AppendBytes(b, values[i].Bytes())
	}
	return b.NewArray(), nil
}

// AppendBytes appends a value to a builder of views or of strings of one length.
func AppendBytes(b array.Builder, value []byte) {
	switch b := b.(type) {
	case *array.StringViewBuilder:
		b.Append(string(value))
	case *array.BinaryViewBuilder:
		b.Append(value)
	case *array.FixedSizeBinaryBuilder:
		b.Append(value)
	}
}

// offsetArray makes an array of values with total bytes, whose offsets are of type T.
func offsetArray[T int32 | int64](v *Vector, mem memory.Allocator, dt arrow.DataType,
	values []rowdata.Bytes2, total int) arrow.Array {
	var t T
	offsets := NewBuffer(mem, (len(values)+1)*int(unsafe.Sizeof(t)))
	data := NewBuffer(mem, total)
	at, out := 0, data.Bytes()
	ends := rowdata.View[T](offsets.Bytes())
	for i := range values {
		switch value := &values[i]; {
		case v.IsNull(i):
		case !value.Long() && at+rowdata.InlineBytes <= len(out):
			value.PutInline(out[at:])
			at += value.Len()
		default:
			at += copy(out[at:], value.Bytes())
		}
		ends[i+1] = T(at)
	}
	return NewArray(dt, len(values), nil, v.Nulls(mem), offsets, data)
}

// Nulls returns the validity bitmap, or nil when no value is NULL.
func (v *Vector) Nulls(mem memory.Allocator) *memory.Buffer {
	if v.Valid == nil {
		return nil
	}
	bitmap := NewBuffer(mem, int(bitutil.BytesForBits(int64(len(v.Valid)))))
	bits := bitmap.Bytes()
	for i, ok := range v.Valid {
		bits[i/8] |= ok << (i % 8)
	}
	return bitmap
}

// Lists makes a list array: list i holds the elements up to ends[i], from the end of the list
// before it.
func Lists(mem memory.Allocator, dt *arrow.ListType, elements *Vector, ends []int, lists *Vector) (arrow.Array, error) {
	if elements.Len() > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	child, err := elements.Array(mem, dt.Elem())
	if err != nil {
		return nil, err
	}
	defer child.Release()
	offsets := NewBuffer(mem, 4*(len(ends)+1))
	for i, end := range ends {
		rowdata.View[int32](offsets.Bytes())[i+1] = int32(end)
	}
	return NewArray(dt, len(ends), []arrow.ArrayData{child.Data()}, lists.Nulls(mem), offsets), nil
}

// NewArray makes an array of buffers, which it takes over; the first buffer is the validity bitmap
// or nil.
func NewArray(dt arrow.DataType, n int, children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.Array {
	nulls := array.UnknownNullCount
	if buffers[0] == nil {
		nulls = 0
	}
	data := array.NewData(dt, n, buffers, children, nulls, 0)
	defer data.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

// NewBuffer returns a cleared buffer of n bytes.
func NewBuffer(mem memory.Allocator, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(n)
	clear(b.Bytes())
	return b
}
