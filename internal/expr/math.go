package expr

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/timeformat"
)

// real binds a function of a double, which is NaN where the function is not defined.
func real(fn func(float64) float64) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Float64)
		n.eval = map1(n, fn)
		b.want(n, Float64)
	}
}

// logarithm returns a function that takes numbers below the least normal double, too: math.Log on amd64
// is wrong there.
func logarithm(fn func(float64) float64) func(float64) float64 {
	const leastNormal, up = 0x1p-1022, 0x1p60
	return func(v float64) float64 {
		if v > 0 && v < leastNormal {
			return fn(v*up) - fn(up)
		}
		return fn(v)
	}
}

func infinite(v float64) bool { return math.IsInf(v, 0) }

// ofTwo binds a function of two doubles.
func ofTwo(fn func(x, y float64) float64) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Float64)
		n.eval = map2e(n, func(x, y float64) (float64, error) { return fn(x, y), nil })
		b.want(n, Float64, Float64)
	}
}

func cotangent(v float64) float64 { return 1 / math.Tan(v) }

// evenNumber returns the next even number away from 0.
func evenNumber(v float64) float64 { return math.Copysign(2*math.Ceil(math.Abs(v)/2), v) }

// logTo binds log: of one argument to the base 10.
func logTo(b *binder, n *node) {
	if len(n.args) == 1 {
		real(logarithm(math.Log10))(b, n)
		return
	}
	ln := logarithm(math.Log)
	ofTwo(func(base, x float64) float64 { return ln(x) / ln(base) })(b, n)
}

// nameOfType binds typeof and pg_typeof.
func nameOfType(write func(string) string) binding {
	return func(_ *binder, n *node) {
		n.typ, n.isConst, n.value = typeOf(Text), true, write(n.args[0].nameOfType())
	}
}

func pi(_ *binder, n *node) { n.typ, n.isConst, n.value = typeOf(Float64), true, math.Pi }

// sign binds sign: -1, 0 or 1.
func sign(b *binder, n *node) {
	n.typ = typeOf(Int8)
	b.check(n, Float64)
	if !n.args[0].typ.numeric() { // NULL, or a string that stands for a number
		b.castArgs(n, typeOf(Float64))
	}
	switch n.args[0].typ.kind() {
	case floatKind:
		n.eval = map1(n, func(v float64) int64 {
			switch {
			case v > 0:
				return 1
			case v < 0:
				return -1
			}
			return 0
		})
	case wideKind:
		n.eval = map1(n, func(v wide) int64 { return int64(v.Sign()) })
	default:
		n.eval = map1(n, func(v int64) int64 { return v>>63 | int64(uint64(-v)>>63) })
	}
}

// rounding is a way to round numbers.
type rounding struct {
	float   func(float64) float64
	decimal func(q, r, half wide) wide // of the quotient by a power of ten, the remainder, and half of the power
}

var (
	roundHalf = rounding{math.Round, func(q, r, half wide) wide {
		if !r.Abs().Less(half) {
			q = q.Add(int128(int64(r.Sign())))
		}
		return q
	}}
	roundDown = rounding{math.Floor, func(q, r, _ wide) wide {
		if r.Sign() < 0 {
			q = q.Sub(int128(1))
		}
		return q
	}}
	roundUp = rounding{math.Ceil, func(q, r, _ wide) wide {
		if r.Sign() > 0 {
			q = q.Add(int128(1))
		}
		return q
	}}
	roundToZero = rounding{math.Trunc, func(q, _, _ wide) wide { return q }}
)

// round binds round. Unsigned integers, which may be rounded past their type, become signed ones.
func round(b *binder, n *node) {
	if t := n.args[0].typ; t.unsigned() {
		b.castArg(n, 0, integerResult(t, typeOf(Int8)))
	}
	rounded(roundHalf, true)(b, n)
}

// rounded binds round, floor, ceil and trunc. Decimals become decimals without a fraction, other
// numbers doubles; round and trunc leave integers as they are.
func rounded(how rounding, keepsIntegers bool) binding {
	return func(b *binder, n *node) {
		t := n.args[0].typ
		b.check(n, Float64, Float64)
		switch {
		case len(n.args) == 2:
			b.roundTo(n, how)
			return
		case t.ID == Decimal:
			roundDecimal(n, how, 0)
			return
		case t.integer() && keepsIntegers:
			n.typ, n.eval = t, sameValues(n)
			return
		case t.ID == Float32:
			n.typ = t
		default:
			n.typ = typeOf(Float64)
		}
		n.eval = map1(n, how.float)
		b.castArgs(n, n.typ)
	}
}

// roundTo binds round(x, digits).
func (b *binder) roundTo(n *node, how rounding) {
	digits, ok := n.args[1].value.(int64)
	if isNull(n.args[1]) {
		n.typ, n.isConst = n.args[0].typ, true
		return
	}
	if !ok {
		b.fail(n.args[1].at, "%s: the number of digits is an integer constant", n.text)
	}
	digits = max(min(digits, 400), -400)
	t := n.args[0].typ
	n.args = n.args[:1]
	switch {
	case t.ID == Decimal:
		roundDecimal(n, how, int(min(digits, int64(t.Scale))))
		return
	case t.kind() == wideKind:
		roundDecimal(n, how, int(min(digits, 0)))
		n.typ = t
		return
	case t.integer():
		n.typ = t
		roundInteger(n, how, int(digits))
		return
	case t.ID == Float32:
		n.typ = t
	default:
		n.typ = typeOf(Float64)
	}
	factor := math.Pow10(int(max(digits, -digits)))
	n.eval = map1(n, func(v float64) float64 {
		r := 0.0
		if digits >= 0 {
			r = how.float(v*factor) / factor
		} else {
			r = how.float(v/factor) * factor
		}
		switch {
		case isFinite(r):
			return r
		case digits < 0 && isFinite(v):
			return 0
		}
		return v
	})
	b.castArgs(n, n.typ)
}

// roundDecimal rounds to digits after the decimal point, or, if negative, to digits before it.
func roundDecimal(n *node, how rounding, digits int) {
	from := n.args[0].typ
	scale := max(digits, 0)
	n.typ = decimalOf(int(from.asDecimal().Precision), scale)
	to := n.typ
	cut := int(from.Scale) - digits // digits that are cut off
	restore := scale - digits       // zeros that take the place of digits before the decimal point
	one := func(v wide) (wide, error) {
		if cut <= 0 {
			return v, nil
		}
		if cut > digitsMax {
			return wide{}, nil
		}
		q, r := v.Div(decimal128.GetScaleMultiplier(cut))
		q = how.decimal(q, r, decimal128.GetHalfScaleMultiplier(cut))
		q, ok := scaleUp(q, restore)
		if !ok || !fits(q, int(to.Precision)) {
			return q, query.Valuef("%s: overflow: %s rounded does not fit %s", n.text, v.ToString(int32(from.Scale)), to)
		}
		return q, nil
	}
	n.fallible = cut > 0
	if from.kind() == wideKind {
		n.eval = map1e(n, one)
		return
	}
	n.eval = map1e(n, func(v int64) (int64, error) {
		r, err := one(int128(v))
		return int64(r.LowBits()), err
	})
}

// roundInteger rounds to tens, hundreds and so on.
func roundInteger(n *node, how rounding, digits int) {
	switch {
	case digits >= 0:
		n.eval = sameValues(n)
		return
	case -digits > digitsInt64:
		n.fallible = true
		n.eval = map1(n, func(int64) int64 { return 0 })
		return
	}
	low, high := bounds(n.typ)
	unit, half := decimal128.GetScaleMultiplier(-digits), decimal128.GetHalfScaleMultiplier(-digits)
	n.fallible = true
	n.eval = map1e(n, func(v int64) (int64, error) {
		q, r := int128(v).Div(unit)
		q = how.decimal(q, r, half).Mul(unit)
		if q.Less(int128(low)) || q.Greater(int128(high)) {
			return 0, query.Valuef("%s: overflow: %d rounded does not fit %s", n.text, v, n.typ)
		}
		return int64(q.LowBits()), nil
	})
}

// floatTest binds isnan, isinf and isfinite.
func floatTest(fn func(float64) bool) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Bool)
		if t := n.args[0].typ; t.temporal() && !fn(math.NaN()) { // isnan is not of times
			isInfinite := fn(math.Inf(1))
			n.eval = test1(n, func(a int64) bool { return (timeformat.InfinitySign(a, infiniteOf(t)) != 0) == isInfinite })
			return
		}
		n.eval = test1(n, fn)
		b.want(n, Float64)
	}
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// hashOf binds hash: 64 bits of all arguments, the same for equal values of any width, anywhere.
func hashOf(b *binder, n *node) {
	n.typ = typeOf(Uint64)
	for i, a := range n.args {
		if a.typ.ID == Null {
			b.castArg(n, i, typeOf(Int32))
		}
	}
	n.eval = func(f *frame) (*vector, error) {
		out := f.e.vector(wideKind, f.n)
		hashes := f.e.ints.get(f.n)
		clear(hashes)
		for _, a := range n.args {
			v, err := f.eval(a)
			if err != nil {
				return nil, err
			}
			for i := range hashes {
				hashes[i] = int64(mix(uint64(hashes[i])*hashStep + v.hash(a.typ, i)))
			}
		}
		for i, h := range hashes {
			out.wides[i] = decimal128.FromU64(uint64(h))
		}
		return out, nil
	}
}

const (
	hashStep = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
	hashNull = 0xBF58476D1CE4E5B9
)

// mix is MurmurHash3's finaliser.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xFF51AFD7ED558CCD
	h ^= h >> 33
	h *= 0xC4CEB9FE1A85EC53
	return h ^ h>>33
}

// hash returns the hash of a row's value.
func (v *vector) hash(t Type, i int) uint64 {
	if v.isNull(i) {
		return hashNull
	}
	switch t.kind() {
	case bitKind:
		return mix(bitOf(v.bit(i)))
	case intKind:
		return mix(uint64(v.ints[i]))
	case floatKind:
		return mix(uint64(orderFloat(v.floats[i])))
	case wideKind:
		w := v.wides[i]
		if w.HighBits() == int64(w.LowBits())>>63 {
			return mix(w.LowBits())
		}
		return mix(w.LowBits() ^ bits.RotateLeft64(uint64(w.HighBits()), 32))
	}
	return hashText(v.texts[i])
}

// hashText mixes in eight bytes at a time, and the rest byte by byte, as FNV-1a does.
func hashText(s string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = mix(h ^ w)
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001B3
	}
	return mix(h + uint64(len(s)))
}
