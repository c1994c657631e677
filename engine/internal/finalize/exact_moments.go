package finalize

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
)

// integers computes with integers of any size, in memory that the next group uses again.
type integers struct {
	list []*big.Int
	used int    // how many of list belong to the current group
	raw  []byte // scratch of ofWords
}

// next returns an integer that the caller sets.
func (p *integers) next() *big.Int {
	if p.used == len(p.list) {
		p.list = append(p.list, new(big.Int))
	}
	p.used++
	return p.list[p.used-1]
}

func (p *integers) of(v int64) *big.Int { return p.next().SetInt64(v) }

// ofWords returns a two's complement number, the low word first.
func (p *integers) ofWords(words []uint64) *big.Int {
	sign := uint64(int64(words[len(words)-1]) >> 63)
	p.raw = p.raw[:0]
	for i := len(words) - 1; i >= 0; i-- {
		p.raw = binary.BigEndian.AppendUint64(p.raw, words[i]^sign)
	}
	v := p.next().SetBytes(p.raw)
	if sign != 0 {
		v.Not(v)
	}
	return v
}

func (p *integers) product(a, b *big.Int, more ...*big.Int) *big.Int {
	v := p.next().Mul(a, b)
	for _, c := range more {
		v = p.next().Mul(v, c)
	}
	return v
}

func (p *integers) minus(a, b *big.Int) *big.Int { return p.next().Sub(a, b) }
func (p *integers) plus(a, b *big.Int) *big.Int  { return p.next().Add(a, b) }

// quotient returns the first 64 bits of |num / den|, their exponent, and whether any bit follows; 0
// if num is 0. den is positive.
func (p *integers) quotient(num, den *big.Int) (lead uint64, exponent int, more bool) {
	size := p.next().Abs(num)
	if size.Sign() == 0 {
		return 0, 0, false
	}
	// A quotient of 65 or 66 bits.
	shift := 65 + den.BitLen() - size.BitLen()
	if shift >= 0 {
		size.Lsh(size, uint(shift))
	} else {
		more = size.TrailingZeroBits() < uint(-shift)
		size.Rsh(size, uint(-shift))
	}
	quotient, remainder := p.next().QuoRem(size, den, p.next())
	rest := uint(quotient.BitLen() - 64)
	more = more || remainder.Sign() != 0 || quotient.TrailingZeroBits() < rest
	return quotient.Rsh(quotient, rest).Uint64(), int(rest) - shift, more
}

// ratio returns num / den * 2^exponent, rounded.
func (p *integers) ratio(num, den *big.Int, exponent int) float64 {
	lead, e, more := p.quotient(num, den)
	return math.Copysign(digits.RoundLead(lead, e+exponent, more), float64(num.Sign()))
}

// root returns the root of the absolute value of num / den * 2^exponent, which is first rounded to
// 53 bits whatever its exponent. It has the sign of sign.
func (p *integers) root(num, den *big.Int, exponent, sign int) float64 {
	lead, e, more := p.quotient(num, den)
	if lead == 0 {
		return 0
	}
	e += exponent + 63
	odd := e & 1
	return math.Copysign(math.Ldexp(math.Sqrt(digits.RoundLead(lead, odd-63, more)), (e-odd)/2), float64(sign))
}

// powerSums are the exact sums of a group.
type powerSums struct {
	n     *big.Int
	sums  [5]*big.Int // by term
	units [5]int      // exponents, by term
}

// read returns the sums of a state that is not special. It forgets all earlier integers.
func (p *integers) read(kind rowdata.FoldKind, state []uint64) (s powerSums) {
	p.used = 0
	s.n = p.next().SetUint64(exactCount(state))
	for i := range kind.ExactTerms() {
		words, unit := kind.ExactSum(state, i)
		s.sums[i], s.units[i] = p.ofWords(words), unit
	}
	return s
}

// exactCount returns the count of a state with moments.
func exactCount(state []uint64) uint64 { return state[len(state)-1] }

// deviations returns n times the sum of the products of the deviations of a and b from their means,
// where ab is the term of their product.
func (p *integers) deviations(s *powerSums, a, b, ab int) *big.Int {
	return p.minus(p.product(s.n, s.sums[ab]), p.product(s.sums[a], s.sums[b]))
}

// variance finalizes var_* and stddev_* from a FoldExactMoments2.
func (p *integers) variance(f query.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	sample := f == query.VarSamp || f == query.StddevSamp
	switch {
	case n == 0 || n == 1 && sample:
		return 0, false
	case state[0]&rowdata.ExactSpecial != 0:
		return math.NaN(), true
	}
	s := p.read(rowdata.FoldExactMoments2, state)
	divisor := s.n
	if sample {
		divisor = p.minus(s.n, p.of(1))
	}
	num, den := p.deviations(&s, 0, 0, 1), p.product(s.n, divisor)
	if f == query.VarSamp || f == query.VarPop {
		return p.ratio(num, den, s.units[1]), true
	}
	return p.root(num, den, s.units[1], 1), true
}

// shape finalizes skewness and kurtosis from a FoldExactMoments4, by the formulas of shape.
func (p *integers) shape(f query.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	switch {
	case n <= 2 || n == 3 && f == query.Kurtosis:
		return 0, false
	case state[0]&rowdata.ExactSpecial != 0:
		return math.NaN(), true
	}
	s := p.read(rowdata.FoldExactMoments4, state)
	s1, s2, s3, s4 := s.sums[0], s.sums[1], s.sums[2], s.sums[3]
	n1, n2, n3 := p.minus(s.n, p.of(1)), p.minus(s.n, p.of(2)), p.minus(s.n, p.of(3))
	// d2, d3, d4 are the moments about the mean, times n^2, n^3, n^4. In both results the unit
	// cancels.
	d2 := p.deviations(&s, 0, 0, 1)
	if d2.Sign() == 0 {
		return 0, false
	}
	s11 := p.product(s1, s1)
	if f == query.Skewness {
		d3 := p.minus(p.product(s.n, s.n, s3), p.product(p.of(3), s.n, s1, s2))
		d3 = p.plus(d3, p.product(p.of(2), s11, s1))
		return p.root(p.product(s.n, n1, d3, d3), p.product(n2, n2, d2, d2, d2), 0, d3.Sign()), true
	}
	d4 := p.minus(p.product(s.n, s.n, s.n, s4), p.product(p.of(4), s.n, s.n, s1, s3))
	d4 = p.plus(d4, p.product(p.of(6), s.n, s11, s2))
	d4 = p.minus(d4, p.product(p.of(3), s11, s11))
	d22 := p.product(d2, d2)
	excess := p.minus(p.product(p.plus(s.n, p.of(1)), d4), p.product(p.of(3), n1, d22))
	return p.ratio(p.product(n1, excess), p.product(n2, n3, d22), 0), true
}

// comoment finalizes correlation, covariance and regression from a FoldExactComoments.
func (p *integers) comoment(f query.Func, state []uint64) (v float64, ok bool) {
	n := exactCount(state)
	switch {
	case n == 0, n == 1 && (f == query.CovarSamp || f == query.RegrIntercept || f == query.RegrR2):
		return 0, false
	case state[0]&rowdata.ExactSpecial != 0:
		return math.NaN(), true
	case n == 1 && (f == query.Corr || f == query.RegrSlope):
		return math.NaN(), true // as of a constant x
	}
	const x, y, xx, yy, xy = 0, 1, 2, 3, 4
	s := p.read(rowdata.FoldExactComoments, state)
	dxy := p.deviations(&s, x, y, xy)
	switch f {
	case query.CovarSamp:
		return p.ratio(dxy, p.product(s.n, p.minus(s.n, p.of(1))), s.units[xy]), true
	case query.CovarPop:
		return p.ratio(dxy, p.product(s.n, s.n), s.units[xy]), true
	}
	dxx, dyy := p.deviations(&s, x, x, xx), p.deviations(&s, y, y, yy)
	constantX, constantY := dxx.Sign() == 0, dyy.Sign() == 0
	switch {
	case constantX:
		return math.NaN(), f == query.Corr || f == query.RegrSlope
	case f == query.RegrSlope:
		return p.ratio(dxy, dxx, s.units[y]-s.units[x]), true
	case f == query.RegrIntercept:
		num := p.minus(p.product(s.sums[y], dxx), p.product(dxy, s.sums[x]))
		return p.ratio(num, p.product(s.n, dxx), s.units[y]), true
	case constantY && f == query.Corr:
		return math.NaN(), true
	case constantY:
		return 1, true
	case f == query.Corr:
		return p.root(p.product(dxy, dxy), p.product(dxx, dyy), 0, dxy.Sign()), true
	}
	return p.ratio(p.product(dxy, dxy), p.product(dxx, dyy), 0), true
}
