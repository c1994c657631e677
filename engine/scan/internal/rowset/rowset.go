package rowset

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// Set is some of the rows of an array.
type Set struct {
	words []uint64 // a bit for each row, lowest first; bits behind the last row are 0
	Rows  int      // of the array
	Count int      // of the set
}

// Reset makes room for a set of some of n rows, none so far.
func (s *Set) Reset(n int) {
	s.Rows, s.Count = n, 0
	s.words = slices.Grow(s.words[:0], (n+63)/64)[:(n+63)/64]
	clear(s.words)
}

// Bytes views the bits as bytes, as many as the rows need.
func (s *Set) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), 8*len(s.words))[:(s.Rows+7)/8]
}

// Recount drops bits behind the last row and counts the others.
func (s *Set) Recount() {
	if s.Rows%64 != 0 {
		s.words[len(s.words)-1] &= 1<<(s.Rows%64) - 1
	}
	s.Count = 0
	for _, w := range s.words {
		s.Count += bits.OnesCount64(w)
	}
}

// Narrow leaves the rows of the set that are in another: in a set of some of the same rows, or of
// some of the rows of this set, numbered in their order.
func (s *Set) Narrow(by *Set) {
	at := 0
	for w, word := range s.words {
		if by.Rows == s.Rows {
			s.words[w] &= by.words[w]
		} else if word != 0 {
			s.words[w] = depositBits(by.wordAt(at), word)
			at += bits.OnesCount64(word)
		}
	}
	s.Count = by.Count
	if by.Rows == s.Rows {
		s.Recount()
	}
}

// wordAt returns the bits of 64 rows from a row on; those behind the last row are 0.
func (s *Set) wordAt(at int) uint64 {
	word := s.words[at/64] >> (at % 64)
	if next := at/64 + 1; next < len(s.words) {
		word |= s.words[next] << (64 - at%64)
	}
	return word
}

// depositBits moves the first bits of a word to the bits of a mask that are 1.
func depositBits(word, mask uint64) (out uint64) {
	if mask == ^uint64(0) {
		return word
	}
	for ; mask != 0; mask &= mask - 1 {
		out |= word & 1 << bits.TrailingZeros64(mask)
		word >>= 1
	}
	return out
}

// Part makes s the rows of another set from from to to, counted from from on.
func (s *Set) Part(of *Set, from, to int) {
	s.Reset(to - from)
	for w := range s.words {
		s.words[w] = of.wordAt(from + 64*w)
	}
	s.Recount()
}

// Add puts the rows from from to to into the set, none of which is in it.
func (s *Set) Add(from, to int) {
	s.Count += to - from
	for from < to {
		end := min(to, from/64*64+64)
		s.words[from/64] |= ^uint64(0) >> (64 - (end - from)) << (from % 64)
		from = end
	}
}

// Stretch returns the first stretch of rows of the set from row at on: rows from to to-1. gap or more
// rows in turn that are not in the set end the stretch; gap is at least 64. from == to where the set
// has no row from row at on.
func (s *Set) Stretch(at, gap int) (from, to int) {
	from = s.next(at, 0)
	if from == s.Rows {
		return from, from
	}
	to = from + 1
	for w := to / 64; w < len(s.words) && w*64-to <= gap; w++ {
		word := s.words[w]
		if w == to/64 {
			word &= ^uint64(0) << (to % 64)
		}
		if word == 0 {
			continue
		}
		if w*64+bits.TrailingZeros64(word)-to > gap-1 {
			break
		}
		to = w*64 + bits.Len64(word) // gaps within a word are short
	}
	return from, to
}

// next returns the first row from at on that is in the set, or, with flip all ones, that is not in
// the set; s.Rows where there is no such row.
func (s *Set) next(at int, flip uint64) int {
	if at >= s.Rows {
		return s.Rows
	}
	mask := ^uint64(0) << (at % 64)
	for w := at / 64; w < len(s.words); w++ {
		if word := (s.words[w] ^ flip) & mask; word != 0 {
			return min(w*64+bits.TrailingZeros64(word), s.Rows)
		}
		mask = ^uint64(0)
	}
	return s.Rows
}

// eachRun calls a function with the rows of the set, neighbours together: from, up to but not to.
func (s *Set) eachRun(f func(from, to int)) {
	for from := s.next(0, 0); from < s.Rows; {
		to := s.next(from, ^uint64(0))
		f(from, to)
		from = s.next(to, 0)
	}
}

// Pick copies the values of the set's rows from a plain page to out, both of which begin with the
// value of the given row. The values of other rows are left as they are in out.
// Requires: T has no pointers.
func Pick[T any](s *Set, row int, out []T, plain []byte) {
	size := delivery.SizeOf[T]()
	plain = plain[:size*len(out)]
	for w := row / 64; w < len(s.words) && w*64 < row+len(out); w++ {
		first := w*64 - row
		word := s.words[w]
		if first < 0 {
			word &= ^uint64(0) << (-first % 64)
		}
		for ; word != 0; word &= word - 1 {
			i := first + bits.TrailingZeros64(word)
			if i >= len(out) {
				break
			}
			out[i] = *(*T)(unsafe.Pointer(&plain[size*i]))
		}
	}
}

// takeBits writes the bits of the set's rows to out, and returns how many are 1. from is where the
// bit of row 0 is in packed. out has room for the set's rows.
func (s *Set) takeBits(out, packed []byte, from int) (ones int) {
	clear(out)
	n := 0
	for w, m := range s.words {
		if m == 0 {
			continue
		}
		some := extractBits(bitsFrom(packed, from+64*w), m)
		ones += bits.OnesCount64(some)
		orBits(out, n, some)
		n += bits.OnesCount64(m)
	}
	return ones
}

// extractBits moves the bits of a word together that are 1 in a mask.
func extractBits(word, mask uint64) (out uint64) {
	if mask == ^uint64(0) {
		return word
	}
	for n := 0; mask != 0; mask &= mask - 1 {
		out |= word >> bits.TrailingZeros64(mask) & 1 << n
		n++
	}
	return out
}

// bitsFrom returns 64 bits of a bitmap from bit at on; bits behind its end are 0.
func bitsFrom(packed []byte, at int) uint64 {
	var word [9]byte
	b := packed[at/8:]
	if len(b) < len(word) {
		copy(word[:], b)
		b = word[:]
	}
	return binary.LittleEndian.Uint64(b)>>(at%8) | uint64(b[8])<<(64-at%8)
}

// orBits sets the bits of a word from bit at on. Requires: out has room for the bits that are 1.
func orBits(out []byte, at int, word uint64) {
	first := word << (at % 8)
	last := byte(word >> (64 - at%8))
	if b := out[at/8:]; len(b) > 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)|first)
		b[8] |= last
	} else {
		for i := range b {
			b[i] |= byte(first >> (8 * i))
		}
	}
}

// List fills a list with rows of the set, after the first without rows. The list may be longer than
// the rows that are left.
func (s *Set) List(without int, to []int) {
	n := 0
	s.eachRun(func(from, end int) {
		passed := min(without, end-from)
		without -= passed
		for row := from + passed; row < end && n < len(to); row++ {
			to[n] = row
			n++
		}
	})
}

// Next returns the first row of the set from a row on; s.Rows where there is none.
func (s *Set) Next(at int) int { return s.next(at, 0) }

// Nth returns the i-th row of the set, counted from 0.
func (s *Set) Nth(i int) int {
	for w, word := range s.words {
		if n := bits.OnesCount64(word); i >= n {
			i -= n
			continue
		}
		for ; i > 0; i-- {
			word &= word - 1
		}
		return w*64 + bits.TrailingZeros64(word)
	}
	return s.Rows
}
