package grouptest

import (
	"math"
	"math/big"

	"github.com/mpga/mpga/engine/query"
)

// This file computes what a deterministic query promises to the bit: sums, means and moments of
// floating-point values.

func exactSum(f query.Func, xs []any) float64 {
	special := 0.0
	sum := new(big.Rat)
	for _, x := range xs {
		if v := x.(float64); finite(v) {
			sum.Add(sum, new(big.Rat).SetFloat64(v))
		} else {
			special += v
		}
	}
	if special != 0 {
		return special
	}
	if f == query.Avg {
		sum.Quo(sum, big.NewRat(int64(len(xs)), 1))
	}
	v, _ := sum.Float64()
	return v
}

// lattice holds n finite numbers as multiples of 2^unit.
type lattice struct {
	sum  *big.Int   // of the multiples
	devs []*big.Int // by number, n times the deviation of its multiple from the mean multiple
	unit int        // exponent of two
}

func newLattice(values []float64) lattice {
	l := lattice{sum: new(big.Int), unit: 1024}
	for _, v := range values {
		if f := big.NewFloat(v); f.Sign() != 0 {
			l.unit = min(l.unit, f.MantExp(nil)-int(f.MinPrec()))
		}
	}
	n := big.NewInt(int64(len(values)))
	for _, v := range values {
		f := big.NewFloat(v)
		x, _ := f.SetMantExp(f, -l.unit).Int(nil)
		l.sum.Add(l.sum, x)
		l.devs = append(l.devs, x.Mul(x, n))
	}
	for _, d := range l.devs {
		d.Sub(d, l.sum)
	}
	return l
}

// power returns the sum, over all rows, of the deviation of l to the power p times the deviation of
// m to the power q.
func (l lattice) power(p int, m lattice, q int) *big.Rat {
	sum := new(big.Int)
	for i := range l.devs {
		product := big.NewInt(1)
		for range p {
			product.Mul(product, l.devs[i])
		}
		for range q {
			product.Mul(product, m.devs[i])
		}
		sum.Add(sum, product)
	}
	n := big.NewInt(int64(len(l.devs)))
	den := n.Exp(n, big.NewInt(int64(p+q)), nil)
	return scaled(new(big.Rat).SetFrac(sum, den), p*l.unit+q*m.unit)
}

// scaled multiplies by 2^exponent.
func scaled(r *big.Rat, exponent int) *big.Rat {
	factor := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(exponent, -exponent))))
	if exponent < 0 {
		return r.Quo(r, factor)
	}
	return r.Mul(r, factor)
}

func (l lattice) mean() *big.Rat {
	return scaled(new(big.Rat).SetFrac(l.sum, big.NewInt(int64(len(l.devs)))), l.unit)
}

// exactMoment computes a function of x, or of (y, x).
func exactMoment(f query.Func, y, x lattice) any {
	n := int64(len(x.devs))
	rat := func(a, b int64) *big.Rat { return big.NewRat(a, b) }
	mul := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
	quo := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
	rounded := func(r *big.Rat) any {
		v, _ := r.Float64()
		return v
	}
	xx := x.power(2, x, 0)
	switch f {
	case query.VarSamp:
		return rounded(quo(xx, rat(n-1, 1)))
	case query.VarPop:
		return rounded(quo(xx, rat(n, 1)))
	case query.StddevSamp:
		return rootOf(quo(xx, rat(n-1, 1)), 1)
	case query.StddevPop:
		return rootOf(quo(xx, rat(n, 1)), 1)
	case query.Skewness:
		if xx.Sign() == 0 {
			return math.NaN()
		}
		m2, m3 := quo(xx, rat(n, 1)), quo(x.power(3, x, 0), rat(n, 1))
		square := quo(mul(m3, m3), mul(m2, mul(m2, m2)))
		return rootOf(mul(square, quo(mul(rat(n, 1), rat(n-1, 1)), mul(rat(n-2, 1), rat(n-2, 1)))), m3.Sign())
	case query.Kurtosis:
		if xx.Sign() == 0 {
			return nil
		}
		m2, m4 := quo(xx, rat(n, 1)), quo(x.power(4, x, 0), rat(n, 1))
		excess := mul(rat(n+1, 1), quo(m4, mul(m2, m2)))
		excess.Sub(excess, rat(3*(n-1), 1))
		return rounded(mul(excess, quo(rat(n-1, 1), mul(rat(n-2, 1), rat(n-3, 1)))))
	}
	yy, xy := y.power(2, y, 0), y.power(1, x, 1)
	switch f {
	case query.CovarSamp:
		return rounded(quo(xy, rat(n-1, 1)))
	case query.CovarPop:
		return rounded(quo(xy, rat(n, 1)))
	}
	switch {
	case xx.Sign() == 0 && (f == query.RegrIntercept || f == query.RegrR2):
		return nil
	case xx.Sign() == 0, yy.Sign() == 0 && f == query.Corr:
		return math.NaN()
	case f == query.RegrSlope:
		return rounded(quo(xy, xx))
	case f == query.RegrIntercept:
		return rounded(new(big.Rat).Sub(y.mean(), mul(quo(xy, xx), x.mean())))
	case yy.Sign() == 0:
		return 1.0
	}
	square := quo(mul(xy, xy), mul(xx, yy))
	if f == query.Corr {
		return rootOf(square, xy.Sign())
	}
	return rounded(square)
}

// rootOf returns the square root of r with a sign. It takes the root of r rounded to 200 bits, and
// so may be off by one in the last place.
func rootOf(r *big.Rat, sign int) any {
	const precision = 200
	root := new(big.Float).SetPrec(precision).SetRat(r)
	v, _ := root.Sqrt(root).Float64()
	ulp := math.Nextafter(v, math.Inf(1)) - v
	return Approx{Value: math.Copysign(v, float64(sign)), Tolerance: ulp}
}
