package finalize

import (
	"math"
	"math/big"
	"math/bits"
	"testing"

	"github.com/mpga/mpga/internal/digits"
)

// wordsOf returns an integer in two's complement words, the lowest first.
func wordsOf(v *big.Int, n int) []uint64 {
	m := new(big.Int).Mod(v, new(big.Int).Lsh(big.NewInt(1), uint(64*n)))
	words := make([]uint64, n)
	for i, w := range m.Bits() { // of bits.UintSize each
		words[i*bits.UintSize/64] |= uint64(w) << (i * bits.UintSize % 64)
	}
	return words
}

// Would catch sums of 39 digits that are written as a decimal of 38, and sums of 38 digits that are
// refused: at 10^38, at the shortcut's limit, and where two words end and three begin.
func TestFitsDecimal(t *testing.T) {
	one := big.NewInt(1)
	power := func(base, exponent int64) *big.Int {
		return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
	}
	for _, center := range []*big.Int{new(big.Int), power(10, 38), power(10, 37), power(2, 125), power(2, 126), power(2, 127), power(2, 128), power(2, 190)} {
		for _, sign := range []int64{1, -1} {
			for _, d := range []int64{-1, 0, 1} {
				v := new(big.Int).Add(center, big.NewInt(d))
				v.Mul(v, big.NewInt(sign))
				want := v.CmpAbs(decimalLimit) < 0
				for _, n := range []int{2, 3} {
					if v.BitLen() >= 64*n && new(big.Int).Add(v, one).BitLen() >= 64*n {
						continue // does not fit the words
					}
					words := wordsOf(v, n)
					if got := digits.Integer(words); got.Cmp(v) != 0 {
						t.Fatalf("%s in %d words reads %s", v, n, got)
					}
					if got := fitsDecimal(words); got != want {
						t.Errorf("%s in %d words fits: %v, want %v", v, n, got, want)
					}
				}
			}
		}
	}
}

// Would catch a sum that is cut to 64 bits without notice, at either end and beside others that
// fit.
func TestNarrowSums(t *testing.T) {
	const most, least = 1<<63 - 1, 1 << 63
	for _, c := range []struct {
		sums []uint64
		fit  bool
	}{
		{nil, true},
		{[]uint64{0, 0, most, 0, least, math.MaxUint64, math.MaxUint64, math.MaxUint64}, true},
		{[]uint64{5, 0, least, 0, 7, 0}, false},
		{[]uint64{most, math.MaxUint64}, false},
		{[]uint64{0, 1, 0, 0}, false},
	} {
		words := make([]uint64, len(c.sums)/2)
		if got := narrowSums(words, c.sums); got != c.fit {
			t.Errorf("%#x fit: %v, want %v", c.sums, got, c.fit)
		}
		for i, w := range words {
			if c.fit && w != c.sums[2*i] {
				t.Errorf("sum %d of %#x is %#x", i, c.sums, w)
			}
		}
	}
	if narrowSums(make([]uint64, 1), make([]uint64, 3)) {
		t.Error("a sum of three words was narrowed")
	}
}
