package delivery

import (
	"testing"

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
