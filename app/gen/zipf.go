package gen

import "math"

// zipf draws ranks k from 1 to n with probability in proportion to k^-s, by rejection-inversion:
// Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", ACM TOMACS 6(3), 1996. It needs no table and accepts most draws at once, also
// for s <= 1. The letters are the paper's: h(x) = x^-s, and H is an integral of h.
type zipf struct {
	n      float64
	s      float64
	low    float64 // H(1.5) - h(1): with it k = 1 gets its whole share
	high   float64 // H(n + 1/2)
	accept float64 // x this close below k is accepted without computing H
}

func newZipf(n uint64, s float64) *zipf {
	z := &zipf{n: float64(n), s: s}
	z.low = z.integral(1.5) - 1
	z.high = z.integral(z.n + 0.5)
	z.accept = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

func (z *zipf) draw(r *rng) uint64 {
	for {
		u := z.high + r.float()*(z.low-z.high)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.accept || u >= z.integral(k+0.5)-z.density(k) {
			return uint64(k)
		}
	}
}

// density is h.
func (z *zipf) density(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// integral is H(x) = (x^(1-s) - 1) / (1 - s), in a form that goes over into log x at s = 1.
func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	t := (1 - z.s) * log
	if math.Abs(t) < 1e-8 {
		return log * (1 + t/2)
	}
	return log * math.Expm1(t) / t
}

// inverse is the inverse of H.
func (z *zipf) inverse(u float64) float64 {
	t := max(u*(1-z.s), -1) // rounding may take it past the pole
	if math.Abs(t) < 1e-8 {
		return math.Exp(u * (1 - t/2))
	}
	return math.Exp(u * math.Log1p(t) / t)
}
