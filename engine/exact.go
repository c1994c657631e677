package engine

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/mpga/mpga/engine/spec"
)

// Results of exact folds. Each is one quotient of integers, times a power of two, that is rounded
// once, to the nearest double, ties to even; of stddev, skewness and corr it is the square, and they
// are the root of what it is rounded to. So they depend on the values only. A sum of zeros of either
// sign is 0.

// exact finalizes an aggregate from a state of an exact fold.
func (s *finalStates) exact(i int) (v float64, ok bool) {
	state := s.state(i)
	switch f := s.out.Aggregate.Func; f {
	case spec.Sum:
		if s.counts != nil && s.counts[i] == 0 {
			return 0, false
		}
		return exactQuotient(state, 1), true
	case spec.Avg:
		if s.counts[i] == 0 {
			return 0, false
		}
		return exactQuotient(state, s.counts[i]), true
	case spec.VarSamp, spec.VarPop, spec.StddevSamp, spec.StddevPop:
		return exactVariance(f, state)
	case spec.Skewness, spec.Kurtosis:
		return exactShape(f, state)
	default:
		return exactComoment(f, state)
	}
}

// exactQuotient divides the sum of a FoldExactSum by n.
func exactQuotient(state []uint64, n uint64) float64 {
	switch state[0] & spec.ExactSpecial {
	case 0:
	case spec.ExactPlus:
		return math.Inf(1)
	case spec.ExactMinus:
		return math.Inf(-1)
	default:
		return math.NaN()
	}
	sum, exponent := spec.FoldExactSum.ExactSum(state, 0)
	var buf [40]uint64
	// Two more words give a quotient of at least 64 bits.
	quotient := buf[:len(sum)+2]
	negative := int64(sum[len(sum)-1]) < 0
	borrow := uint64(0)
	for i, w := range sum {
		if negative {
			w, borrow = bits.Sub64(0, w, borrow)
		}
		quotient[i+2] = w
	}
	var remainder uint64
	if n > 1 {
		for i := len(quotient) - 1; i >= 0; i-- {
			quotient[i], remainder = bits.Div64(remainder, quotient[i], n)
		}
	}
	v := roundWords(quotient, exponent-128, remainder != 0)
	if negative {
		return -v
	}
	return v
}

// roundWords returns the double nearest to an unsigned integer times 2^exponent, ties to even. more
// says that the number is a little larger than that; the integer then has at least 64 bits.
func roundWords(words []uint64, exponent int, more bool) float64 {
	top := len(words) - 1
	for top >= 0 && words[top] == 0 {
		top--
	}
	if top < 0 {
		return 0
	}
	// lead is the first 64 bits; more is whether any bit follows.
	shift := bits.LeadingZeros64(words[top])
	lead := words[top] << shift
	if top > 0 {
		lead |= words[top-1] >> 1 >> (63 - shift)
		more = more || words[top-1]<<shift != 0
	}
	for i := 0; i < top-1 && !more; i++ {
		more = words[i] != 0
	}
	exponent += 64*top - shift // of the last bit of lead

	keep := min(53, exponent+63+1075) // a subnormal has fewer bits
	if keep < 0 {
		return 0
	}
	kept, rest := lead>>(64-keep), lead<<keep
	if rest>>63 == 1 && (more || rest<<1 != 0 || kept&1 == 1) {
		kept++
	}
	return math.Ldexp(float64(kept), exponent+64-keep)
}

// ratio is a quotient of integers, times 2^exponent.
type ratio struct {
	num, den *big.Int
	exponent int
}

// float returns the number, exact but for a bit behind the 66th that says whether more follow.
func (r ratio) float() *big.Float {
	shift := max(0, 66+r.den.BitLen()-r.num.BitLen())
	num := new(big.Int).Lsh(r.num, uint(shift))
	quotient, remainder := num.QuoRem(num.Abs(num), r.den, new(big.Int))
	if remainder.Sign() != 0 {
		quotient.SetBit(quotient, 0, 1)
	}
	if r.num.Sign() < 0 {
		quotient.Neg(quotient)
	}
	v := new(big.Float).SetInt(quotient)
	return v.SetMantExp(v, r.exponent-shift)
}

// double rounds the number to the nearest double.
func (r ratio) double() float64 {
	v, _ := r.float().Float64()
	return v
}

// root returns the root of the absolute value, rounded to 53 bits of any exponent. Its sign is that
// of the number.
func (r ratio) root() float64 {
	var mantissa big.Float
	exponent := r.float().MantExp(&mantissa)
	m, _ := mantissa.Float64()
	if exponent&1 != 0 {
		m, exponent = 2*m, exponent-1
	}
	return math.Copysign(math.Ldexp(math.Sqrt(math.Abs(m)), exponent/2), m)
}

// powerSums are the exact sums of a group.
type powerSums struct {
	n     *big.Int
	sums  []*big.Int // by term
	units []int      // exponents, by term
}

// readSums returns the sums of a state that is not special, and their count.
func readSums(kind spec.FoldKind, state []uint64) powerSums {
	terms := len(kind.ExactTerms())
	s := powerSums{new(big.Int).SetUint64(exactCount(state)), make([]*big.Int, terms), make([]int, terms)}
	for i := range terms {
		words, unit := kind.ExactSum(state, i)
		s.sums[i], s.units[i] = bigOf(words), unit
	}
	return s
}

// exactCount returns the count of a state with moments.
func exactCount(state []uint64) uint64 { return state[len(state)-1] }

// product multiplies integers.
func product(factors ...*big.Int) *big.Int {
	p := new(big.Int).Set(factors[0])
	for _, f := range factors[1:] {
		p.Mul(p, f)
	}
	return p
}

// minus subtracts one integer from another.
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

// plus adds a small number to an integer.
func plus(a *big.Int, b int64) *big.Int { return new(big.Int).Add(a, big.NewInt(b)) }

func exactVariance(f spec.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	sample := f == spec.VarSamp || f == spec.StddevSamp
	switch {
	case n == 0 || n == 1 && sample:
		return 0, false
	case state[0]&spec.ExactSpecial != 0:
		return math.NaN(), true
	}
	s := readSums(spec.FoldExactMoments2, state)
	divisor := s.n
	if sample {
		divisor = plus(s.n, -1)
	}
	r := ratio{s.deviations(0, 0, 1), product(s.n, divisor), s.units[1]}
	if f == spec.VarSamp || f == spec.VarPop {
		return r.double(), true
	}
	return r.root(), true
}

// deviations returns n times the sum of the products of the deviations of a and b from their means,
// where ab is the term of their product.
func (s powerSums) deviations(a, b, ab int) *big.Int {
	return minus(product(s.n, s.sums[ab]), product(s.sums[a], s.sums[b]))
}

// exactShape finalizes skewness and kurtosis, as shape does.
func exactShape(f spec.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	switch {
	case n <= 2 || n == 3 && f == spec.Kurtosis:
		return 0, false
	case state[0]&spec.ExactSpecial != 0:
		return math.NaN(), true
	}
	s := readSums(spec.FoldExactMoments4, state)
	s1, s2, s3, s4 := s.sums[0], s.sums[1], s.sums[2], s.sums[3]
	// d2, d3, d4 are the moments about the mean, times n^2, n^3, n^4.
	d2 := s.deviations(0, 0, 1)
	if d2.Sign() == 0 {
		return math.NaN(), f == spec.Skewness
	}
	if f == spec.Skewness {
		d3 := minus(product(s.n, s.n, s3), product(big.NewInt(3), s.n, s1, s2))
		d3.Add(d3, product(big.NewInt(2), s1, s1, s1))
		n2 := plus(s.n, -2)
		square := ratio{product(s.n, plus(s.n, -1), d3, d3), product(n2, n2, d2, d2, d2), 0}
		return math.Copysign(square.root(), float64(d3.Sign())), true
	}
	d4 := minus(product(s.n, s.n, s.n, s4), product(big.NewInt(4), s.n, s.n, s1, s3))
	d4.Add(d4, product(big.NewInt(6), s.n, s1, s1, s2))
	d4.Sub(d4, product(big.NewInt(3), s1, s1, s1, s1))
	n1 := plus(s.n, -1)
	excess := minus(product(plus(s.n, 1), d4), product(big.NewInt(3), n1, d2, d2))
	return ratio{product(n1, excess), product(plus(s.n, -2), plus(s.n, -3), d2, d2), 0}.double(), true
}

// exactComoment finalizes correlation, covariance and regression, as comoment does.
func exactComoment(f spec.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	switch {
	case n == 0, n == 1 && (f == spec.CovarSamp || f == spec.RegrIntercept || f == spec.RegrR2):
		return 0, false
	case state[0]&spec.ExactSpecial != 0:
		return math.NaN(), true
	}
	s := readSums(spec.FoldExactComoments, state)
	const x, y, xx, yy, xy = 0, 1, 2, 3, 4
	dxx, dyy, dxy := s.deviations(x, x, xx), s.deviations(y, y, yy), s.deviations(x, y, xy)
	constantX, constantY := dxx.Sign() == 0, dyy.Sign() == 0
	switch f {
	case spec.CovarSamp:
		return ratio{dxy, product(s.n, plus(s.n, -1)), s.units[xy]}.double(), true
	case spec.CovarPop:
		return ratio{dxy, product(s.n, s.n), s.units[xy]}.double(), true
	case spec.Corr:
		if constantX || constantY {
			return math.NaN(), true
		}
		return math.Copysign(ratio{product(dxy, dxy), product(dxx, dyy), 0}.root(), float64(dxy.Sign())), true
	case spec.RegrSlope:
		if constantX {
			return math.NaN(), true
		}
		return ratio{dxy, dxx, s.units[y] - s.units[x]}.double(), true
	}
	switch {
	case constantX:
		return 0, false
	case f == spec.RegrIntercept:
		num := minus(product(s.sums[y], dxx), product(dxy, s.sums[x]))
		return ratio{num, product(s.n, dxx), s.units[y]}.double(), true
	case constantY:
		return 1, true
	}
	return ratio{product(dxy, dxy), product(dxx, dyy), 0}.double(), true
}
