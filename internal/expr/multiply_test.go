package expr

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// Would catch products, sizes and bounds that vectors see otherwise than one row does.
func TestMultiplyWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 7, 8, 9, 24, 31, vectorRows} {
		for width := range 64 {
			a, b := make([]int64, n), make([]int64, n)
			for i := range a {
				a[i], b[i] = int64(rng.Uint64())>>width, int64(rng.Uint64())>>(63-width)
			}
			for _, high := range []int64{math.MaxInt64, pow10(18) - 1, 1 << 40, 9} {
				low := -high
				if high == math.MaxInt64 {
					low = math.MinInt64
				}
				out, want := make([]int64, n), make([]int64, n)
				sizes, outside := multiplyWords(out, a, b, low, high)
				wantSizes, wantOutside := multiplyEach(want, a, b, low, high)
				if !slices.Equal(out, want) || sizes != wantSizes || (outside < 0) != (wantOutside < 0) {
					t.Fatalf("%d rows, high %d: sizes %x and outside %d, want %x and %d", n, high, sizes, outside, wantSizes, wantOutside)
				}
				for i := range want {
					if want[i] != a[i]*b[i] {
						t.Fatalf("%d * %d is %d", a[i], b[i], want[i])
					}
				}
			}
		}
	}
}

// Would catch a product that passes 64 bits by the least there is: the factors are powers of two and their neighbours.
func TestMultiplyEdges(t *testing.T) {
	var factors []int64
	for i := range 63 {
		for _, d := range []int64{-1, 0, 1} {
			factors = append(factors, 1<<i+d, -1<<i+d)
		}
	}
	factors = append(factors, math.MinInt64, math.MinInt64+1, math.MaxInt64)
	out := make([]int64, 1)
	for _, a := range factors {
		for _, b := range factors {
			exact := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			suspect := mulAll(out, []int64{a}, []int64{b}, math.MinInt64, math.MaxInt64)
			if !suspect && (!exact.IsInt64() || exact.Int64() != out[0]) {
				t.Errorf("%d * %d is %d, and nobody suspects it", a, b, out[0])
			}
		}
	}
}

// BenchmarkMultiply multiplies a vector of decimals.
func BenchmarkMultiply(b *testing.B) {
	out, x := make([]int64, vectorRows), make([]int64, vectorRows)
	for i := range x {
		x[i] = int64(i)
	}
	for name, f := range map[string]func(out, a, b []int64, low, high int64) ([2]uint64, int64){"words": multiplyWords, "each": multiplyEach} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(out, x, x, 1-pow10(18), pow10(18)-1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vectorRows, "ns/row")
		})
	}
}
