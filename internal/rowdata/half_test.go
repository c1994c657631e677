package rowdata

import (
	"math"
	"testing"
)

// Every float16 has the value that its bits say, and comes back as it was: would catch numbers
// below 2^-14 that are lost.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		exponent, fraction := float64(h>>10&31), float64(h&1023)
		want := math.Ldexp(1+fraction/1024, int(exponent)-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = math.Copysign(want, -1)
		}
		got := float64(FromHalf(h))
		if math.IsNaN(want) {
			if !math.IsNaN(got) || !math.IsNaN(float64(FromHalf(ToHalf(float32(got))))) {
				t.Fatalf("%#04x is %v, and goes back to %#04x", h, got, ToHalf(float32(got)))
			}
			continue
		}
		if got != want || math.Signbit(got) != math.Signbit(want) || ToHalf(float32(got)) != h {
			t.Fatalf("%#04x is %v, and goes back to %#04x; want %v", h, got, ToHalf(float32(got)), want)
		}
	}
}

// What no float16 is goes to the nearest one.
func TestToHalf(t *testing.T) {
	for _, c := range []struct {
		f    float32
		want float32
	}{
		{1 + 1.0/2048, 1}, {1 + 3.0/2048, 1 + 2.0/1024}, {1 + 1.01/2048, 1 + 1.0/1024}, {2047.5, 2048}, {65519, 65504}, {65520, float32(math.Inf(1))},
		{-1e30, float32(math.Inf(-1))}, {1e-8, 0}, {3e-8, 1.0 / (1 << 24)}, {-2.5 / (1 << 24), -2.0 / (1 << 24)}, {1.0/(1<<14) - 1e-12, 1.0 / (1 << 14)},
	} {
		if got := FromHalf(ToHalf(c.f)); got != c.want {
			t.Errorf("%v goes to %v, want %v", c.f, got, c.want)
		}
	}
}
