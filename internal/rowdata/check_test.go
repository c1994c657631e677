package rowdata

import (
	"testing"

	"github.com/mpga/mpga/engine/query"
)

// Would catch a check of references that takes a string of another heap for the page's own.
func TestCheckReferences(t *testing.T) {
	layout := RowLayout{Stride: 2, Longs: []int{0}}
	page := NewPage(GoMemory, 3*layout.Stride)
	page.Rows = 3
	*AsBytes2(page.Words[0:2]) = ToBytes2([]byte("short"))
	keep := func(h *Heap, words []uint64, b []byte) {
		v := AsBytes2(words)
		v.Set(b)
		h.Keep(v)
	}
	keep(&page.Heap, page.Words[2:4], []byte("a string that lies in the heap"))
	keep(&page.Heap, page.Words[4:6], make([]byte, 8*heapBlockWordsMax+8))
	if err := page.CheckReferences(&layout); err != nil {
		t.Error(err)
	}
	var other Heap
	keep(&other, page.Words[0:2], []byte("a string that lies elsewhere"))
	if err := page.CheckReferences(&layout); err == nil {
		t.Error("a row refers to another heap, and the check passes")
	}
}

// Would catch a check that lets a value outside the promised range pass (W2), or one that takes a
// NULL or an interned string for such a value.
func TestCheckKey(t *testing.T) {
	keys := mustBind(t, query.Query{
		Keys:       []query.Key{{Column: "delay"}, {Column: "carrier"}, {Column: "day"}},
		Aggregates: []query.Aggregate{call(query.CountStar)},
	}).Keys
	delay, day := &keys.Fields[0], &keys.Fields[2]
	key := make([]uint64, keys.Words)
	key[delay.Word] |= delay.Span << delay.Shift
	if null, ok := day.NullCode(); ok {
		key[day.Word] |= null << day.Shift
	} else {
		t.Error("a date has no code for NULL")
	}
	if err := keys.CheckKey(key); err != nil {
		t.Error(err)
	}
	key[delay.Word] += 1 << delay.Shift
	if err := keys.CheckKey(key); err == nil {
		t.Errorf("code %d passes where the range ends at %d", delay.Span+1, delay.Span)
	}
}
