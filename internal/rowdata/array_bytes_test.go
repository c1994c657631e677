package rowdata

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A slice of lists counts its own elements. Would catch a writer that cuts a large batch into parts of a row each, since
// none of them is small.
func TestArrayBytesOfLists(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	defer b.Release()
	for range 1000 {
		b.Append(true)
		b.ValueBuilder().(*array.StringBuilder).Append("0123456789")
	}
	all := b.NewArray()
	defer all.Release()
	part := array.NewSlice(all, 500, 510)
	defer part.Release()
	if whole, some := ArrayBytes(all), ArrayBytes(part); whole < 10_000 || some < 100 || some > 400 {
		t.Errorf("%d B of 1,000 lists, %d B of 10", whole, some)
	}
}
