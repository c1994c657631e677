package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// stringSpan is where a string is in a page.
type stringSpan struct{ at, bytes uint32 }

// spansAtOnce strings are found, then copied: the length of a string must be loaded before the next
// string is found, and copies need not wait for that. The spans take 4 KiB.
const spansAtOnce = 512

// stringBytesMax bounds the strings of a batch, and of the pages that they come from.
const stringBytesMax = math.MaxInt32

// findStrings fills spans with the strings of a plain page from a byte on, each behind its length.
// It returns where the string behind them is.
func findStrings(spans []stringSpan, plain []byte, from int) (next int, err error) {
	at := from
	for i := range spans {
		if len(plain)-at < 4 {
			return 0, fmt.Errorf("a page of %d B that ends before its last string", len(plain))
		}
		n := binary.LittleEndian.Uint32(plain[at:])
		at += 4
		if uint64(n) > uint64(len(plain)-at) {
			return 0, fmt.Errorf("a string of %d B in a page that has %d B more", n, len(plain)-at)
		}
		spans[i] = stringSpan{at: uint32(at), bytes: n} // a page has less than 2^31 B
		at += int(n)
	}
	return at, nil
}

// Strings of at most stringBlocks bytes are copied in blocks of stringTail bytes, so that bytes of any
// value may lie behind the last.
const (
	stringTail   = 32
	stringBlocks = 256
)

// stringEntries makes an array with offsets of type O, which the caller owns, of the strings or
// binaries of a dictionary page up to a byte.
func stringEntries[O int32 | int64](
	typ arrow.DataType, mem memory.Allocator, spans []stringSpan, data []byte, end int,
) arrow.Array {
	entries := len(spans)
	bytes := end - 4*entries
	offsets, text := memory.NewResizableBuffer(mem), memory.NewResizableBuffer(mem)
	defer offsets.Release()
	defer text.Release()
	offsets.Resize((entries + 1) * delivery.SizeOf[O]())
	text.Resize(bytes + stringTail)
	ends, out, at := delivery.View[O](offsets.Bytes())[1:], text.Bytes(), 0
	delivery.View[O](offsets.Bytes())[0] = 0
	for i, s := range spans {
		from, bytes := int(s.at), int(s.bytes)
		if bytes <= stringBlocks && from+bytes+stringTail <= len(data) {
			for i := 0; i < bytes; i += stringTail {
				*(*[stringTail]byte)(out[at+i:]) = [stringTail]byte(data[from+i:])
			}
		} else {
			copy(out[at:], data[from:from+bytes])
		}
		at += bytes
		ends[i] = O(at)
	}
	text.ResizeNoShrink(bytes)
	return delivery.NewArray(typ, entries, 0, nil, offsets, text)
}

// stringsGuessMax bounds the memory that a guess from a batch's first strings takes.
const stringsGuessMax = 1 << 20

// guessBytes returns how many bytes of strings to make room for in a batch of allRows, given that
// the first `rows` of them need `needed` bytes.
func guessBytes(needed, rows, allRows int) int {
	if rows >= allRows {
		return needed
	}
	more := max(stringsGuessMax-needed, needed)
	if needed > reserve.LargeBytes { // copying the strings costs less than not having the memory
		more = needed / 4
	}
	guess := int(float64(needed) / float64(rows) * float64(allRows) * 1.1)
	return max(needed, min(guess, needed+more))
}
