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
	if element := of.Elem(); !arrow.IsNested(element.ID()) {
		return element
	}
	return NewType(of.Elem())
}

// Lists returns an array of lists as Arrow has them, whose elements are of Element. The caller owns the array.
func Lists(mem memory.Allocator, a arrow.Array) (arrow.Array, error) {
	t, ok := a.DataType().(*Type)
	texts, isBinary := a.(*array.Binary)
	if !ok || !isBinary || t.Element() == nil {
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
		if a.IsValid(row) {
			value := texts.Value(row)
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
