package digits

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactly divides a two's complement integer by n and a power of ten.
func exactly(words []uint64, n uint64, scale int) *big.Rat {
	v := big.NewInt(int64(words[len(words)-1]))
	for i := len(words) - 2; i >= 0; i-- {
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(words[i]))
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	r := new(big.Rat).SetFrac(v, new(big.Int).SetUint64(n))
	if scale < 0 {
		return r.Mul(r, new(big.Rat).SetInt(power))
	}
	return r.Quo(r, new(big.Rat).SetInt(power))
}

// Would catch a quotient that is rounded twice, of any number of digits and places: of random
// integers, and of those next to the middle between two floats.
func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		words := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64()}[:1+rng.IntN(3)]
		last := len(words) - 1
		words[last] = uint64(int64(words[last]) >> rng.IntN(64))
		if rng.IntN(3) == 0 { // few bits, and one far behind
			words[last] = uint64(int64(rng.Uint64()>>uint(38+rng.IntN(3))) << rng.IntN(38))
			words[0] += uint64(rng.IntN(3)) - 1
		}
		scale, n := rng.IntN(40)-1, 1+rng.Uint64()>>rng.IntN(64)
		if n == 0 {
			n = math.MaxUint64
		}
		if want, _ := exactly(words, n, scale).Float64(); Mean(words, n, scale) != want {
			t.Fatalf("the mean of %x, %d of them, with %d places: %v, want %v", words, n, scale, Mean(words, n, scale), want)
		}
		if last > 1 {
			continue
		}
		high := uint64(int64(words[0]) >> 63)
		if last == 1 {
			high = words[1]
		}
		r := exactly(words, 1, scale)
		want, _ := r.Float64()
		single, _ := r.Float32()
		if got := Double128(words[0], high, scale); got != want {
			t.Fatalf("%x with %d places: %v, want %v", words, scale, got, want)
		}
		if got := Single128(words[0], high, scale); got != single {
			t.Fatalf("%x with %d places as a float32: %v, want %v", words, scale, got, single)
		}
	}
}

// Would catch a float that is not the one which the digits of a literal denote.
func TestNearestOfDigits(t *testing.T) {
	for _, c := range []struct {
		v      int64
		scale  int
		double float64
		single float32
	}{
		{9219130277633667, 16, 0.9219130277633667, 0.9219130277633667},
		{-9219130277633667, 16, -0.9219130277633667, -0.9219130277633667},
		{math.MinInt64, 0, -0x1p63, -0x1p63},
		{1, 38, 1e-38, 1e-38}, // a float32 of fewer bits
		{16777217, 0, 16777217, 16777216},
		{1000000059604644775, 18, 1.0000000596046448, 1},         // whose nearest double lies in the middle between two float32
		{1000000059604644776, 18, 1.0000000596046448, 1.0000001}, // and so does the nearest double of this number
		{0, 0, 0, 0}, {0, 38, 0, 0},
	} {
		if got := Double(c.v, c.scale); got != c.double {
			t.Errorf("%d with %d places: %v, want %v", c.v, c.scale, got, c.double)
		}
		if got := Single(c.v, c.scale); got != c.single {
			t.Errorf("%d with %d places as a float32: %v, want %v", c.v, c.scale, got, c.single)
		}
	}
}

func BenchmarkDouble(b *testing.B) {
	for name, v := range map[string][3]int{"few digits": {123456789, 2}, "18 digits": {123456789012345678, 4}} {
		b.Run(name, func(b *testing.B) {
			var sum float64
			for i := range b.N {
				sum += Double(int64(v[0]+i&7), v[1])
			}
			_ = sum
		})
	}
}
