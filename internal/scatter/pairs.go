package scatter

import (
	"fmt"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
)

// line is lineBytes of a page, which gather in the cache until they are written at once, past the
// cache. Rows of two words, a key and an argument, go to pages in lines: of 2,048 partitions no
// cache holds the ends of all pages, and lines that are not read before they are written spare half
// of the traffic. A query of 1e7 groups takes 0.86 of the time. Wider rows would have to be put
// together first, which costs as much as is saved.
type line [lineBytes / 8]uint64

// lineBytes is the size of two lines of the cache, which processors fetch together.
const lineBytes = 128

const _ = uint(-(pageBytesMin % lineBytes)) // pages are whole lines

// isPair reports whether rows are a key and an argument of one word each, and nothing else.
func isPair(l *rowdata.RowLayout) bool {
	return l.Stride == 2 && l.KeyWords == 1 && len(l.Words) == 1 && l.Words[0] == 1 && !l.Refers()
}

// scatterPairs scatters rows of a key and an argument.
func (w *Writer) scatterPairs(keys, args, hashes []uint64) {
	radix := w.Pass.Radix
	if w.lines == nil {
		w.lines = make([]line, radix.FanOut())
	}
	keys, args = keys[:len(hashes)], args[:len(hashes)]
	for done := 0; ; {
		done += scatterLines(w.next, w.lines, radix, keys[done:], args[done:], hashes[done:])
		if done == len(hashes) {
			break
		}
		w.turn(radix.Of(hashes[done]))
	}
	w.rows += int64(len(hashes))
	streamFence()
}

// unpackPairs splits rows of two words into keys and arguments.
func unpackPairs(keys, args, rows []uint64) (splitKeys, splitArgs []uint64) {
	pairs := rowdata.View[[2]uint64](rows)
	n := len(pairs)
	keys, args = tileWords(keys, n), tileWords(args, n)
	if n == 0 {
		return keys, args
	}
	whole := n &^ 3
	splitPairs(&keys[0], &args[0], &pairs[0], whole)
	for i := whole; i < n; i++ {
		keys[i], args[i] = pairs[i][0], pairs[i][1]
	}
	return keys, args
}

// settleLine writes the rows in the line of a partition to its open page.
func (w *Writer) settleLine(p int) {
	at := w.next[p].at
	if begun := at % lineBytes; w.lines != nil && begun > 0 {
		at -= begun
		copy(unsafe.Slice((*uint64)(at.part(0)), begun/8), w.lines[p][:])
	}
}

// checkLines panics where a page does not begin with a line.
func (w *Writer) checkLines(first rowAddress) {
	if w.lines != nil && first%lineBytes != 0 {
		panic(fmt.Sprintf("scatter: a page at %#x: blocks of pages begin at multiples of %d bytes",
			uintptr(first), lineBytes))
	}
}
