package expr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
)

// moreNumbers are functions of integers, and of the bits of doubles.
func moreNumbers() []Function {
	return []Function{
		operator("~ a", "~ a", "the other bits", "~5", "-6", 1, 1, ofBits(otherBits, complement)),
		function("bit_count", "n", "bits that are set", "bit_count(7)", "3",
			ofBits(countOfBits(onesOfBits), bitCount)),
		function("factorial", "n", "n!, up to 33", "factorial(5)", "120", factorial),
		function("binom", "n, k", "the sets of k among n", "binom(5, 2)", "10", binomial),
		function("gcd", "a, b", "greatest common divisor", "gcd(12, 18)", "6", ofIntegers(func(x, y *big.Int) *big.Int {
			return new(big.Int).GCD(nil, nil, x.Abs(x), y.Abs(y))
		}), "greatest_common_divisor"),
		function("lcm", "a, b", "least common multiple", "lcm(4, 6)", "12", ofIntegers(func(x, y *big.Int) *big.Int {
			divisor := new(big.Int).GCD(nil, nil, x.Abs(x), y.Abs(y))
			if divisor.Sign() == 0 {
				return divisor
			}
			return x.Mul(x.Quo(x, divisor), y)
		}), "least_common_multiple"),
		function("fdiv", "a, b", "quotient as a double, rounded down", "fdiv(-5, 2)", "-3.0",
			ofTwo(func(x, y float64) float64 { return math.Floor(x / y) })),
		function("fmod", "a, b", "remainder as a double, with the sign of b", "fmod(-5, 2)", "1.0",
			ofTwo(func(x, y float64) float64 { return x - y*math.Floor(x/y) })),
		function("round_even", "x, digits", "round, with halves to the even neighbour", "round_even(2.5, 0)", "2",
			rounded(roundEven, true), "roundbankers"),
		function("gamma", "x", "the gamma function", "gamma(5)", "24.0", real(gamma)),
		function("lgamma", "x", "the logarithm of its absolute value", "lgamma(1)", "0.0",
			real(logOfGamma)),
		function("nextafter", "x, y", "the next double after x in the direction of y", "nextafter(1, 2) > 1", "true",
			nextAfter),
		function("signbit", "x", "whether the sign of a double is set, as -0.0 has it", "signbit(-1)", "true",
			floatTest(signBit)),
	}
}

// bits is the width of an integer type.
func (t Type) bits() int { return t.Arrow().(arrow.FixedWidthDataType).BitWidth() }

// complement binds ~.
func complement(b *binder, n *node) {
	t := n.args[0].typ
	if t.ID == Null {
		t = typeOf(Int64)
	}
	if !t.integer() {
		b.mismatch(n)
	}
	n.typ = t
	b.castArgs(n, t)
	switch {
	case t.ID == Uint64:
		n.eval = map1(n, func(v wide) wide { return decimal128.FromU64(^v.LowBits()) })
	case t.ID == Huge:
		n.eval = map1(n, func(v wide) wide { return decimal128.New(^v.HighBits(), ^v.LowBits()) })
	case t.unsigned():
		_, high := bounds(t)
		n.eval = map1(n, func(v int64) int64 { return high - v })
	default:
		n.eval = map1(n, func(v int64) int64 { return ^v })
	}
}

// factorialMax is the greatest number whose factorial has 128 bits.
const factorialMax = 33

func factorial(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Huge), true
	b.want(n, Int64)
	n.eval = map1e(n, func(v int64) (wide, error) {
		if v < 0 || v > factorialMax {
			return wide{}, query.Valuef("%s: %d! is not there; want a number from 0 to %d", n.text, v, factorialMax)
		}
		product := int128(1)
		for i := int64(2); i <= v; i++ {
			product = product.Mul(int128(i))
		}
		return product, nil
	})
}

func binomial(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Huge), true
	b.want(n, Int64, Int64)
	n.eval = map2e(n, func(of, k int64) (wide, error) {
		switch {
		case of < 0 || k < 0:
			return wide{}, query.Valuef("%s: of a negative number; want numbers from 0 on", n.text)
		case k > of:
			return wide{}, nil
		}
		product := big.NewInt(1)
		for i := range min(k, of-k) {
			product.Mul(product, big.NewInt(of-i))
			if product.Quo(product, big.NewInt(i+1)); product.BitLen() > 127 {
				return wide{}, query.Valuef("%s: overflow: the sets of %d among %d do not fit HUGEINT", n.text, k, of)
			}
		}
		return decimal128.FromBigInt(product), nil
	})
}

// ofIntegers binds a function of two integers, of 64 bits or of 128.
func ofIntegers(fn func(x, y *big.Int) *big.Int) binding {
	return func(b *binder, n *node) {
		n.typ, n.fallible = typeOf(Int64), true
		for _, a := range n.args {
			if id := a.typ.ID; id == Huge || id == Uint64 {
				n.typ = typeOf(Huge)
			}
		}
		b.check(n, Int64, Int64)
		b.castArgs(n, typeOf(Huge))
		apply := func(x, y wide) (wide, error) {
			r := fn(x.BigInt(), y.BigInt())
			if r.BitLen() > 127 {
				return wide{}, query.Valuef("%s: overflow: %s does not fit %s", n.text, r, n.typ)
			}
			v := decimal128.FromBigInt(r)
			if n.typ.ID == Int64 && !fitsType(v, n.typ) {
				return wide{}, query.Valuef("%s: overflow: %s does not fit %s", n.text, r, n.typ)
			}
			return v, nil
		}
		if n.typ.ID == Huge {
			n.eval = map2e(n, apply)
			return
		}
		n.eval = map2e(n, func(x, y wide) (int64, error) {
			r, err := apply(x, y)
			return int64(r.LowBits()), err
		})
	}
}

var roundEven = rounding{math.RoundToEven, func(q, r, half wide) wide {
	size := r.Abs()
	if half.Less(size) || size == half && q.LowBits()&1 != 0 {
		q = q.Add(int128(int64(r.Sign())))
	}
	return q
}}

// gamma is C's, which has other values than Go's at the whole numbers below 0 and at -0.
func gamma(v float64) float64 {
	if v < 0 && v == math.Trunc(v) {
		return math.NaN()
	}
	return math.Gamma(v)
}

// logOfGamma is C's, which is infinite at both infinities.
func logOfGamma(v float64) float64 {
	r, _ := math.Lgamma(v)
	if math.IsInf(v, 0) {
		return math.Inf(1)
	}
	return r
}

// nextAfter binds nextafter of doubles, or of floats.
func nextAfter(b *binder, n *node) {
	n.typ = typeOf(Float64)
	b.check(n, Float64, Float64)
	if n.args[0].typ.ID == Float32 && (n.args[1].typ.ID == Float32 || n.args[1].intConstant()) {
		n.typ = typeOf(Float32)
		b.castArgs(n, n.typ)
		n.eval = map2e(n, func(x, y float64) (float64, error) {
			return float64(math.Nextafter32(float32(x), float32(y))), nil
		})
		return
	}
	b.castArgs(n, n.typ)
	n.eval = map2e(n, func(x, y float64) (float64, error) { return math.Nextafter(x, y), nil })
}

// signBit says whether a double is negative, or -0.
func signBit(v float64) bool { return math.Signbit(v) && !math.IsNaN(v) }
