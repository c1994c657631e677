package table

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// Would catch bytes that are not compared, at either end or between two steps.
func TestSameBytes(t *testing.T) {
	for n := 8; n <= 40; n++ {
		a := bytes.Repeat([]byte{0xA5}, n)
		b := bytes.Clone(a)
		same := func() bool { return sameBytes(unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), n) }
		if !same() {
			t.Errorf("%d equal bytes differ", n)
		}
		for i := range b {
			b[i] ^= 0x80
			if same() {
				t.Errorf("%d bytes are the same, though byte %d is not", n, i)
			}
			b[i] ^= 0x80
		}
	}
}

// Would catch a hash of a string that depends on where it lies or on the rows beside it, and rows
// whose long strings are not seen.
func TestHashText(t *testing.T) {
	l := keyLayout(2, 0)
	var a, b rowtest.Arena
	null := rowdata.NullBytes()
	words := func(batch *rowtest.Arena, texts ...string) []uint64 {
		var keys []uint64
		for _, text := range texts {
			v := batch.Value(text)
			keys = append(keys, v[0], v[1])
		}
		return append(keys, null[0], null[1])
	}
	texts := []string{"", "short", "twelve bytes", "thirteen byte", strings.Repeat("x", 40)}
	var together [6]uint64
	if !Hash(l, words(&a, texts...), 9, together[:]) {
		t.Error("no string is long")
	}
	for i, text := range texts {
		var alone [2]uint64
		if got, want := Hash(l, words(&b, text), 9, alone[:]), len(text) > 12; got != want {
			t.Errorf("%q: long is %v", text, got)
		}
		if alone[0] != together[i] || alone[1] != together[5] {
			t.Errorf("%q and NULL: hashes %x alone, %x and %x beside others", text, alone, together[i], together[5])
		}
	}
}

// Would catch strings of new keys that are copied though their page stays, a page that nobody owns, and
// strings that go with a page which the table has not kept.
func TestLent(t *testing.T) {
	l := keyLayout(2, 0)
	for _, lent := range []bool{false, true} {
		page := rowdata.NewPage(rowdata.GoMemory, 2)
		key := rowdata.AsBytes2(page.Words)
		key.Set([]byte("a string that is long"))
		page.Heap.Keep(key)
		table := New(rowdata.GoMemory, l, 0, false)
		table.Lent = lent
		table.Find(page.Words, make([]uint64, 1), make([]uint32, 1))
		at := rowdata.AsBytes2(table.Key(0)).Address()
		if stays := at == key.Address(); stays != lent || table.Keep(page) != lent || lent == (table.HeapBytes() > 0) {
			t.Errorf("lent %v: the string stays: %v, the heap has %d bytes", lent, stays, table.HeapBytes())
		}
		if lent && table.Bytes() < page.Bytes() {
			t.Errorf("%d bytes, of which %d are the page's", table.Bytes(), page.Bytes())
		}
		table.Release()
		if released := page.Words == nil; released != lent {
			t.Errorf("lent %v: the page is released: %v", lent, released)
		}
	}
}
