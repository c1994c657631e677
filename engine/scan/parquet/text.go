package parquet

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/internal/wellformed"
)

// Strings are checked where they are found in a page, many at once and while they are in the cache.
// Entries of a dictionary are checked when the dictionary is read; an entry that is not UTF-8 is an
// error where a row has it: writers leave entries behind that no row has.

// isText says whether the values of a column are strings, which are UTF-8, and not any bytes.
func isText(typ arrow.DataType) bool {
	return typ.ID() == arrow.STRING || typ.ID() == arrow.LARGE_STRING
}

// notASCII are the bits of a string's length that show as bytes that are not ASCII where the length
// is in a page.
const notASCII = 0x80808080

// invalidPlain returns the index of the first of some strings of a plain page, each behind its
// length, that is not UTF-8, or -1. The first string is a guess of whether all may be ASCII.
func invalidPlain(page []byte, spans []stringSpan) int {
	if len(spans) == 0 || wellformed.NonASCII(textOf(page, spans[:1])) == 0 && allASCII(page, spans) {
		return -1
	}
	for from, to := 0, 1; from < len(spans); from, to = to, to+1 {
		for to < len(spans) && spans[to].bytes&notASCII == 0 { // such a length is four characters
			to++
		}
		if !wellformed.UTF8(textOf(page, spans[from:to])) {
			return from + invalidOf(page, spans[from:to])
		}
	}
	return -1
}

// allASCII says whether all bytes that are not ASCII, from the first of some strings of a plain page
// to the end of the last, are of lengths.
func allASCII(page []byte, spans []stringSpan) bool {
	n := wellformed.NonASCII(textOf(page, spans))
	if n == 0 {
		return true
	}
	for _, s := range spans[1:] {
		n -= bits.OnesCount32(s.bytes & notASCII)
	}
	return n == 0
}

// invalidJoined returns the index of the first of some strings, which lie behind each other with
// nothing between them, that is not UTF-8, or -1.
func invalidJoined(text []byte, spans []stringSpan) int {
	if len(spans) == 0 || wellformed.NonASCII(textOf(text, spans)) == 0 {
		return -1
	}
	whole := wellformed.UTF8(textOf(text, spans))
	for _, s := range spans {
		whole = whole && (s.bytes == 0 || utf8.RuneStart(text[s.at]))
	}
	if whole {
		return -1
	}
	return invalidOf(text, spans)
}

// textOf returns the bytes from the first of some strings to the end of the last.
func textOf(text []byte, spans []stringSpan) []byte {
	last := spans[len(spans)-1]
	return text[spans[0].at : last.at+last.bytes]
}

// invalidOf returns the index of the first of some strings that is not UTF-8, or -1.
func invalidOf(text []byte, spans []stringSpan) int {
	for i, s := range spans {
		if !utf8.Valid(text[s.at : s.at+s.bytes]) {
			return i
		}
	}
	return -1
}

// invalidEntries say, by code, which entries of a dictionary are not UTF-8; nil where all are.
type invalidEntries []bool

// invalidEntriesOf looks for entries that are not UTF-8 in a dictionary page.
func invalidEntriesOf(page []byte, spans []stringSpan) invalidEntries {
	for some := range slices.Chunk(spans, spansAtOnce) {
		if invalidPlain(page, some) >= 0 {
			return eachInvalid(page, spans)
		}
	}
	return nil
}

// eachInvalid looks at one entry after the other.
func eachInvalid(page []byte, spans []stringSpan) invalidEntries {
	invalid := make(invalidEntries, len(spans))
	for i, s := range spans {
		invalid[i] = !utf8.Valid(page[s.at : s.at+s.bytes])
	}
	return invalid
}

// firstIn returns the index and the code of the first of the next n codes that has an invalid entry.
// It reads a copy of the codes: who reads them after it tells of codes that are wrong themselves.
func (e invalidEntries) firstIn(codes runs, n int) (at int, code uint32, found bool) {
	if e == nil {
		return 0, 0, false
	}
	next := make([]uint32, n)
	if codes.codes(next, len(e)) != nil {
		return 0, 0, false
	}
	at = slices.IndexFunc(next, func(code uint32) bool { return e[code] })
	if at < 0 {
		return 0, 0, false
	}
	return at, next[at], true
}

// rowOf returns the row that has a value: the value'th, from 0, of the rows from a row on whose
// validity bit is set; all are where validity is nil.
func rowOf(value, from int, validity []byte) int64 {
	if validity == nil {
		return int64(from + value)
	}
	for row := from; ; row++ {
		if !bitutil.BitIsSet(validity, row) {
			continue
		}
		if value == 0 {
			return int64(row)
		}
		value--
	}
}
