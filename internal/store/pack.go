package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Rows of words are packed by column: the difference of a word to the column's least word takes as
// many bits as the largest difference needs. Keys of a partition, small values and their sums lose
// most of their bytes this way, in a fraction of the time of a general compressor, which sees rows
// whose bytes do not repeat.

// packedColumn says how the words of a column are packed.
type packedColumn struct {
	base  uint64 // least word
	width int    // bits of a word less base; 0 to 64
}

// packedColumnBytes is a column in the header of packed rows: its base, and its width in a word.
const packedColumnBytes = 16

// packedColumns returns how the columns of rows of stride words are packed.
func packedColumns(words []uint64, stride int) []packedColumn {
	columns := make([]packedColumn, stride)
	for c := range columns {
		if len(words) == 0 {
			break
		}
		// Words are near each other on a circle: signed numbers around 0, and ordered ones, which
		// are unsigned.
		first := words[c]
		var low, high int64
		for at := c; at < len(words); at += stride {
			d := int64(words[at] - first)
			low, high = min(low, d), max(high, d)
		}
		columns[c] = packedColumn{base: first + uint64(low), width: bits.Len64(uint64(high) - uint64(low))}
	}
	return columns
}

// packedBytes returns how many bytes the packed rows take.
func packedBytes(columns []packedColumn, rows int) int {
	bytes := packedColumnBytes * len(columns)
	for _, c := range columns {
		bytes += 8 * packedWords(c.width, rows)
	}
	return bytes
}

// packedWords returns how many words a column takes.
func packedWords(width, rows int) int { return (width*rows + 63) / 64 }

// packRows writes rows to out, which has packedBytes.
func packRows(out []byte, words []uint64, columns []packedColumn) {
	stride := len(columns)
	for i, c := range columns {
		binary.LittleEndian.PutUint64(out[packedColumnBytes*i:], c.base)
		binary.LittleEndian.PutUint64(out[packedColumnBytes*i+8:], uint64(c.width))
	}
	out = out[packedColumnBytes*stride:]
	for i, c := range columns {
		if c.width == 0 {
			continue
		}
		base, width := c.base, uint(c.width)
		var word uint64
		var n uint // bits in word
		for at := i; at < len(words); at += stride {
			v := words[at] - base
			word |= v << (n & 63)
			if n += width; n >= 64 {
				binary.LittleEndian.PutUint64(out, word)
				out = out[8:]
				n -= 64
				word = v >> (width - n)
			}
		}
		if n > 0 {
			binary.LittleEndian.PutUint64(out, word)
			out = out[8:]
		}
	}
}

var errPacked = errors.New("the packed rows do not have the size that their header says")

// unpackRows fills words with rows of stride words.
//
// Requires: len(words) == rows * stride.
func unpackRows(words []uint64, rows, stride int, packed []byte) error {
	if len(packed) < packedColumnBytes*stride {
		return errPacked
	}
	header, packed := packed[:packedColumnBytes*stride], packed[packedColumnBytes*stride:]
	for i := range stride {
		base := binary.LittleEndian.Uint64(header[packedColumnBytes*i:])
		width := binary.LittleEndian.Uint64(header[packedColumnBytes*i+8:])
		if width > 64 {
			return fmt.Errorf("words of %d bits", width)
		}
		n := 8 * packedWords(int(width), rows)
		if n > len(packed) {
			return errPacked
		}
		unpackColumn(words, i, stride, base, uint(width), packed[:n])
		packed = packed[n:]
	}
	if len(packed) > 0 {
		return errPacked
	}
	return nil
}

// unpackColumn fills one column of rows of stride words.
func unpackColumn(words []uint64, column, stride int, base uint64, width uint, packed []byte) {
	if width == 0 {
		for at := column; at < len(words); at += stride {
			words[at] = base
		}
		return
	}
	mask := ^uint64(0) >> (64 - width)
	var word uint64
	var n uint // bits left in word
	for at := column; at < len(words); at += stride {
		v := word
		if n < width {
			word = binary.LittleEndian.Uint64(packed)
			packed = packed[8:]
			v |= word << (n & 63)
			word >>= (width - n) & 63
			if width-n == 64 {
				word = 0
			}
			n += 64
		} else {
			word >>= width & 63
		}
		n -= width
		words[at] = base + v&mask
	}
}
