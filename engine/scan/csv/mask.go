package csv

import (
	"encoding/binary"
	"math/bits"
)

// maskBytes is the text that one textMask describes.
const maskBytes = 64

// textMask says where the characters that cut text are in 64 bytes of text: bit i is byte i.
type textMask struct{ delimiter, newline, quote uint64 }

// marks are the characters that a textMask tells apart. A dialect without quotes has a newline for
// one.
type marks struct{ delimiter, quote byte }

// maskTextGeneric fills masks for the whole 64-byte blocks of text.
// Requires: len(masks) == len(text)/maskBytes.
func maskTextGeneric(masks []textMask, text []byte, m marks) {
	for i := range masks {
		block := (*[maskBytes]byte)(text[i*maskBytes:])
		masks[i] = textMask{equalMask(block, m.delimiter), equalMask(block, '\n'), equalMask(block, m.quote)}
	}
}

const (
	bytesOf1   = 0x0101010101010101
	bytesOf127 = 0x7F7F7F7F7F7F7F7F
)

// equalMask sets the bits of the bytes that equal c.
func equalMask(block *[maskBytes]byte, c byte) (mask uint64) {
	wanted := bytesOf1 * uint64(c)
	for i := 0; i < maskBytes; i += 8 {
		x := binary.LittleEndian.Uint64(block[i:i+8]) ^ wanted
		differ := (x&bytesOf127 + bytesOf127) | x | bytesOf127 // top bits: of the bytes that are not 0
		// The multiplication gathers the top bits in the top byte: no two of its terms meet.
		mask |= ^differ >> 7 * 0x0102040810204080 >> 56 << i
	}
	return mask
}

// positionsSlack is how many elements behind its last writePositions may write.
const positionsSlack = maskBytes

// writePositionsGeneric writes base plus 1 plus the index of each bit that is set, and returns how
// many are.
// Requires: len(out) is at least that number plus positionsSlack.
func writePositionsGeneric(out []uint32, set []uint64, base uint32) (n int) {
	for _, mask := range set {
		for ; mask != 0; mask &= mask - 1 {
			out[n] = base + uint32(bits.TrailingZeros64(mask)) + 1
			n++
		}
		base += maskBytes
	}
	return n
}

// insideQuotes turns quotes into the bytes that an opening quote starts and a closing one follows:
// bit i is the parity of the quotes up to byte i.
func insideQuotes(quotes uint64) uint64 {
	for shift := 1; shift < 64; shift *= 2 {
		quotes ^= quotes << shift
	}
	return quotes
}
