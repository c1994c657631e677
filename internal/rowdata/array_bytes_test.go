package rowdata

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// appendCells appends a row to a column of one of the types below, with strings of 10 bytes.
func appendCells(b array.Builder) {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append("0123456789")
	case *array.MapBuilder:
		b.Append(true)
		appendCells(b.KeyBuilder())
		appendCells(b.ItemBuilder())
	case array.ListLikeBuilder:
		b.Append(true)
		appendCells(b.ValueBuilder())
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendCells(b.FieldBuilder(i))
		}
	}
}

// A slice of an array counts its own rows. Would catch a writer that cuts a large batch into parts of a row each, since
// none of them is small.
func TestArrayBytesOfSlices(t *testing.T) {
	text := arrow.BinaryTypes.String
	list := arrow.ListOf(text)
	for _, typ := range []arrow.DataType{
		text, list, arrow.LargeListOf(text), arrow.FixedSizeListOf(1, text), arrow.MapOf(text, list),
		arrow.StructOf(arrow.Field{Name: "a", Type: list}), arrow.ListOf(arrow.StructOf(arrow.Field{Name: "a", Type: text})),
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		for range 1000 {
			appendCells(b)
		}
		all := b.NewArray()
		b.Release()
		part := array.NewSlice(all, 500, 510)
		if whole, some := ArrayBytes(all), ArrayBytes(part); whole < 10_000 || some < 100 || some > 500 {
			t.Errorf("%v: %d B of 1,000 rows, %d B of 10", typ, whole, some)
		}
		part.Release()
		all.Release()
	}
}
