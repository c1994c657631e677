// Package snappy compresses blocks of the snappy format as most compressors make them: piece by piece,
// so that pieces can be decompressed side by side.
package snappy

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// PieceSize is how many bytes a piece stands for, but for the last of a block: no element stands for
// bytes of two pieces, and no copy refers to bytes before its piece.
const PieceSize = 64 << 10

// Encode returns the block of src. It lies in the memory of dst, up to its capacity, where that is
// Bound's. s2 takes half the time of other encoders, which look for matches longer, but makes one piece
// of what it is given.
func Encode(dst, src []byte) []byte {
	out := binary.AppendUvarint(dst[:0], uint64(len(src)))
	for len(src) > 0 {
		piece := src[:min(len(src), PieceSize)]
		src = src[len(piece):]
		packed := s2.EncodeSnappy(out[len(out):cap(out)], piece)
		_, head := binary.Uvarint(packed)
		out = append(out, packed[head:]...)
	}
	return out
}

// Bound returns the most bytes that Encode takes for n bytes, and for the work on them.
func Bound(n int) int {
	return binary.MaxVarintLen64 + n/PieceSize*s2.MaxEncodedLen(PieceSize) + s2.MaxEncodedLen(n%PieceSize)
}
