package scatter

import (
	"math/bits"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
)

// Unpack turns n rows of a page into a tile: what Tile or Put has scattered. The tile has room for as
// many arguments as the layout has parts, and for the columns that have validity bits.
func Unpack(t *rowdata.Tile, l *rowdata.RowLayout, page *rowdata.Page, from, n int) {
	t.Rows = n
	rows := page.Words[from*l.Stride : (from+n)*l.Stride]
	if isPair(l) {
		t.Keys, t.Args[0] = unpackPairs(t.Keys, t.Args[0], rows)
		return
	}
	t.Keys = unpack(t.Keys, rows, l.Stride, 0, l.KeyWords)
	for a, words := range l.Words {
		if words > 0 {
			t.Args[a] = unpack(t.Args[a], rows, l.Stride, l.Parts[a], words)
		}
	}
	for a, natural := range l.Natural {
		if natural >= 0 {
			t.Args[a] = flipSigns(t.Args[a], t.Args[natural])
		}
	}
	for i, c := range l.ValidCols {
		t.Valid[c] = unpackBits(t.Valid[c], rows, l.Stride, l.Valid+i/64, i%64)
	}
}

// unpack copies one part of each row: words values at an offset.
func unpack(buf, rows []uint64, stride, offset, words int) []uint64 {
	n := len(rows) / stride
	buf = tileRoom(buf, n, words)
	if 0 < words && words <= len(unpackFixed) {
		unpackFixed[words-1](buf, rows, stride, offset)
		return buf
	}
	for i, at := 0, offset; i < n; i, at = i+1, at+stride {
		copy(buf[i*words:(i+1)*words], rows[at:])
	}
	return buf
}

// unpackFixed is unpackWords, by width.
var unpackFixed = [...]func(buf, rows []uint64, stride, offset int){
	unpackWords[[1]uint64], unpackWords[[2]uint64], unpackWords[[3]uint64],
	unpackWords[[4]uint64], unpackWords[[5]uint64], unpackWords[[6]uint64],
}

// unpackWords is unpack for a width that the compiler knows, which spares a call for each row.
func unpackWords[V wordArray](buf, rows []uint64, stride, offset int) {
	var v V
	out := rowdata.View[V](buf)
	rows = rows[offset:]
	for i, at := 0, 0; i < len(out) && at+len(v) <= len(rows); i, at = i+1, at+stride {
		out[i] = *(*V)(unsafe.Pointer(&rows[at]))
	}
}

// flipSigns returns words with their first bit flipped.
func flipSigns(buf, words []uint64) []uint64 {
	buf = tileWords(buf, len(words))
	for i, w := range words {
		buf[i] = w ^ 1<<63
	}
	return buf
}

// tileWords returns room for a word of each of n rows, in buf where that is large enough.
func tileWords(buf []uint64, n int) []uint64 { return tileRoom(buf, n, 1) }

// tileRoom returns room for words of each of n rows, in buf where that is large enough. Few rows take little room: a
// query of a thousand aggregates has as many buffers.
func tileRoom(buf []uint64, n, words int) []uint64 {
	if cap(buf) < n*words {
		rows := min(1<<bits.Len(uint(n-1)), rowdata.TileRows)
		buf = make([]uint64, rows*words)
	}
	return buf[:n*words]
}

// unpackBits copies one bit of a word of each row.
func unpackBits(buf []uint8, rows []uint64, stride, offset, bit int) []uint8 {
	buf = buf[:0]
	for at := offset; at < len(rows); at += stride {
		buf = append(buf, uint8(rows[at]>>bit&1))
	}
	return buf
}
