package cpuagg

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
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
	var a, b arena
	null := rowdata.NullBytes()
	words := func(batch *arena, texts ...string) []uint64 {
		var keys []uint64
		for _, text := range texts {
			v := batch.value(text)
			keys = append(keys, v[0], v[1])
		}
		return append(keys, null[0], null[1])
	}
	texts := []string{"", "short", "twelve bytes", "thirteen byte", strings.Repeat("x", 40)}
	var together [6]uint64
	if !hashKeys(l, words(&a, texts...), 9, together[:]) {
		t.Error("no string is long")
	}
	for i, text := range texts {
		var alone [2]uint64
		if got, want := hashKeys(l, words(&b, text), 9, alone[:]), len(text) > 12; got != want {
			t.Errorf("%q: long is %v", text, got)
		}
		if alone[0] != together[i] || alone[1] != together[5] {
			t.Errorf("%q and NULL: hashes %x alone, %x and %x beside others", text, alone, together[i], together[5])
		}
	}
}
