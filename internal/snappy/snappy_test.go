package snappy_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	reference "github.com/klauspost/compress/snappy"

	"github.com/mpga/mpga/internal/snappy"
)

// Would catch a block that others decode to other bytes, one whose pieces refer to each other, and
// memory that is asked for though there is enough.
func TestEncode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 100, snappy.PieceSize - 1, snappy.PieceSize, snappy.PieceSize + 1, 3 * snappy.PieceSize, 1 << 20} {
		for _, values := range []int{1, 3, 256} {
			if most := 2*n + 100; snappy.Bound(n) > most { // files of thousands of columns have small pages
				t.Errorf("%d B: the bound is %d B", n, snappy.Bound(n))
			}
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(rng.IntN(values))
			}
			room := make([]byte, 0, snappy.Bound(n))
			block := snappy.Encode(room, src)
			if &block[:1][0] != &room[:1][0] {
				t.Errorf("%d B: the block lies elsewhere", n)
			}
			if got, err := reference.Decode(nil, block); err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%d B of %d values: %d B, %v", n, values, len(got), err)
			}
			_, head := binary.Uvarint(block)
			for at, rest := 0, block[head:]; at < n; at += snappy.PieceSize {
				size := min(snappy.PieceSize, n-at)
				alone := snappy.Encode(nil, src[at:at+size])
				_, head := binary.Uvarint(alone)
				if !bytes.HasPrefix(rest, alone[head:]) {
					t.Fatalf("%d B of %d values: the piece at %d depends on others", n, values, at)
				}
				rest = rest[len(alone)-head:]
			}
		}
	}
}
