package rowdata

import "testing"

// Would catch a check of references that takes a string of another heap for the page's own.
func TestCheckReferences(t *testing.T) {
	layout := RowLayout{Stride: 2, longs: []int{0}}
	page := NewPage(GoMemory, 3*layout.Stride)
	page.Rows = 3
	*AsBytes2(page.Words[0:2]) = ToBytes2([]byte("short"))
	*AsBytes2(page.Words[2:4]) = page.Heap.Keep(ToBytes2([]byte("a string that lies in the heap")))
	*AsBytes2(page.Words[4:6]) = page.Heap.Keep(ToBytes2(make([]byte, 8*heapBlockWordsMax+8)))
	if err := page.CheckReferences(&layout); err != nil {
		t.Error(err)
	}
	var other Heap
	*AsBytes2(page.Words[0:2]) = other.Keep(ToBytes2([]byte("a string that lies elsewhere")))
	if err := page.CheckReferences(&layout); err == nil {
		t.Error("a row refers to another heap, and the check passes")
	}
}
