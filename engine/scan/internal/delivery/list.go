package delivery

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/nested"
)

// Element returns the type of a list's elements, as they are delivered; false for other types, maps
// among them, and for lists of nested values and of intervals.
func Element(list arrow.DataType) (element arrow.DataType, ok bool) {
	switch list := list.(type) {
	case *nested.Type:
		element = list.Element()
		return element, element != nil
	case *arrow.ListType:
		element = list.Elem()
	case *arrow.LargeListType:
		element = list.Elem()
	case *arrow.FixedSizeListType:
		element = list.Elem()
	default:
		return nil, false
	}
	if nested.Of(element) != nil || arrow.IsNested(element.ID()) {
		return element, false
	}
	element = Type(element)
	return element, !arrow.IsNested(element.ID())
}

// Repeat returns the values of an array at some rows, which may repeat. Strings become views, and
// dictionaries stay. The caller owns the array.
// Requires: the array is as S1 promises.
func Repeat(mem memory.Allocator, a arrow.Array, rows []gather.Row) (arrow.Array, error) {
	if _, ok := a.DataType().(*nested.Type); ok {
		return gather.TakeRows(mem, a, rows)
	}
	switch of := a.(type) {
	case interface{ ValueOffsets() []int32 }:
		return repeatStrings(mem, a, of.ValueOffsets(), rows)
	case interface{ ValueOffsets() []int64 }:
		return repeatStrings(mem, a, of.ValueOffsets(), rows)
	}
	return gather.TakeRows(mem, a, rows)
}

// repeatStrings returns views of strings, which lie behind each other in a buffer.
func repeatStrings[O int32 | int64](
	mem memory.Allocator, a arrow.Array, offsets []O, rows []gather.Row,
) (arrow.Array, error) {
	views := NewBuffer(mem, viewBytes*len(rows))
	defer views.Release()
	validity, nulls := gather.Valid(mem, a, rows)
	if validity != nil {
		defer validity.Release()
	}
	buffers := []*memory.Buffer{validity, views}
	var bytes []byte
	base := O(0)
	if text := a.Data().Buffers()[2]; text != nil && len(offsets) > 0 {
		base = offsets[0]
		end := offsets[len(offsets)-1]
		if int64(end-base) > math.MaxInt32 {
			return nil, fmt.Errorf("%d B of strings in a batch, where %d B are the most", end-base, math.MaxInt32)
		}
		data := memory.SliceBuffer(text, int(base), int(end-base))
		defer data.Release()
		bytes, buffers = data.Bytes(), append(buffers, data)
	}
	out := View[arrow.ViewHeader](views.Bytes())
	for i, at := range rows {
		if i > 0 && at == rows[i-1] {
			out[i] = out[i-1]
			continue
		}
		from, to := offsets[at.Row]-base, offsets[at.Row+1]-base
		out[i] = arrow.ViewHeader{}
		if validity != nil && bitutil.BitIsNotSet(validity.Bytes(), i) || from == to {
			continue
		}
		out[i].SetBytes(bytes[from:to])
		if !out[i].IsInline() {
			out[i].SetIndexOffset(0, int32(from))
		}
	}
	return NewArray(ViewType(a.DataType()), len(rows), nulls, buffers...), nil
}
