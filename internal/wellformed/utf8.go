package wellformed

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// vectorBytes are looked at together.
const vectorBytes = 32

// UTF8 says whether b is UTF-8: no surrogates, no characters that are longer than they need be, none
// above U+10FFFF, none cut off.
func UTF8(b []byte) bool {
	if !hasVectors || len(b) < vectorBytes {
		return utf8.Valid(b)
	}
	end := len(b)
	if whole := (end + vectorBytes - 1) &^ (vectorBytes - 1); whole > cap(b) { // U1
		end = lastStart(b, end&^(vectorBytes-1))
	}
	return validVectors(unsafe.Pointer(unsafe.SliceData(b)), end) && utf8.Valid(b[end:])
}

// lastStart returns where the character begins that the byte at an index belongs to, if b is UTF-8.
// Requires: 3 <= at < len(b)
func lastStart(b []byte, at int) int {
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(b[at]) {
			break
		}
		at--
	}
	return at
}

// blockBytes are counted in one turn of a loop of countBlocks, which takes at most blocksMax turns:
// its counters are bytes.
const (
	blockBytes = 4 * vectorBytes
	blocksMax  = 255
)

// NonASCII returns how many bytes of b are not ASCII.
func NonASCII(b []byte) (n int) {
	for hasVectors && len(b) >= blockBytes {
		blocks := min(len(b)/blockBytes, blocksMax)
		n += countBlocks(unsafe.Pointer(unsafe.SliceData(b)), blocks)
		b = b[blocks*blockBytes:]
	}
	const high = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b) & high)
	}
	for _, c := range b {
		n += int(c >> 7)
	}
	return n
}
