package cpuagg

import (
	"math"
	"math/bits"

	"github.com/mpga/mpga/internal/rowdata"
)

// oneGroup is the group numbers of the rows of a query without keys. Nobody writes to it.
var oneGroup [rowdata.TileRows]uint32

// accumulateOne folds n rows into the state of the only group, without their group numbers. It
// returns false, and has done nothing, for folds that have no such loop. Doubles are added in the
// order of their rows, as accumulateFold adds them.
func accumulateOne(kind rowdata.FoldKind, state []uint64, n int, x []uint64) bool {
	switch kind {
	case rowdata.FoldCount:
		state[0] += uint64(n)
	case rowdata.FoldSumInt:
		low, high := sumInts(x[:n])
		addPair(state, low, high)
	case rowdata.FoldSumUint:
		low, high := sumUints(x[:n])
		addPair(state, low, high)
	case rowdata.FoldSumFloat:
		sum := math.Float64frombits(state[0])
		for _, w := range x[:n] {
			sum += math.Float64frombits(w)
		}
		state[0] = math.Float64bits(sum)
	case rowdata.FoldMin:
		state[0] = min(state[0], leastOf(x[:n]))
	case rowdata.FoldMax:
		state[0] = max(state[0], mostOf(x[:n]))
	default:
		return false
	}
	return true
}

// addPair adds a number of 128 bits to a state of two words.
func addPair(state []uint64, low, high uint64) {
	sum, carry := bits.Add64(state[0], low, 0)
	state[0], state[1] = sum, state[1]+high+carry
}

// sumInts returns the sum of signed words in 128 bits. With the first bit of each word flipped, the
// words are unsigned and 2^63 larger.
func sumInts(x []uint64) (low, high uint64) {
	const first = 1 << 63
	low, high = sumHalves(x, first)
	rows := uint64(len(x))
	low, borrow := bits.Sub64(low, rows<<63, 0)
	return low, high - rows>>1 - borrow
}

// sumUints returns the sum of unsigned words in 128 bits.
func sumUints(x []uint64) (low, high uint64) { return sumHalves(x, 0) }

// sumHalves returns the sum of the words, with the bits of flip flipped, in 128 bits. The halves of
// the words add up in 64 bits, at most rowdata.TileRows of them, so that there are no carries.
func sumHalves(x []uint64, flip uint64) (low, high uint64) {
	whole := 0
	var lows, highs uint64
	if hasHalvesVectors {
		if whole = len(x) &^ 7; whole > 0 {
			lows, highs = halvesVectors(&x[0], whole, flip)
		}
	}
	for _, w := range x[whole:] {
		w ^= flip
		lows += w & math.MaxUint32
		highs += w >> 32
	}
	low, carry := bits.Add64(lows, highs<<32, 0)
	return low, highs>>32 + carry
}

// leastOf returns the least word. Four words in turn have a minimum each: else each comparison
// waits for the comparison before it.
func leastOf(x []uint64) uint64 {
	a, b, c, d := uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64)
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = min(a, x[0]), min(b, x[1]), min(c, x[2]), min(d, x[3])
	}
	for _, w := range x {
		a = min(a, w)
	}
	return min(a, b, c, d)
}

// mostOf is leastOf for the greatest word.
func mostOf(x []uint64) uint64 {
	var a, b, c, d uint64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
	}
	for _, w := range x {
		a = max(a, w)
	}
	return max(a, b, c, d)
}
