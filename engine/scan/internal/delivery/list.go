package delivery

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Element returns the type of a list's elements, as they are delivered; false for other types, maps
// among them, and for lists of nested values.
func Element(list arrow.DataType) (element arrow.DataType, ok bool) {
	switch list := list.(type) {
	case *arrow.ListType:
		element = list.Elem()
	case *arrow.LargeListType:
		element = list.Elem()
	case *arrow.FixedSizeListType:
		element = list.Elem()
	default:
		return nil, false
	}
	element = Type(element)
	return element, !arrow.IsNested(element.ID())
}

// Repeat returns the values of an array at some rows, which may repeat. Strings become views, and
// dictionaries stay. The caller owns the array.
// Requires: the array is as S1 promises.
func Repeat(mem memory.Allocator, a arrow.Array, rows []int32) (arrow.Array, error) {
	from := a.Data()
	var validity *memory.Buffer
	nulls := 0
	if NullCount(a) > 0 {
		validity = repeatBits(mem, a.NullBitmapBytes(), from.Offset(), rows)
		defer validity.Release()
		nulls = len(rows) - bitutil.CountSetBits(validity.Bytes(), 0, len(rows))
	}
	typ, buffers := a.DataType(), from.Buffers()
	switch a := a.(type) {
	case *array.Null:
		return array.NewNull(len(rows)), nil
	case *array.Boolean:
		values := repeatBits(mem, buffers[1].Bytes(), from.Offset(), rows)
		defer values.Release()
		return NewArray(typ, len(rows), nulls, validity, values), nil
	case interface{ ValueOffsets() []int32 }:
		return repeatStrings(mem, typ, buffers[2], a.ValueOffsets(), rows, nulls, validity)
	case interface{ ValueOffsets() []int64 }:
		return repeatStrings(mem, typ, buffers[2], a.ValueOffsets(), rows, nulls, validity)
	case *array.Dictionary:
		codes := repeatFixed(mem, buffers[1], from.Offset(), CodeBytes, rows)
		defer codes.Release()
		data := array.NewDataWithDictionary(typ, len(rows), []*memory.Buffer{validity, codes}, nulls, 0,
			from.Dictionary().(*array.Data))
		defer data.Release()
		return array.NewDictionaryData(data), nil
	}
	width := viewBytes
	if _, views := typ.(arrow.BinaryViewDataType); !views {
		fixed, ok := typ.(arrow.FixedWidthDataType)
		if !ok {
			return nil, fmt.Errorf("a value of type %s beside elements of a list", typ)
		}
		width = fixed.Bytes()
	}
	values := repeatFixed(mem, buffers[1], from.Offset(), width, rows)
	defer values.Release()
	return NewArray(typ, len(rows), nulls, append([]*memory.Buffer{validity, values}, buffers[2:]...)...), nil
}

func repeatBits(mem memory.Allocator, bits []byte, offset int, rows []int32) *memory.Buffer {
	out := NewBuffer(mem, (len(rows)+7)/8)
	clear(out.Bytes())
	for i, row := range rows {
		if bitutil.BitIsSet(bits, offset+int(row)) {
			bitutil.SetBit(out.Bytes(), i)
		}
	}
	return out
}

func repeatFixed(mem memory.Allocator, values *memory.Buffer, offset, width int, rows []int32) *memory.Buffer {
	out, in := NewBuffer(mem, width*len(rows)), values.Bytes()[width*offset:]
	switch width {
	case 1:
		repeatValues(View[uint8](out.Bytes()), View[uint8](in), rows)
	case 2:
		repeatValues(View[uint16](out.Bytes()), View[uint16](in), rows)
	case 4:
		repeatValues(View[uint32](out.Bytes()), View[uint32](in), rows)
	case 8:
		repeatValues(View[uint64](out.Bytes()), View[uint64](in), rows)
	case 16:
		repeatValues(View[[2]uint64](out.Bytes()), View[[2]uint64](in), rows)
	default:
		for i, row := range rows {
			copy(out.Bytes()[width*i:], in[width*int(row):width*(int(row)+1)])
		}
	}
	return out
}

func repeatValues[T any](out, in []T, rows []int32) {
	for i, row := range rows {
		out[i] = in[row]
	}
}

// repeatStrings returns views of strings, which lie behind each other in text.
func repeatStrings[O int32 | int64](
	mem memory.Allocator, typ arrow.DataType, text *memory.Buffer, offsets []O, rows []int32,
	nulls int, validity *memory.Buffer,
) (arrow.Array, error) {
	views := NewBuffer(mem, viewBytes*len(rows))
	defer views.Release()
	buffers := []*memory.Buffer{validity, views}
	var bytes []byte
	base := O(0)
	if text != nil && len(offsets) > 0 {
		base = offsets[0]
		end := offsets[len(offsets)-1]
		if int64(end-base) > math.MaxInt32 {
			return nil, fmt.Errorf("%d B of strings in a batch, where %d B are the most", end-base, math.MaxInt32)
		}
		data := memory.SliceBuffer(text, int(base), int(end-base))
		defer data.Release()
		bytes, buffers = data.Bytes(), append(buffers, data)
	}
	out, last := View[arrow.ViewHeader](views.Bytes()), int32(-1)
	for i, row := range rows {
		if row == last {
			out[i] = out[i-1]
			continue
		}
		last = row
		from, to := offsets[row]-base, offsets[row+1]-base
		out[i] = arrow.ViewHeader{}
		if validity != nil && bitutil.BitIsNotSet(validity.Bytes(), i) || from == to {
			continue
		}
		out[i].SetBytes(bytes[from:to])
		if !out[i].IsInline() {
			out[i].SetIndexOffset(0, int32(from))
		}
	}
	return NewArray(ViewType(typ), len(rows), nulls, buffers...), nil
}
