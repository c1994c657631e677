package engine

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

// errBatchTooLarge says that values need more than the 2 GiB or 2^31 elements that the 32-bit
// offsets of a string or list array can address.
var ErrBatchTooLarge = errors.New("more than 2^31-1 bytes or elements in one array")

// vector is a result column before it is an array: words in the natural encoding of a kind.
type vector struct {
	kind  rowdata.Kind
	words []uint64
	valid []uint8 // nil when no value is NULL
}

func (v *vector) len() int { return len(v.words) / v.kind.Words() }

// setNull marks a value as NULL.
func (v *vector) setNull(i int) {
	if v.valid == nil {
		v.valid = make([]uint8, v.len())
		for j := range v.valid {
			v.valid[j] = 1
		}
	}
	v.valid[i] = 0
}

// isNull reports whether a value is NULL.
func (v *vector) isNull(i int) bool { return v.valid != nil && v.valid[i] == 0 }

// toArray makes an array of a type from a vector of the type's kind.
func (v *vector) toArray(mem memory.Allocator, dt arrow.DataType) (arrow.Array, error) {
	if v.kind == rowdata.Bytes {
		return v.bytesArray(mem, dt)
	}
	n := v.len()
	bits := 8 * 16
	if fixed, ok := dt.(arrow.FixedWidthDataType); ok {
		bits = fixed.BitWidth()
	}
	values := newBuffer(mem, int(bitutil.BytesForBits(int64(n*bits))))
	v.fill(values.Bytes(), dt.ID())
	return newArray(dt, n, nil, v.nulls(mem), values), nil
}

// fill writes the values in the form of a fixed-width type.
func (v *vector) fill(out []byte, id arrow.Type) {
	switch id {
	case arrow.BOOL:
		for i, w := range v.words {
			if w != 0 {
				bitutil.SetBit(out, i)
			}
		}
	case arrow.INT8, arrow.UINT8:
		rowdata.Narrow[uint8](out, v.words)
	case arrow.INT16, arrow.UINT16:
		rowdata.Narrow[uint16](out, v.words)
	case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		rowdata.Narrow[uint32](out, v.words)
	case arrow.FLOAT32:
		for i, w := range v.words {
			rowdata.View[float32](out)[i] = float32(math.Float64frombits(w))
		}
	case arrow.FLOAT16:
		for i, w := range v.words {
			rowdata.View[uint16](out)[i] = rowdata.ToHalf(float32(math.Float64frombits(w)))
		}
	case arrow.DECIMAL128:
		if v.kind == rowdata.Int128 {
			copy(rowdata.View[uint64](out), v.words)
			return
		}
		for i, w := range v.words {
			rowdata.View[uint64](out)[2*i], rowdata.View[uint64](out)[2*i+1] = w, uint64(int64(w)>>63)
		}
	default:
		copy(rowdata.View[uint64](out), v.words)
	}
}

// bytesArray makes an array of strings or binary values.
func (v *vector) bytesArray(mem memory.Allocator, dt arrow.DataType) (arrow.Array, error) {
	values := unsafe.Slice((*rowdata.Bytes2)(unsafe.Pointer(unsafe.SliceData(v.words))), v.len())
	total := 0
	for i := range values {
		if !v.isNull(i) {
			total += values[i].Len()
		}
	}
	switch dt.ID() {
	case arrow.STRING, arrow.BINARY:
		if total > math.MaxInt32 {
			return nil, ErrBatchTooLarge
		}
		return offsetArray[int32](v, mem, dt, values, total), nil
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return offsetArray[int64](v, mem, dt, values, total), nil
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.Reserve(len(values))
	for i := range values {
		if v.isNull(i) {
			b.AppendNull()
			continue
		}
		appendBytes(b, values[i].Bytes())
	}
	return b.NewArray(), nil
}

func appendBytes(b array.Builder, value []byte) {
	switch b := b.(type) {
	case *array.StringViewBuilder:
		b.Append(string(value))
	case *array.BinaryViewBuilder:
		b.Append(value)
	case *array.FixedSizeBinaryBuilder:
		b.Append(value)
	}
}

func offsetArray[T int32 | int64](v *vector, mem memory.Allocator, dt arrow.DataType, values []rowdata.Bytes2, total int) arrow.Array {
	var t T
	offsets := newBuffer(mem, (len(values)+1)*int(unsafe.Sizeof(t)))
	data := newBuffer(mem, total)
	at, out := 0, data.Bytes()
	ends := rowdata.View[T](offsets.Bytes())
	for i := range values {
		switch value := &values[i]; {
		case v.isNull(i):
		case !value.Long() && at+rowdata.InlineBytes <= len(out):
			value.PutInline(out[at:])
			at += value.Len()
		default:
			at += copy(out[at:], value.Bytes())
		}
		ends[i+1] = T(at)
	}
	return newArray(dt, len(values), nil, v.nulls(mem), offsets, data)
}

// nulls returns the validity bitmap, or nil when no value is NULL.
func (v *vector) nulls(mem memory.Allocator) *memory.Buffer {
	if v.valid == nil {
		return nil
	}
	bitmap := newBuffer(mem, int(bitutil.BytesForBits(int64(len(v.valid)))))
	bits := bitmap.Bytes()
	for i, ok := range v.valid {
		bits[i/8] |= ok << (i % 8)
	}
	return bitmap
}

// listArray makes a list array: list i holds the elements up to ends[i], from the end of the list
// before it.
func listArray(mem memory.Allocator, dt *arrow.ListType, elements *vector, ends []int, lists *vector) (arrow.Array, error) {
	if elements.len() > math.MaxInt32 {
		return nil, ErrBatchTooLarge
	}
	child, err := elements.toArray(mem, dt.Elem())
	if err != nil {
		return nil, err
	}
	defer child.Release()
	offsets := newBuffer(mem, 4*(len(ends)+1))
	for i, end := range ends {
		rowdata.View[int32](offsets.Bytes())[i+1] = int32(end)
	}
	return newArray(dt, len(ends), []arrow.ArrayData{child.Data()}, lists.nulls(mem), offsets), nil
}

// newArray makes an array of buffers, which it takes over; the first is the validity bitmap or nil.
func newArray(dt arrow.DataType, n int, children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.Array {
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

// newBuffer returns a cleared buffer of n bytes.
func newBuffer(mem memory.Allocator, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(n)
	clear(b.Bytes())
	return b
}
