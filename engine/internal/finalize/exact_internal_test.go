package finalize

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
)

// Would catch roundings that are not to the nearest double with ties to even: of long numbers,
// where the bit that decides is far below, at the subnormals, where fewer bits are kept, and at the
// largest.
func TestRoundWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		words := make([]uint64, 1+rng.IntN(5))
		for j := range words {
			words[j] = []uint64{0, 1, math.MaxUint64, 1 << 63, rng.Uint64(), rng.Uint64() &^ (1<<11 - 1)}[rng.IntN(6)]
		}
		if i%3 == 0 { // a tie, or beside one, of the 53 bits on top
			words[len(words)-1] = rng.Uint64()&^(1<<10-1) | 1<<63
		}
		exponent := rng.IntN(200) - 100
		switch i % 4 {
		case 1:
			exponent = -1074 - 64*len(words) + rng.IntN(140)
		case 2:
			exponent = 1024 - 64*len(words) + rng.IntN(9) - 4
		}
		unsigned := digits.Integer(append(append([]uint64(nil), words...), 0))
		f := new(big.Float).SetInt(unsigned)
		want, _ := f.SetMantExp(f, exponent).Float64()
		if got := roundWords(words, exponent, false); got != want {
			t.Fatalf("%x * 2^%d = %x, want %x", words, exponent, got, want)
		}
		if unsigned.BitLen() < 64 {
			continue
		}
		f.SetPrec(1000).SetInt(unsigned.Lsh(unsigned, 1).SetBit(unsigned, 0, 1))
		want, _ = f.SetMantExp(f, exponent-1).Float64()
		if got := roundWords(words, exponent, true); got != want {
			t.Fatalf("%x and more * 2^%d = %x, want %x", words, exponent, got, want)
		}
	}
}

// BenchmarkExactResults finalizes one group of ten values.
func BenchmarkExactResults(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var integers integers
	moments, comoments := make([]uint64, 8), make([]uint64, 19)
	for _, state := range [][]uint64{moments, comoments} {
		for i := range state {
			state[i] = rng.Uint64()
		}
	}
	// Units, the upper words of sums of like values, counts.
	moments[0], moments[2], moments[6], moments[7] = 1040, 1<<34, 1<<14, 10
	comoments[0], comoments[1], comoments[3], comoments[5] = 1040, 1040, 1<<34, 1<<34
	comoments[9], comoments[13], comoments[17], comoments[18] = 1<<14, 1<<14, 1<<13, 10
	b.Run("avg", func(b *testing.B) {
		for b.Loop() {
			exactQuotient(moments[:3], 10)
		}
	})
	b.Run("stddev_samp", func(b *testing.B) {
		for b.Loop() {
			integers.variance(query.StddevSamp, moments)
		}
	})
	b.Run("corr", func(b *testing.B) {
		for b.Loop() {
			integers.comoment(query.Corr, comoments)
		}
	})
}
