package expr

import (
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// vectorRows is how many rows are evaluated at a time: a vector of 8-byte values takes 16 KiB, so
// that an expression's operands and results stay in the first two caches.
const vectorRows = 2048

const vectorWords = vectorRows / 64

// wide is a 128-bit integer: a decimal's digits, or an integer beyond int64.
type wide = decimal128.Num

// vector is the values of up to vectorRows rows. The value at a NULL may be anything (a string can
// be read), and so may bits beyond n.
type vector struct {
	n    int      // rows
	null []uint64 // a bit for each row that is NULL; nil if no row is NULL

	// The values, by the type's kind; the other fields are nil.
	bits   []uint64
	ints   []int64
	floats []float64
	wides  []wide
	texts  []string
}

// element is the values that a vector holds, but for bits.
type element interface {
	int64 | float64 | wide | string
}

// data returns the values of a vector that holds values of type T.
func data[T element](v *vector) []T {
	var zero T
	switch any(zero).(type) {
	case int64:
		return *any(&v.ints).(*[]T)
	case float64:
		return *any(&v.floats).(*[]T)
	case wide:
		return *any(&v.wides).(*[]T)
	}
	return *any(&v.texts).(*[]T)
}

func (v *vector) isNull(i int) bool { return v.null != nil && v.null[i>>6]>>(i&63)&1 != 0 }

// nullWord returns the NULLs of 64 rows.
func (v *vector) nullWord(w int) uint64 {
	if v.null == nil {
		return 0
	}
	return v.null[w]
}

func (v *vector) bit(i int) bool { return v.bits[i>>6]>>(i&63)&1 != 0 }

func wordsOf(n int) int { return (n + 63) / 64 }

// lastMask has the bits of a bitmap's last word that belong to n rows.
func lastMask(n int) uint64 { return ^uint64(0) >> (-uint(n) & 63) }

// eachBit calls f with the number of every row whose bit is set, in order.
func eachBit(words []uint64, n int, f func(i int)) {
	for w := range wordsOf(n) {
		m := words[w]
		if w == wordsOf(n)-1 {
			m &= lastMask(n)
		}
		for ; m != 0; m &= m - 1 {
			f(w<<6 + bits.TrailingZeros64(m))
		}
	}
}

func countBits(words []uint64, n int) int {
	count := 0
	for w := range wordsOf(n) {
		m := words[w]
		if w == wordsOf(n)-1 {
			m &= lastMask(n)
		}
		count += bits.OnesCount64(m)
	}
	return count
}

// arena gives out the buffers of a frame's evaluation, and takes all back at once (X4).
type arena struct {
	vectors pool[vector]
	bits    pool[uint64]
	ints    pool[int64]
	floats  pool[float64]
	wides   pool[wide]
	texts   pool[string]
	rows    pool[int32]
	bytes   []byte // of strings that functions made; a new block when full
	made    int    // bytes of such strings since reset
}

// pool gives out buffers that are used again after reset.
type pool[T any] struct {
	items [][]T
	used  int
}

// get returns a buffer of n values, which may be anything.
func (p *pool[T]) get(n int) []T {
	if p.used == len(p.items) {
		p.items = append(p.items, nil)
	}
	item := &p.items[p.used]
	p.used++
	if len(*item) < n {
		*item = make([]T, roomFor(n))
	}
	return (*item)[:n]
}

// roomFor returns the least power of two that is not below n, which is at least 1. A buffer of that
// size suits most of the later vectors, and the only row of a folded constant takes no more.
func roomFor(n int) int { return 1 << bits.Len(uint(n-1)) }

func (a *arena) reset() {
	a.back(arenaMark{})
	a.made = 0
	a.bytes = a.bytes[:0]
}

// arenaMark is how many buffers of an arena are in use.
type arenaMark [7]int

func (a *arena) mark() arenaMark {
	return arenaMark{a.vectors.used, a.bits.used, a.ints.used, a.floats.used, a.wides.used, a.texts.used, a.rows.used}
}

// back takes the buffers back that were given out since a mark. Strings stay.
func (a *arena) back(m arenaMark) {
	a.vectors.used, a.bits.used, a.ints.used, a.floats.used = m[0], m[1], m[2], m[3]
	a.wides.used, a.texts.used, a.rows.used = m[4], m[5], m[6]
}

// bitmap returns n bits, all 0.
func (a *arena) bitmap(n int) []uint64 {
	b := a.bits.get(wordsOf(n))
	clear(b)
	return b
}

// holding returns a vector of the arena that is a copy of v; the values are the same memory.
func (a *arena) holding(v vector) *vector {
	held := &a.vectors.get(1)[0]
	*held = v
	return held
}

// vector returns n rows of a kind without NULLs. Bits are 0, strings empty, other values anything.
func (a *arena) vector(k kind, n int) *vector {
	v := a.holding(vector{n: n})
	switch k {
	case bitKind:
		v.bits = a.bitmap(n)
	case intKind:
		v.ints = a.ints.get(n)
	case floatKind:
		v.floats = a.floats.get(n)
	case wideKind:
		v.wides = a.wides.get(n)
	case textKind:
		v.texts = a.texts.get(n)
		clear(v.texts) // strings of earlier batches point to memory that may be gone
	}
	return v
}

// textBlockBytes is the first block of made strings; the next blocks double.
const textBlockBytes = 1 << 10

// room returns an empty slice of the evaluator's arena with room for size bytes, to be handed to
// keep, or an error if strings of size more bytes may not be made.
func (e *Evaluator) room(n *node, size int) ([]byte, error) {
	if e.made+size > e.text.full {
		if err := e.claim(n, size); err != nil {
			return nil, err
		}
	}
	if cap(e.bytes)-len(e.bytes) < size {
		// Strings hold on to the old block.
		e.bytes = make([]byte, 0, max(size, min(2*cap(e.bytes), e.text.frame), textBlockBytes))
	}
	return e.bytes[len(e.bytes):len(e.bytes):cap(e.bytes)], nil
}

// keep makes a string of bytes appended to what room returned.
func (a *arena) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	a.made += len(b)
	if end := len(a.bytes) + len(b); end <= cap(a.bytes) && &b[0] == &a.bytes[len(a.bytes) : len(a.bytes)+1][0] {
		a.bytes = a.bytes[:end]
	} // else append has moved them to memory of their own
	return unsafe.String(&b[0], len(b))
}

// union returns the rows that are NULL in any vector, or nil. The bitmap may belong to a vector.
func (a *arena) union(vectors ...*vector) []uint64 {
	var null []uint64
	owned := false
	for _, v := range vectors {
		switch {
		case v.null == nil:
		case null == nil:
			null = v.null
		case !owned:
			sum := a.bits.get(len(null))
			for w := range sum {
				sum[w] = null[w] | v.null[w]
			}
			null, owned = sum, true
		default:
			for w := range null {
				null[w] |= v.null[w]
			}
		}
	}
	return null
}
