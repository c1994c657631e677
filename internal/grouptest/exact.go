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
	xx := x.power(2, x, 0)
	yy, xy := xx, xx
	if f.Args() == 2 {
		yy, xy = y.power(2, y, 0), y.power(1, x, 1)
	}
	switch constant := xx.Sign() == 0; {
	case constant && (f == query.Skewness || f == query.Kurtosis || f == query.RegrIntercept || f == query.RegrR2):
		return nil
	case constant && f == query.RegrSlope, f == query.Corr && (constant || yy.Sign() == 0):
		return math.NaN()
	case yy.Sign() == 0 && f == query.RegrR2:
		return 1.0
	}
	n := int64(len(x.devs))
	mul := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
	quo := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
	per := func(a *big.Rat, count int64) *big.Rat { return quo(a, big.NewRat(count, 1)) }
	var result *big.Rat
	switch f {
	case query.VarSamp, query.CovarSamp:
		result = per(xy, n-1)
	case query.VarPop, query.CovarPop:
		result = per(xy, n)
	case query.StddevSamp:
		return rootOf(per(xx, n-1), 1)
	case query.StddevPop:
		return rootOf(per(xx, n), 1)
	case query.Skewness:
		m2, m3 := per(xx, n), per(x.power(3, x, 0), n)
		square := quo(mul(m3, m3), mul(m2, mul(m2, m2)))
		return rootOf(mul(square, big.NewRat(n*(n-1), (n-2)*(n-2))), m3.Sign())
	case query.Kurtosis:
		m2, m4 := per(xx, n), per(x.power(4, x, 0), n)
		excess := mul(big.NewRat(n+1, 1), quo(m4, mul(m2, m2)))
		excess.Sub(excess, big.NewRat(3*(n-1), 1))
		result = mul(excess, big.NewRat(n-1, (n-2)*(n-3)))
	case query.RegrSlope:
		result = quo(xy, xx)
	case query.RegrIntercept:
		result = new(big.Rat).Sub(y.mean(), mul(quo(xy, xx), x.mean()))
	case query.Corr:
		return rootOf(quo(mul(xy, xy), mul(xx, yy)), xy.Sign())
	case query.RegrR2:
		result = quo(mul(xy, xy), mul(xx, yy))
	}
	v, _ := result.Float64()
	return v
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
