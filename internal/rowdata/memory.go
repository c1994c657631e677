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
