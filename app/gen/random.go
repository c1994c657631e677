package gen

import (
	"math/bits"
	"math/rand/v2"
)

// rng is a stream of random numbers. Its methods are ours, so that a new version of the standard
// library does not change the data.
type rng struct{ pcg rand.PCG }

// newRNG returns the stream of one column in one split.
func newRNG(seed uint64, column, split int) *rng {
	r := new(rng)
	r.pcg.Seed(mix(seed+uint64(column)*golden), mix(uint64(split)+golden))
	return r
}

// golden is 2^64 divided by the golden ratio, the step of Steele et al.'s SplitMix (OOPSLA 2014).
const golden = 0x9e3779b97f4a7c15

// mix is SplitMix's finalizer: a bijection under which near numbers are far apart.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n). The bias is under n / 2^64.
func (r *rng) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.pcg.Uint64(), n)
	return high
}

// between returns a number in [low, high].
func (r *rng) between(low, high int64) int64 {
	return low + int64(r.below(uint64(high-low+1)))
}

// float returns a number in [0, 1).
func (r *rng) float() float64 { return float64(r.pcg.Uint64()>>11) / (1 << 53) }

// permutation is a keyed bijection of [0, n): rows that it sends below m are a random choice of
// exactly m of n.
type permutation struct {
	n     uint64
	mask  uint64
	shift uint
	mul   [permutationRounds]uint64
	add   [permutationRounds]uint64
}

// permutationRounds is enough for the choice to pass a chi-squared test by blocks and by low bits.
const permutationRounds = 4

// newPermutation returns the permutation of a seed and a column. Requires: n >= 1.
func newPermutation(n, seed uint64, column int) *permutation {
	width := uint(bits.Len64(n - 1))
	p := &permutation{n: n, mask: 1<<width - 1, shift: width/2 + 1}
	r := newRNG(seed, column, permutationSplit)
	for i := range p.mul {
		p.mul[i] = r.pcg.Uint64() | 1
		p.add[i] = r.pcg.Uint64()
	}
	return p
}

// permutationSplit is a split that no table has.
const permutationSplit = -1

// at returns where i goes. Rounds of multiplication and shift permute the numbers of as many bits
// as n has; numbers that land past n go round again, once on average at most.
func (p *permutation) at(i uint64) uint64 {
	for {
		for round := range p.mul {
			i = (i*p.mul[round] + p.add[round]) & p.mask
			i ^= i >> p.shift
		}
		if i < p.n {
			return i
		}
	}
}
