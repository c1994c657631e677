package delivery

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Would catch that a dictionary with NULLs among its entries is made anew for each batch. S5.
func TestNullEntriesKept(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendStringValues([]string{"a", "", "c"}, []bool{true, false, true})
	dictionary := b.NewArray()
	var kept noNullEntries
	kept.set(dictionary.Data(), dictionary)
	before := kept.values.Data()
	if kept.set(dictionary.Data(), dictionary); kept.values.Data() != before {
		t.Error("the entries of one dictionary are made twice")
	}
	kept.drop()
}

// dirty is an allocator whose memory has been used before, as the engine's has.
type dirty struct{ memory.Allocator }

func (d dirty) Allocate(size int) []byte {
	b := d.Allocator.Allocate(size)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// Would catch rows of a column of NULLs, such as a folder's key or a column that a file does not have, that have values:
// the bytes that the memory had.
func TestNullsInUsedMemory(t *testing.T) {
	const rows = 1000
	for _, typ := range []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Date32, arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.String, arrow.BinaryTypes.StringView,
		&arrow.Decimal128Type{Precision: 38}, arrow.FixedWidthTypes.Timestamp_us, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.Binary,
	} {
		mem := memory.NewCheckedAllocator(dirty{memory.NewGoAllocator()})
		arr := newConstant(mem, typ, nil, rows)
		slice := array.NewSlice(arr, 3, rows)
		if slice.NullN() != rows-3 || NullCount(slice) != rows-3 {
			t.Errorf("%s: %d of %d rows are NULL", typ, slice.NullN(), rows-3)
		}
		slice.Release()
		arr.Release()
		mem.AssertSize(t, 0)
	}
}
