package partition

import (
	"math"
	"math/bits"
)

// A HyperLogLog sketch (Flajolet, Fusy, Gandouet and Meunier, AofA 2007) counts distinct hashes
// in SketchRegisters bytes, each the largest rank seen among the hashes that its index is
// cut from. The registers are dense, so that they can live in an accumulator state or in
// device memory, and they merge by taking the larger.
const (
	sketchBits = 14

	// SketchRegisters is the number of registers, and bytes, of a sketch. The standard error
	// is 1.04 / sqrt(2^14) = 0.81%.
	SketchRegisters = 1 << sketchBits

	// rankBits hash bits can be zero before a rank ends: ranks run from 1 to rankBits+1, and 0
	// means that no hash has come.
	rankBits = hashBits - sketchBits
)

// Register returns the register of a hash and the rank to raise it to. The rank counts from the
// bits next to the index upwards: it meets the bits of the partition last, so that a sketch of
// one partition's hashes counts as well as any other.
func Register(hash uint64) (index uint32, rank uint8) {
	const end = 1 << rankBits // a one beyond the last bit
	return uint32(hash % SketchRegisters), uint8(bits.TrailingZeros64(hash>>sketchBits|end)) + 1
}

// AddHash raises the register of a hash.
//
// Requires: len(registers) >= SketchRegisters.
func AddHash(registers []uint8, hash uint64) {
	r := (*[SketchRegisters]uint8)(registers)
	index, rank := Register(hash)
	if r[index] < rank {
		r[index] = rank
	}
}

// MergeRegisters makes dst the sketch of the hashes of both.
//
// Requires: both have the same length.
func MergeRegisters(dst, src []uint8) {
	src = src[:len(dst)]
	for i, rank := range dst {
		dst[i] = max(rank, src[i])
	}
}

// EstimateRegisters returns the estimated number of distinct hashes, by the improved raw
// estimator of Ertl (arXiv:1702.01284, 2017, algorithm 6): the same formula at every
// cardinality, with neither tables nor a seam between ranges.
//
// Requires: len(registers) == SketchRegisters.
func EstimateRegisters(registers []uint8) float64 {
	var counts [rankBits + 2]float64 // registers by rank
	for _, rank := range registers {
		counts[min(rank, rankBits+1)]++ // a damaged sketch may have others
	}
	const m = SketchRegisters
	z := m * tau(1-counts[rankBits+1]/m)
	for rank := rankBits; rank >= 1; rank-- {
		z = (z + counts[rank]) / 2
	}
	z += m * sigma(counts[0]/m)
	return m * m / (2 * math.Ln2 * z)
}

// sigma corrects for registers that are still 0: x + the sum over k >= 1 of x^(2^k) 2^(k-1).
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1) // no hash at all, and an estimate of 0
	}
	sum, weight := x, 1.0
	for {
		x *= x
		before := sum
		sum += x * weight
		weight *= 2
		if sum == before {
			return sum
		}
	}
}

// tau corrects for registers that are full: a third of
// 1 - x - the sum over k >= 1 of (1 - x^(2^-k))^2 2^-k.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	sum, weight := 1-x, 1.0
	for {
		x = math.Sqrt(x)
		before := sum
		weight /= 2
		sum -= (1 - x) * (1 - x) * weight
		if sum == before {
			return sum / 3
		}
	}
}
