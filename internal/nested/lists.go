package nested

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Element returns the type of a column of the elements of lists of Type, or of the entries of maps; nil of others.
func (t *Type) Element() arrow.DataType {
	of, ok := t.Of.(arrow.ListLikeType)
	if !ok {
		return nil
	}
	if element := of.Elem(); Of(element) == nil {
		return element
	}
	return NewType(of.Elem())
}

// stringsOf returns the type of an array of Type, or of codes whose entries are of Type, and a function that returns
// the string of a row; ok is false where the row is NULL. The type is nil of other arrays.
func stringsOf(a arrow.Array) (t *Type, value func(row int) (s []byte, ok bool)) {
	entries, at := a, func(row int) int { return row }
	if codes, ok := a.(*array.Dictionary); ok {
		entries, at = codes.Dictionary(), codes.GetValueIndex
	}
	t, _ = entries.DataType().(*Type)
	binaries, ok := entries.(*array.Binary)
	if t == nil || !ok {
		return nil, nil
	}
	return t, func(row int) ([]byte, bool) {
		if a.IsNull(row) || binaries.IsNull(at(row)) {
			return nil, false
		}
		return binaries.Value(at(row)), true
	}
}

// Lists returns an array of Type, or of codes whose entries are of Type, as lists that Arrow has, whose elements are
// of Element. The caller owns the array.
func Lists(mem memory.Allocator, a arrow.Array) (arrow.Array, error) {
	t, text := stringsOf(a)
	if t == nil || t.Element() == nil {
		return nil, fmt.Errorf("%s where lists were expected", a.DataType())
	}
	l, element := LayoutOf(t.Of), t.Element()
	ends := memory.NewResizableBuffer(mem)
	defer ends.Release()
	ends.Resize(arrow.Int32Traits.BytesRequired(a.Len() + 1))
	offsets := arrow.Int32Traits.CastFromBytes(ends.Bytes())
	offsets[0] = 0
	add, finish := newElements(mem, element)
	count := int32(0)
	for row := range a.Len() {
		if value, ok := text(row); ok {
			s := unsafe.String(unsafe.SliceData(value), len(value))
			for s[0] != End {
				var x Element
				var mark byte
				x.Value, mark, s = l.Parts[0].Part(s)
				x.Null = mark == None
				add(x)
				count++
			}
		}
		offsets[row+1] = count
	}
	values, err := finish()
	if err != nil {
		return nil, err
	}
	defer values.Release()
	data := array.NewData(arrow.ListOf(element), a.Len(), []*memory.Buffer{nil, ends},
		[]arrow.ArrayData{values.Data()}, 0, 0)
	defer data.Release()
	return array.NewListData(data), nil
}

// newElements returns what adds an element to an array, and what returns the array.
func newElements(mem memory.Allocator, element arrow.DataType) (add func(Element), finish func() (arrow.Array, error)) {
	if t, ok := element.(*Type); ok {
		b := NewBuilder(mem, t, 0)
		return func(x Element) {
			if x.Null {
				b.AddNull()
				return
			}
			b.Bytes = append(b.Bytes, x.Value...)
			b.Add()
		}, b.Array
	}
	b := array.NewBuilder(mem, element)
	read := newReader(b, element)
	return func(x Element) {
			if x.Null {
				b.AppendNull()
			} else {
				read(x.Value)
			}
		}, func() (arrow.Array, error) {
			defer b.Release()
			return b.NewArray(), nil
		}
}
