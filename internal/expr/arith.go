package expr

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

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
		return 1 - pow10[t.Precision], pow10[t.Precision] - 1
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

// intOperator is an operator on integers, and on decimals as integers: for all rows at once, where results may be
// wrong, and for one row, exactly.
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
	safe := bits.Len64(sizes[0])+bits.Len64(sizes[1]) <= 63 // no product passes 64 bits
	return !safe || low != math.MinInt64 && outside < 0
}

// multiplyEach multiplies row by row. sizes have the bits of all numbers of a and of b, those of negative ones
// flipped; outside is negative where a product, of 64 bits, is not from low to high.
func multiplyEach(out, a, b []int64, low, high int64) (sizes [2]uint64, outside int64) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		p := a[i] * b[i]
		out[i] = p
		outside |= (p - low) | (high - p)
	}
	var ofA, ofB int64
	for i, x := range a { // one loop has not the registers for all
		ofA |= x ^ x>>63
		ofB |= b[i] ^ b[i]>>63
	}
	return [2]uint64{uint64(ofA), uint64(ofB)}, outside
}

// intArithmetic makes the kernel of an operator whose arguments are held as its result is.
func intArithmetic(op intOperator, n *node) func(*frame) (*vector, error) {
	if n.typ.kind() == wideKind {
		return wideArithmetic(op, n)
	}
	low, high := bounds(n.typ)
	return func(f *frame) (*vector, error) {
		a, b, out, err := f.pair(n, intKind)
		if err != nil || !op.all(out.ints, a.ints, b.ints, low, high) {
			return out, err
		}
		for i := range out.ints {
			if out.isNull(i) {
				continue
			}
			x, y := int128(a.ints[i]), int128(b.ints[i])
			r, ok := op.one(x, y)
			if !ok || r.Less(int128(low)) || r.Greater(int128(high)) {
				return nil, overflow(n, op.sign, x, y)
			}
		}
		return out, nil
	}
}

func wideArithmetic(op intOperator, n *node) func(*frame) (*vector, error) {
	return func(f *frame) (*vector, error) {
		a, b, out, err := f.pair(n, wideKind)
		if err != nil {
			return nil, err
		}
		left, right := n.args[0].typ.kind(), n.args[1].typ.kind()
		for i := range out.wides {
			if out.isNull(i) {
				continue
			}
			x, y := a.wide(i, left), b.wide(i, right)
			r, ok := op.one(x, y)
			if !ok || !wideFits(r, n.typ) {
				return nil, overflow(n, op.sign, x, y)
			}
			out.wides[i] = r
		}
		return out, nil
	}
}

// wide returns a number that is held as int64 or in 128 bits.
func (v *vector) wide(i int, k kind) wide {
	if k == wideKind {
		return v.wides[i]
	}
	return int128(v.ints[i])
}

// pair evaluates two arguments, and returns a vector for the result that is NULL where one of them is.
func (f *frame) pair(n *node, k kind) (a, b, out *vector, err error) {
	if a, err = f.eval(n.args[0]); err != nil {
		return nil, nil, nil, err
	}
	if b, err = f.eval(n.args[1]); err != nil {
		return nil, nil, nil, err
	}
	out = f.e.vector(k, f.n)
	out.null = f.e.union(a, b)
	return a, b, out, nil
}

func overflow(n *node, sign string, a, b wide) error {
	scale := func(i int) int { return int(n.args[i].typ.Scale) }
	return fmt.Errorf("%s: overflow: %s %s %s does not fit %s; cast an operand to a wider type",
		n.text, a.ToString(int32(scale(0))), sign, b.ToString(int32(scale(1))), n.typ)
}

// floatArithmetic makes the kernel of an operator on doubles; those of FLOAT are rounded to it.
func floatArithmetic(op string, n *node) func(*frame) (*vector, error) {
	return func(f *frame) (*vector, error) {
		a, b, out, err := f.pair(n, floatKind)
		if err != nil {
			return nil, err
		}
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
		return out, nil
	}
}

// arithmetic binds + - *.
func arithmetic(op intOperator) binding {
	return func(b *binder, n *node) error {
		x, y := n.args[0].typ, n.args[1].typ
		if x.ID == Null && y.ID == Null {
			x, y = typeOf(Int32), typeOf(Int32)
		}
		if x.ID == Null {
			x = y
		}
		if y.ID == Null {
			y = x
		}
		if ok, err := b.timeArithmetic(op.sign, n); ok || err != nil {
			return err
		}
		x, y = n.args[0].textAsDouble(x, y), n.args[1].textAsDouble(y, x)
		switch {
		case !x.numeric() || !y.numeric():
			return b.mismatch(n)
		case x.float() || y.float():
			n.typ = commonNumber(x, y)
			n.eval = floatArithmetic(op.sign, n)
			return b.castArgs(n, n.typ)
		case x.ID == Decimal || y.ID == Decimal:
			return b.decimalArithmetic(op, n, x.asDecimal(), y.asDecimal())
		}
		n.typ = n.integerType(x, y)
		n.fallible = true
		n.eval = intArithmetic(op, n)
		return b.castArgs(n, n.typ)
	}
}

// integerType is the type of arithmetic on two integers. A constant takes the other's type if it fits that.
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

// textAsDouble lets a string constant stand for a double beside one.
func (n *node) textAsDouble(t, other Type) Type {
	if n.textConstant() && other.float() {
		return typeOf(Float64)
	}
	return t
}

// integerResult is the type of arithmetic on two integers: the wider one, or where that one is unsigned and the other
// is not, one that is wider than both.
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

// decimalArithmetic binds an operator on decimals. Where the exact result takes more digits than 64
// bits have, but no operand does, it stays in 64 bits, and an overflow is an error.
func (b *binder) decimalArithmetic(op intOperator, n *node, x, y Type) error {
	px, sx, py, sy := int(x.Precision), int(x.Scale), int(y.Precision), int(y.Scale)
	var precision, scale int
	if op.sign == "*" {
		precision, scale = px+py, sx+sy
		if scale > digitsMax {
			return b.errorf(n, "%s: the product has %d digits after the decimal point, a decimal at most %d", n.text, scale, digitsMax)
		}
	} else {
		scale = max(sx, sy)
		precision = max(px-sx, py-sy) + scale + 1
	}
	switch {
	case precision > digitsInt64 && px <= digitsInt64 && py <= digitsInt64 && scale < digitsInt64:
		precision = digitsInt64
	case precision > digitsMax:
		precision = digitsMax
	}
	n.typ = decimalOf(precision, scale)
	n.fallible = true
	n.eval = intArithmetic(op, n)
	if op.sign == "*" {
		return b.castEach(n, x, y)
	}
	if n.typ.kind() == wideKind {
		return b.castEach(n, decimalOf(digitsMax, scale), decimalOf(digitsMax, scale))
	}
	return b.castArgs(n, n.typ)
}

// orElse is the type of the other operand for NULL and for strings.
func (t Type) orElse(other Type) Type {
	if t.numeric() {
		return t
	}
	return other
}

// division binds /, which divides doubles whatever the arguments are.
func division(b *binder, n *node) error {
	x, y := n.args[0].typ, n.args[1].typ
	for _, a := range n.args {
		if !a.typ.numeric() && a.typ.ID != Null && !a.textConstant() {
			return b.mismatch(n)
		}
	}
	n.typ = typeOf(Float64)
	if x.float() || y.float() {
		x, y = x.orElse(y), y.orElse(x)
	}
	if (x.ID == Float32 || y.ID == Float32) && commonNumber(x, y).ID == Float32 {
		n.typ = typeOf(Float32)
	}
	n.eval = floatArithmetic("/", n)
	return b.castArgs(n, n.typ)
}

// MeanOfParts is the function of a sum and of the number of its terms that gives their mean, as avg does: rounded once,
// where / rounds the sum first. A plan writes it, no statement can.
const MeanOfParts = "mean of parts"

func meanOfParts(b *binder, n *node) error {
	sum := n.args[0].typ
	if sum.float() {
		return division(b, n)
	}
	n.typ = typeOf(Float64)
	scale := int(sum.Scale)
	var err error
	if n.args[1], err = b.cast(n.args[1], typeOf(Int64)); err != nil {
		return err
	}
	if n.args[0], err = b.cast(n.args[0], decimalOf(digitsMax, scale)); err != nil {
		return err
	}
	n.eval = map2e(n, func(sum wide, n int64) (float64, error) {
		if n == 0 {
			return 0, errNull
		}
		return digits.Mean([]uint64{sum.LowBits(), uint64(sum.HighBits())}, uint64(n), scale), nil
	})
	return nil
}

// quotient binds // of numbers that are not both integers: their quotient as / gives it, but NULL
// where the divisor is 0.
func quotient(b *binder, n *node) error {
	if err := division(b, n); err != nil {
		return err
	}
	single := n.typ.ID == Float32
	n.eval = map2e(n, func(x, y float64) (float64, error) {
		switch {
		case y == 0:
			return 0, errNull
		case single:
			return float64(float32(x / y)), nil
		}
		return x / y, nil
	})
	return nil
}

// remainder binds // and %: of integers and decimals NULL where the divisor is 0.
func remainder(sign string) binding {
	return func(b *binder, n *node) error {
		x, y := n.args[0].typ, n.args[1].typ
		if x.ID == Null {
			x = y
		}
		if y.ID == Null {
			y = x
		}
		switch {
		case !x.numeric() || !y.numeric():
			return b.mismatch(n)
		case x.integer() && y.integer():
			n.typ = n.integerType(x, y)
		case sign == "//":
			return quotient(b, n)
		case x.float() || y.float():
			n.typ = commonNumber(x, y)
			n.eval = floatArithmetic("%", n)
			return b.castArgs(n, n.typ)
		default:
			if x, y := x.asDecimal(), y.asDecimal(); max(x.Precision-x.Scale, y.Precision-y.Scale)+max(x.Scale, y.Scale) > digitsMax {
				n.typ = typeOf(Float64) // no decimal holds both
				n.eval = map2e(n, func(x, y float64) (float64, error) {
					if y == 0 {
						return 0, errNull
					}
					return math.Mod(x, y), nil
				})
				return b.castArgs(n, n.typ)
			}
			n.typ = commonNumber(x, y)
		}
		if err := b.castArgs(n, n.typ); err != nil {
			return err
		}
		quotient := sign == "//"
		if n.typ.kind() == wideKind {
			n.eval = map2e(n, func(a, b wide) (wide, error) {
				if b.Sign() == 0 {
					return a, errNull
				}
				q, r := a.Div(b)
				if quotient {
					return q, nil
				}
				return r, nil
			})
			return nil
		}
		low, _ := bounds(n.typ)
		n.fallible = quotient
		n.eval = map2e(n, func(a, b int64) (int64, error) {
			switch {
			case b == 0:
				return 0, errNull
			case b == -1 && !quotient:
				return 0, nil
			case b == -1 && a == low && low < 0:
				return 0, fmt.Errorf("%s: overflow: %d // -1 does not fit %s", n.text, a, n.typ)
			case quotient:
				return a / b, nil
			}
			return a % b, nil
		})
		return nil
	}
}

// negation binds the sign -.
func negation(b *binder, n *node) error {
	t := n.args[0].typ
	switch {
	case t.ID == Null:
		t = typeOf(Int64)
	case t.unsigned():
		t = integerResult(t, typeOf(Int8))
	case t.ID == Duration || t.ID == Interval:
	case !t.numeric():
		return b.mismatch(n)
	}
	n.typ = t
	n.literal = n.args[0].literal // -1 is a constant as 1 is
	if t.ID == Interval {
		v := n.args[0].value.(IntervalValue)
		n.isConst, n.value = true, IntervalValue{-v.Months, -v.Days, -v.Micros}
		return nil
	}
	if err := b.castArgs(n, t); err != nil {
		return err
	}
	switch t.kind() {
	case floatKind:
		n.eval = map1(n, func(a float64) float64 { return -a })
	case wideKind:
		n.fallible = true
		n.eval = map1e(n, func(a wide) (wide, error) {
			if r := a.Negate(); wideFits(r, t) && (a.Sign() == 0 || r.Sign() == -a.Sign()) {
				return r, nil
			}
			return a, fmt.Errorf("%s: overflow: the negative of %s does not fit %s", n.text, a.ToString(0), t)
		})
	default:
		low, _ := bounds(t)
		n.fallible = true
		n.eval = map1e(n, func(a int64) (int64, error) {
			if a == low && t.ID != Decimal {
				return 0, fmt.Errorf("%s: overflow: the negative of %d does not fit %s", n.text, a, t)
			}
			return -a, nil
		})
	}
	return nil
}

// absolute binds abs.
func absolute(b *binder, n *node) error {
	t := n.args[0].typ
	if t.ID == Null {
		t = typeOf(Int32)
	}
	if !t.numeric() {
		return b.mismatch(n)
	}
	n.typ = t
	if err := b.castArgs(n, t); err != nil {
		return err
	}
	switch t.kind() {
	case floatKind:
		n.eval = map1(n, math.Abs)
	case wideKind:
		n.eval = map1(n, decimal128.Num.Abs)
	default:
		low, _ := bounds(t)
		n.fallible = true
		n.eval = map1e(n, func(a int64) (int64, error) {
			if a == low && t.signed() {
				return 0, fmt.Errorf("%s: overflow: the absolute value of %d does not fit %s", n.text, a, t)
			}
			return max(a, -a), nil
		})
	}
	return nil
}

// bitwise binds & | << >> and xor, of 64 bits at most.
func bitwise(sign string) binding {
	return func(b *binder, n *node) error {
		x, y := n.args[0].typ, n.args[1].typ
		if x.ID == Null {
			x = y
		}
		if y.ID == Null {
			y = x
		}
		if x.ID == Null {
			x, y = typeOf(Int32), typeOf(Int32)
		}
		if !x.integer() || !y.integer() {
			return b.mismatch(n)
		}
		n.typ = n.integerType(x, y)
		n.fallible = true
		if n.typ.kind() == wideKind {
			if n.typ.ID != Uint64 {
				return b.mismatch(n)
			}
			n.eval = map2e(n, func(a, b wide) (wide, error) { return bits64(sign, n, a.LowBits(), b.LowBits()) })
			return b.castArgs(n, n.typ)
		}
		low, high := bounds(n.typ)
		width := int64(n.typ.Arrow().(arrow.FixedWidthDataType).BitWidth())
		n.eval = map2e(n, func(a, b int64) (int64, error) {
			switch sign {
			case "&":
				return a & b, nil
			case "|":
				return a | b, nil
			case "xor":
				return a ^ b, nil
			case ">>":
				if b < 0 || b >= width {
					return 0, nil
				}
				return a >> b, nil
			}
			if a < 0 || b < 0 || b > 62 && a != 0 || bits.Len64(uint64(a))+int(b) > 63 || a<<b > high || a<<b < low {
				return 0, fmt.Errorf("%s: overflow: %d << %d does not fit %s", n.text, a, b, n.typ)
			}
			return a << b, nil
		})
		return b.castArgs(n, n.typ)
	}
}

// bits64 computes an operator of bitwise on two values of UBIGINT.
func bits64(sign string, n *node, a, b uint64) (wide, error) {
	switch sign {
	case "&":
		a &= b
	case "|":
		a |= b
	case "xor":
		a ^= b
	case ">>":
		a >>= b
	default:
		if a != 0 && (b > 63 || a<<b>>b != a) {
			return wide{}, fmt.Errorf("%s: overflow: %d << %d does not fit %s", n.text, a, b, n.typ)
		}
		a <<= b
	}
	return decimal128.FromU64(a), nil
}
