package scatter

import "testing"

// Would catch unpacking with the offset or the width of another part.
func TestUnpack(t *testing.T) {
	const stride, rows = 5, 7
	words := make([]uint64, stride*rows)
	for i := range words {
		words[i] = uint64(i)
	}
	for offset := range stride {
		for width := 1; offset+width <= stride; width++ {
			for i, w := range unpack(nil, words, stride, offset, width) {
				if want := uint64(i/width*stride + offset + i%width); w != want {
					t.Fatalf("offset %d, %d words: word %d is %d, want %d", offset, width, i, w, want)
				}
			}
		}
		for bit := range 64 {
			got := unpackBits(make([]uint8, 3), words, stride, offset, bit)
			for i, b := range got {
				if want := uint8(words[i*stride+offset] >> bit & 1); b != want || len(got) != rows {
					t.Fatalf("offset %d, bit %d: row %d of %d is %d, want %d", offset, bit, i, len(got), b, want)
				}
			}
		}
	}
}
