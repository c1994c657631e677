package rowset

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Lists of every kind keep their elements, NULL and empty lists too, and so do parts of arrays.
func TestTakeLists(t *testing.T) {
	for _, of := range []arrow.DataType{
		arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.LargeListOf(arrow.PrimitiveTypes.Int64), arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64),
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		b := array.NewBuilder(mem, of)
		for _, text := range []string{"[0, 0]", "[1, 2]", "null", "[3, null]", "[5, 6]", "null", "[7, 8]"} {
			if text == "null" {
				b.AppendNull()
			} else if err := b.AppendValueFromString(text); err != nil {
				t.Fatal(err)
			}
		}
		whole := b.NewArray()
		part := array.NewSlice(whole, 1, int64(whole.Len()))
		var rows Set
		rows.Reset(part.Len())
		rows.Add(0, 2)
		rows.Add(3, 4)
		rows.Add(5, 6)
		got, err := Take(mem, part, &rows)
		if err != nil || fmt.Sprint(got) != "[[1 2] (null) [5 6] [7 8]]" {
			t.Errorf("%s: %v, %v", of, got, err)
		}
		for _, a := range []arrow.Array{got, part, whole} {
			a.Release()
		}
		b.Release()
		mem.AssertSize(t, 0)
	}
}
