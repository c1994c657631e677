package rowdata

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// lengths are around every turn of ToBytes2, and far beyond.
var lengths = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 255, 4096}

// Would catch bytes that are lost or doubled by the overlapping loads, and bytes behind the value
// that get into its words: equal short values would then differ.
func TestBytes2OfEveryLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range lengths {
		for range 20 {
			long := make([]byte, n+16)
			for i := range long {
				long[i] = byte(rng.Uint32())
			}
			b := long[8 : 8+n]
			v := ToBytes2(b)
			if v.Len() != n || !bytes.Equal(v.Bytes(), b) {
				t.Fatalf("%x: got %x of length %d", b, v.Bytes(), v.Len())
			}
			if v.Long() != (n > 12) {
				t.Errorf("length %d: Long is %v", n, v.Long())
			}
			other := bytes.Repeat([]byte{0xFF}, n+1) // the same bytes, with others behind them
			copy(other, b)
			u := ToBytes2(other[:n])
			if !v.Equal(&u) || !v.Long() && v != u {
				t.Errorf("%x and %x of the same bytes are not equal", v, u)
			}
		}
	}
}

// Would catch bytes behind a value that get into its words, lengths whose masks are wrong, and
// values at the end of the data that are read beyond it.
func TestPutBytes2(t *testing.T) {
	data := bytes.Repeat([]byte{0xFF}, 40)
	for from := range len(data) + 1 {
		for to := from; to <= len(data); to++ {
			const base = 7
			var got [2]Bytes2
			PutBytes2(got[:], data, []int32{base + int32(from), base + int32(to), base + int32(to)}, base)
			if want := ToBytes2(data[from:to]); got[0] != want || got[1] != (Bytes2{}) {
				t.Errorf("bytes %d to %d are %x, want %x and nothing", from, to, got, want)
			}
		}
	}
}

// Would catch an order that is not that of the bytes: words compared as numbers, signed bytes, a
// prefix after what it begins.
func TestBytes2Order(t *testing.T) {
	var values []string
	for _, s := range []string{"abcdefghijklmnopqrstuvwxyz", "abcd\xFFghijklmnop", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\xFF\xFE\xFD\xFC"} {
		for n := range min(len(s), 20) + 1 {
			values = append(values, s[:n], strings.Clone(s[:n])+"\x00")
		}
	}
	for _, a := range values {
		for _, b := range values {
			x, y := []byte(a), []byte(b)
			v, u := ToBytes2(x), ToBytes2(y)
			if got, want := v.Compare(&u), bytes.Compare(x, y); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
			if got, want := v.Less(&u), bytes.Compare(x, y) < 0; got != want {
				t.Errorf("Less(%q, %q) = %v, want %v", a, b, got, want)
			}
			if got := v.Equal(&u); got != (a == b) {
				t.Errorf("Equal(%q, %q) = %v", a, b, got)
			}
		}
	}
}

// Would catch a NULL that equals a value or that is followed as an address.
func TestNullBytes(t *testing.T) {
	null := NullBytes()
	if null.Long() {
		t.Error("a NULL is long")
	}
	for _, n := range lengths {
		b := make([]byte, n)
		if v := ToBytes2(b); v.Equal(&null) || null.Equal(&v) {
			t.Errorf("%d zeros equal a NULL", n)
		}
	}
	if !null.Equal(&null) {
		t.Error("a NULL in a key does not equal itself")
	}
}
