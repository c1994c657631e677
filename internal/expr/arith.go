package expr

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
)

// bounds returns the least and the largest integer of a type that is held as int64.
func bounds(t Type) (low, high int64) {
	switch t.ID {
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Int32, Date:
		return math.MinInt32, math.MaxInt32
	case Uint8:
		return 0, math.MaxUint8
	case Uint16:
		return 0, math.MaxUint16
	case Uint32:
		return 0, math.MaxUint32
	case Decimal:
		most := pow10(int(t.Precision)) - 1
		return -most, most
	}
	return math.MinInt64, math.MaxInt64
}

// wideFits says whether a number is of a type that is held in 128 bits.
func wideFits(v wide, t Type) bool {
	switch t.ID {
	case Uint64:
		return v.HighBits() == 0
	case Decimal:
		return fits(v, int(t.Precision))
	}
	return true
}

// intOperator is an operator on integers, and on decimals as integers: for all rows at once, with
// results that may be wrong, and for a single row, exactly.
type intOperator struct {
	sign string
	// all computes every row. It returns whether some result may be wrong, or outside the type.
	all func(out, a, b []int64, low, high int64) (suspect bool)
	one func(a, b wide) (wide, bool)
}

var (
	addition       = intOperator{"+", addAll, addWide}
	subtraction    = intOperator{"-", subAll, subWide}
	multiplication = intOperator{"*", mulAll, mulWide}
)

func addAll(out, a, b []int64, low, high int64) bool {
	a, b = a[:len(out)], b[:len(out)]
	var wraps, outside int64
	for i := range out {
		s := a[i] + b[i]
		out[i] = s
		wraps |= (a[i] ^ s) & (b[i] ^ s)
		outside |= (s - low) | (high - s)
	}
	return wraps < 0 || low != math.MinInt64 && outside < 0
}

func subAll(out, a, b []int64, low, high int64) bool {
	a, b = a[:len(out)], b[:len(out)]
	var wraps, outside int64
	for i := range out {
		s := a[i] - b[i]
		out[i] = s
		wraps |= (a[i] ^ b[i]) & (a[i] ^ s)
		outside |= (s - low) | (high - s)
	}
	return wraps < 0 || low != math.MinInt64 && outside < 0
}

func mulAll(out, a, b []int64, low, high int64) bool {
	sizes, outside := multiplyWords(out, a, b, low, high)
	safe := bits.Len64(sizes[0])+bits.Len64(sizes[1]) < 63 // no product passes 64 bits: of 63, -2^i * -2^j does
	return !safe || low != math.MinInt64 && outside < 0
}

// multiplyEach multiplies row by row. sizes have the bits of all numbers of a and of b, negative
// ones flipped; outside is negative if a product, of 64 bits, is not from low to high.
func multiplyEach(out, a, b []int64, low, high int64) (sizes [2]uint64, outside int64) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		p := a[i] * b[i]
		out[i] = p
		outside |= (p - low) | (high - p)
	}
	var ofA, ofB int64
	for i, x := range a { // a single loop has too few registers
		ofA |= x ^ x>>63
		ofB |= b[i] ^ b[i]>>63
	}
	return [2]uint64{uint64(ofA), uint64(ofB)}, outside
}

// intArithmetic makes the kernel of an operator whose arguments are held as its result is.
func intArithmetic(op intOperator, n *node) kernel {
	if n.typ.kind() == wideKind {
		return wideArithmetic(op, n)
	}
	low, high := bounds(n.typ)
	return binary(n, intKind, func(_ *frame, a, b, out *vector) error {
		if !op.all(out.ints, a.ints, b.ints, low, high) {
			return nil
		}
		for i := range out.ints {
			if out.isNull(i) {
				continue
			}
			x, y := int128(a.ints[i]), int128(b.ints[i])
			r, ok := op.one(x, y)
			if !ok || r.Less(int128(low)) || r.Greater(int128(high)) {
				return overflow(n, op.sign, x, y)
			}
		}
		return nil
	})
}

func wideArithmetic(op intOperator, n *node) kernel {
	return binary(n, wideKind, func(_ *frame, a, b, out *vector) error {
		left, right := n.args[0].typ.kind(), n.args[1].typ.kind()
		for i := range out.wides {
			if out.isNull(i) {
				continue
			}
			x, y := a.wide(i, left), b.wide(i, right)
			r, ok := op.one(x, y)
			if !ok || !wideFits(r, n.typ) {
				return overflow(n, op.sign, x, y)
			}
			out.wides[i] = r
		}
		return nil
	})
}

// wide returns a number that is held as int64 or in 128 bits.
func (v *vector) wide(i int, k kind) wide {
	if k == wideKind {
		return v.wides[i]
	}
	return int128(v.ints[i])
}

func overflow(n *node, sign string, a, b wide) error {
	scale := func(i int) int { return int(n.args[i].typ.Scale) }
	return query.Valuef("%s: overflow: %s %s %s does not fit %s; cast an operand to a wider type",
		n.text, a.ToString(int32(scale(0))), sign, b.ToString(int32(scale(1))), n.typ)
}

// floatArithmetic makes the kernel of an operator on doubles; FLOAT results are rounded to FLOAT.
func floatArithmetic(op string, n *node) kernel {
	return binary(n, floatKind, func(f *frame, a, b, out *vector) error {
		x, y, z := a.floats[:f.n], b.floats[:f.n], out.floats[:f.n]
		switch op {
		case "+":
			for i := range z {
				z[i] = x[i] + y[i]
			}
		case "-":
			for i := range z {
				z[i] = x[i] - y[i]
			}
		case "*":
			for i := range z {
				z[i] = x[i] * y[i]
			}
		case "/":
			for i := range z {
				z[i] = x[i] / y[i]
			}
		case "%":
			for i := range z {
				z[i] = math.Mod(x[i], y[i])
			}
		}
		if n.typ.ID == Float32 {
			for i := range z {
				z[i] = float64(float32(z[i]))
			}
		}
		return nil
	})
}

// operands returns the types of two operands; the constant NULL is of the other's type.
func (n *node) operands() (x, y Type) {
	x, y = n.args[0].typ, n.args[1].typ
	switch {
	case x.ID == Null:
		return y, y
	case y.ID == Null:
		return x, x
	}
	return x, y
}

// plus binds the sign + and the operator.
func plus(b *binder, n *node) {
	if len(n.args) == 2 {
		arithmetic(addition)(b, n)
		return
	}
	t := n.args[0].typ
	if !t.numeric() && t.ID != Null {
		b.mismatch(n)
	}
	n.typ, n.literal = t, n.args[0].literal
	n.eval = sameValues(n)
}

// minus binds the sign - and the operator.
func minus(b *binder, n *node) {
	if len(n.args) == 2 {
		arithmetic(subtraction)(b, n)
	} else {
		negation(b, n)
	}
}

// arithmetic binds + - *.
func arithmetic(op intOperator) binding {
	return func(b *binder, n *node) {
		x, y := n.operands()
		if x.ID == Null {
			x, y = typeOf(Int32), typeOf(Int32)
		}
		if b.timeArithmetic(op.sign, n) {
			return
		}
		x, y = n.args[0].textAsDouble(x, y), n.args[1].textAsDouble(y, x)
		switch {
		case !x.numeric() || !y.numeric():
			b.mismatch(n)
		case x.float() || y.float():
			n.typ = commonNumber(x, y)
			n.eval = floatArithmetic(op.sign, n)
			b.castArgs(n, n.typ)
		case x.ID == Decimal || y.ID == Decimal:
			b.decimalArithmetic(op, n, x.asDecimal(), y.asDecimal())
		default:
			n.typ, n.fallible = n.integerType(x, y), true
			n.eval = intArithmetic(op, n)
			b.castArgs(n, n.typ)
		}
	}
}

// integerType is the type of arithmetic on integers. A constant takes the other's type if it fits.
func (n *node) integerType(x, y Type) Type {
	left, right := n.args[0], n.args[1]
	switch {
	case right.intConstant() && !left.intConstant() && fitsType(right.value, x):
		return x
	case left.intConstant() && !right.intConstant() && fitsType(left.value, y):
		return y
	}
	return integerResult(x, y)
}

// textAsDouble returns the type of an operand: a string constant beside a float is a double.
func (n *node) textAsDouble(t, other Type) Type {
	if n.textConstant() && other.float() {
		return typeOf(Float64)
	}
	return t
}

// integerResult is the type of arithmetic on two integers: the wider type, or, where that is
// unsigned and the other is not, a type that is wider than both.
func integerResult(x, y Type) Type {
	if x.unsigned() && y.signed() {
		x, y = y, x
	}
	switch {
	case x.signed() == y.signed():
		return typeOf(max(x.ID, y.ID))
	case x.ID-Int8 > y.ID-Uint8 && x.ID != Huge:
		return x
	case x.ID == Uint64 || y.ID == Uint64 || x.ID == Huge || y.ID == Huge:
		return typeOf(Huge)
	}
	return typeOf(Int64)
}

// decimalArithmetic binds an operator on decimals. If the exact product may have more digits than 64
// bits hold, but no operand has, the result stays in 64 bits, and an overflow is an error.
func (b *binder) decimalArithmetic(op intOperator, n *node, x, y Type) {
	px, sx, py, sy := int(x.Precision), int(x.Scale), int(y.Precision), int(y.Scale)
	var precision, scale int
	if op.sign == "*" {
		precision, scale = px+py, sx+sy
		if scale > digitsMax {
			b.fail(n.at, "%s: the product has %d digits after the decimal point, a decimal at most %d",
				n.text, scale, digitsMax)
		}
	} else {
		scale = max(sx, sy)
		precision = max(px-sx, py-sy) + scale + 1
	}
	exact := precision
	switch {
	case op.sign == "*" && precision > digitsInt64 && px <= digitsInt64 && py <= digitsInt64 && scale < digitsInt64:
		precision = digitsInt64
	case precision > digitsMax:
		precision = digitsMax
	}
	n.typ, n.fallible = decimalOf(precision, scale), precision < exact
	n.eval = intArithmetic(op, n)
	switch {
	case op.sign == "*":
		b.castArg(n, 0, x)
		b.castArg(n, 1, y)
	case n.typ.kind() == wideKind:
		b.castArgs(n, decimalOf(digitsMax, scale))
	default:
		b.castArgs(n, n.typ)
	}
}

// orElse returns the type, or, if it is NULL or a string, the type of the other operand.
func (t Type) orElse(other Type) Type {
	if t.numeric() {
		return t
	}
	return other
}

// division binds /, which divides doubles whatever the arguments are.
func division(b *binder, n *node) {
	if b.periodArithmetic("/", n) {
		return
	}
	b.check(n, Float64, Float64)
	x, y := n.args[0].typ, n.args[1].typ
	n.typ = typeOf(Float64)
	if x.float() || y.float() {
		x, y = x.orElse(y), y.orElse(x)
	}
	if (x.ID == Float32 || y.ID == Float32) && commonNumber(x, y).ID == Float32 {
		n.typ = typeOf(Float32)
	}
	n.eval = floatArithmetic("/", n)
	b.castArgs(n, n.typ)
}

// MeanOfParts is the function of a sum and of the number of its terms that gives their mean, as avg
// does: rounded once, where / rounds the sum first. A plan writes it, no statement can.
const MeanOfParts = "mean of parts"

func meanOfParts(b *binder, n *node) {
	sum := n.args[0].typ
	if sum.float() {
		division(b, n)
		return
	}
	n.typ = typeOf(Float64)
	scale := int(sum.Scale)
	b.castArg(n, 0, decimalOf(digitsMax, scale))
	b.castArg(n, 1, typeOf(Int64))
	n.eval = map2e(n, func(sum wide, n int64) (float64, error) {
		if n == 0 {
			return 0, errNull
		}
		return digits.Mean([]uint64{sum.LowBits(), uint64(sum.HighBits())}, uint64(n), scale), nil
	})
}

// AtMostOne is the function of how many rows a subquery has that stands for a value: their number, or an error where
// they are several.
const AtMostOne = "at most one"

func atMostOne(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Int64), true
	b.castArg(n, 0, typeOf(Int64))
	n.eval = map1e(n, func(rows int64) (int64, error) {
		if rows > 1 {
			const several = "a subquery that stands for a value has %d rows, more than 1: " +
				"with LIMIT 1 one of them is taken, with max or any_value one value"
			return 0, query.Valuef(several, rows)
		}
		return rows, nil
	})
}

// NumberOfRows is the function of the value of LIMIT or OFFSET: the value, or an error where it is negative.
const NumberOfRows = "number of rows"

func numberOfRows(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Int64), true
	b.castArg(n, 0, typeOf(Int64))
	n.eval = map1e(n, func(rows int64) (int64, error) {
		if rows < 0 {
			return 0, query.Valuef("LIMIT and OFFSET take a number of rows, 0 or more, not %d", rows)
		}
		return rows, nil
	})
}

// ShareOfRows is the function of the value of LIMIT n% and of a number of rows: the number of rows that the share has,
// or an error where it is none.
const ShareOfRows = "share of rows"

func shareOfRows(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Int64), true
	b.castArg(n, 0, typeOf(Float64))
	b.castArg(n, 1, typeOf(Int64))
	n.eval = map2e(n, func(share float64, rows int64) (int64, error) {
		if !(share >= 0 && share <= 100) {
			return 0, query.Valuef("LIMIT takes a share from 0%% to 100%%, not %v%%", share)
		}
		return int64(share / 100 * float64(rows)), nil
	})
}

// quotient binds // of numbers that are not both integers: as /, but an error where the divisor is 0.
func quotient(b *binder, n *node) {
	division(b, n)
	single := n.typ.ID == Float32
	n.fallible = true
	n.eval = map2e(n, func(x, y float64) (float64, error) {
		switch {
		case y == 0:
			return 0, divisionByZero(n)
		case single:
			return float64(float32(x / y)), nil
		}
		return x / y, nil
	})
}

// divisionByZero is the error of // and %.
func divisionByZero(n *node) error {
	return query.Valuef("%s: division by 0; with nullif(divisor, 0) the result is NULL there", n.text)
}

// remainder binds // and %: of integers and decimals an error where the divisor is 0.
func remainder(sign string) binding {
	return func(b *binder, n *node) {
		x, y := n.operands()
		quotients := sign == "//"
		switch {
		case !x.numeric() || !y.numeric():
			b.mismatch(n)
		case x.integer() && y.integer():
			n.typ = n.integerType(x, y)
		case quotients:
			quotient(b, n)
			return
		default:
			n.typ = commonNumber(x, y)
			n.eval = floatArithmetic("%", n)
			x, y = x.asDecimal(), y.asDecimal()
			if !n.typ.float() && max(x.Precision-x.Scale, y.Precision-y.Scale)+max(x.Scale, y.Scale) > digitsMax {
				n.typ = typeOf(Float64) // no decimal holds both
				n.fallible = true
				n.eval = map2e(n, func(x, y float64) (float64, error) {
					if y == 0 {
						return 0, divisionByZero(n)
					}
					return math.Mod(x, y), nil
				})
			}
		}
		b.castArgs(n, n.typ)
		switch n.typ.kind() {
		case wideKind:
			minusOne := int128(-1)
			n.fallible = true
			n.eval = map2e(n, func(a, b wide) (wide, error) {
				switch {
				case b.Sign() == 0:
					return a, divisionByZero(n)
				case b == minusOne && !quotients:
					return wide{}, nil
				case b == minusOne && a == decimal128.New(math.MinInt64, 0):
					return a, query.Valuef("%s: overflow: %s // -1 does not fit %s", n.text, a.ToString(0), n.typ)
				}
				q, r := a.Div(b)
				if quotients {
					return q, nil
				}
				return r, nil
			})
		case intKind:
			low, _ := bounds(n.typ)
			n.fallible = quotients || !n.args[1].isNonZero()
			n.eval = map2e(n, func(a, b int64) (int64, error) {
				switch {
				case b == 0:
					return 0, divisionByZero(n)
				case b == -1 && !quotients:
					return 0, nil
				case b == -1 && a == low && low < 0:
					return 0, query.Valuef("%s: overflow: %d // -1 does not fit %s", n.text, a, n.typ)
				case quotients:
					return a / b, nil
				}
				return a % b, nil
			})
		}
	}
}

// isNonZero says whether a node is a constant integer or decimal other than 0.
func (n *node) isNonZero() bool {
	return n.isConst && n.value != nil && n.typ.numeric() && !n.typ.float() && wideOf(n.value).Sign() != 0
}

// negation binds the sign -.
func negation(b *binder, n *node) {
	t := n.args[0].typ
	switch {
	case t.ID == Null:
		t = typeOf(Int64)
	case t.unsigned():
		t = integerResult(t, typeOf(Int8))
	case t.span():
	case !t.numeric():
		b.mismatch(n)
	}
	n.typ = t
	n.literal = n.args[0].literal // -1 is a constant as 1 is
	if t.ID == Period || t.ID == Interval && !n.args[0].isConst {
		ofPeriod(b, n, period, func(v IntervalValue) string { return v.negated().text() })
		return
	}
	if t.ID == Interval {
		if n.isConst = true; !isNull(n.args[0]) {
			n.value = n.args[0].value.(IntervalValue).negated()
		}
		return
	}
	b.castArgs(n, t)
	switch t.kind() {
	case floatKind:
		n.eval = map1(n, func(a float64) float64 { return -a })
	case wideKind:
		n.fallible = true
		n.eval = map1e(n, func(a wide) (wide, error) {
			if r := a.Negate(); wideFits(r, t) && (a.Sign() == 0 || r.Sign() == -a.Sign()) {
				return r, nil
			}
			return a, query.Valuef("%s: overflow: the negative of %s does not fit %s", n.text, a.ToString(0), t)
		})
	default:
		low, _ := bounds(t)
		n.fallible = true
		n.eval = map1e(n, func(a int64) (int64, error) {
			if a == low && t.ID != Decimal {
				return 0, query.Valuef("%s: overflow: the negative of %d does not fit %s", n.text, a, t)
			}
			return -a, nil
		})
	}
}

// absolute binds abs.
func absolute(b *binder, n *node) {
	t := n.args[0].typ
	if t.ID == Null {
		t = typeOf(Int32)
	}
	if !t.numeric() {
		b.mismatch(n)
	}
	n.typ = t
	b.castArgs(n, t)
	switch t.kind() {
	case floatKind:
		n.eval = map1(n, math.Abs)
	case wideKind:
		n.fallible = true
		n.eval = map1e(n, func(a wide) (wide, error) {
			r := a.Abs()
			if r.Sign() < 0 {
				return a, query.Valuef("%s: overflow: the absolute value of %s does not fit %s", n.text, a.ToString(0), t)
			}
			return r, nil
		})
	default:
		low, _ := bounds(t)
		n.fallible = true
		n.eval = map1e(n, func(a int64) (int64, error) {
			if a == low && t.signed() {
				return 0, query.Valuef("%s: overflow: the absolute value of %d does not fit %s", n.text, a, t)
			}
			return max(a, -a), nil
		})
	}
}

// bitwise binds & | << >> and xor, of 64 bits at most.
func bitwise(sign string) binding {
	return func(b *binder, n *node) {
		x, y := n.operands()
		if x.ID == Null {
			x, y = typeOf(Int32), typeOf(Int32)
		}
		if !x.integer() || !y.integer() {
			b.mismatch(n)
		}
		n.typ, n.fallible = n.integerType(x, y), true
		if n.typ.ID == Huge {
			n.eval = map2e(n, func(a, b wide) (wide, error) { return n.wideBits(sign, a, b) })
			b.castArgs(n, n.typ)
			return
		}
		_, high := bounds(n.typ)
		width := n.typ.Arrow().(arrow.FixedWidthDataType).BitWidth()
		overflow := func(a, b any) error {
			return query.Valuef("%s: overflow: %d << %d does not fit %s", n.text, a, b, n.typ)
		}
		n.eval = map2e(n, bitOperator(sign, high, width, overflow))
		if n.typ.ID == Uint64 {
			op := bitOperator[uint64](sign, math.MaxUint64, width, overflow)
			n.eval = map2e(n, func(a, b wide) (wide, error) {
				r, err := op(a.LowBits(), b.LowBits())
				return decimal128.FromU64(r), err
			})
		}
		b.castArgs(n, n.typ)
	}
}

// wideBits returns the result of an operator of bitwise on HUGEINTs.
func (n *node) wideBits(sign string, a, b wide) (wide, error) {
	of := func(op func(x, y uint64) uint64) (wide, error) {
		return decimal128.New(int64(op(uint64(a.HighBits()), uint64(b.HighBits()))), op(a.LowBits(), b.LowBits())), nil
	}
	switch sign {
	case "&":
		return of(func(x, y uint64) uint64 { return x & y })
	case "|":
		return of(func(x, y uint64) uint64 { return x | y })
	case "xor":
		return of(func(x, y uint64) uint64 { return x ^ y })
	}
	by, outside := b.LowBits(), b.HighBits() != 0 || b.LowBits() >= hugeBits
	if sign == ">>" {
		if outside {
			return wide{}, nil
		}
		return decimal128.FromBigInt(new(big.Int).Rsh(a.BigInt(), uint(by))), nil
	}
	shifted := new(big.Int)
	if !outside && a.Sign() >= 0 {
		shifted.Lsh(a.BigInt(), uint(by))
	}
	if r, fits := wideOfBig(shifted); !outside && a.Sign() >= 0 && fits {
		return r, nil
	}
	return wide{}, query.Valuef("%s: overflow: %s << %s does not fit %s", n.text, a.ToString(0), b.ToString(0), n.typ)
}

// hugeBits is how many bits a HUGEINT has.
const hugeBits = 128

// wideOfBig returns a number as a HUGEINT, and false where it has more than its digits.
func wideOfBig(v *big.Int) (wide, bool) {
	if v.BitLen() >= hugeBits {
		return wide{}, false
	}
	r := decimal128.FromBigInt(v)
	return r, wideFits(r, typeOf(Huge))
}

// bitOperator returns an operator of bitwise on values of width bits, up to high; << may overflow.
func bitOperator[T int64 | uint64](sign string, high T, width int,
	overflow func(a, b any) error) func(a, b T) (T, error) {
	switch sign {
	case "&":
		return func(a, b T) (T, error) { return a & b, nil }
	case "|":
		return func(a, b T) (T, error) { return a | b, nil }
	case "xor":
		return func(a, b T) (T, error) { return a ^ b, nil }
	case ">>":
		return func(a, b T) (T, error) {
			if b < 0 || b >= T(width) {
				return 0, nil
			}
			return a >> b, nil
		}
	}
	return func(a, b T) (T, error) {
		if a < 0 || b < 0 || a != 0 && (b >= T(width) || a > high>>b) {
			return 0, overflow(a, b)
		}
		return a << b, nil
	}
}
