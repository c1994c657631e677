package rowdata

import "math"

// Memory gives out the blocks of words that pages, heaps and tables are made of. It is safe for
// concurrent use.
type Memory interface {
	// Alloc returns a block of n words with arbitrary contents. Where the system has no memory it
	// panics by spawn.Fail. An owner that grows by more than a tile's worth asks Left before.
	// Blocks of 4 KiB and multiples of it begin at multiples of 128 bytes.
	Alloc(n int) []uint64

	// Free takes back a block of Alloc, whose len may have been cut but not its cap. Nothing may
	// refer to the block any more. Free(nil) does nothing.
	Free(block []uint64)

	// Left returns how many bytes of the budget are left; it is negative when that is overdrawn.
	Left() int64
}

// GoMemory is memory of the Go collector, without a budget.
var GoMemory Memory = goMemory{}

type goMemory struct{}

func (goMemory) Alloc(n int) []uint64 { return make([]uint64, n) }
func (goMemory) Free([]uint64)        {}
func (goMemory) Left() int64          { return math.MaxInt64 }

// wordsFew is how many words are not worth a block: a block has a page at least, and a query of
// thousands of aggregates has thousands of columns of states, even for one group.
const wordsFew = 16

// GrowWords returns a slice of at least n words that begins with the old words, whose memory it
// gives back. FreeWords gives back the slice.
func GrowWords(m Memory, words []uint64, n int) []uint64 {
	if n <= len(words) {
		return words
	}
	var grown []uint64
	if n <= wordsFew {
		grown = make([]uint64, wordsFew)
	} else {
		grown = m.Alloc(max(n, 2*len(words)))
		grown = grown[:cap(grown)]
	}
	copy(grown, words)
	FreeWords(m, words)
	return grown
}

// FreeWords gives back a slice of GrowWords.
func FreeWords(m Memory, words []uint64) {
	if len(words) > wordsFew {
		m.Free(words)
	}
}
