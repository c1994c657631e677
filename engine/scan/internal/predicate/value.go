package predicate

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Family is a set of types whose values compare with each other.
type Family uint8

const (
	noFamily       Family = iota
	NumberFamily          // integers and decimals
	FloatFamily           // floats and doubles
	BytesFamily           // strings and bytes, which compare byte by byte
	MomentFamily          // dates and timestamps without a zone
	InstantFamily         // timestamps with a zone
	TimeFamily            // times of day
	DurationFamily        // lengths of time
	BoolFamily            // truth values
)

// FamilyOf returns the family of a type, and the unit of its integers: 10^-scale, or nanoseconds.
func FamilyOf(t arrow.DataType) (f Family, scale int32, nanos int64) {
	if unit, ok := t.(arrow.TemporalWithUnit); ok {
		nanos = int64(unit.TimeUnit().Multiplier())
	}
	switch id := t.ID(); {
	case arrow.IsInteger(id):
		f = NumberFamily
	case arrow.IsDecimal(id):
		f, scale = NumberFamily, t.(arrow.DecimalType).GetScale()
	case id == arrow.FLOAT32 || id == arrow.FLOAT64:
		f = FloatFamily
	case arrow.IsBaseBinary(id), id == arrow.STRING_VIEW, id == arrow.BINARY_VIEW, id == arrow.FIXED_SIZE_BINARY:
		f = BytesFamily
	case id == arrow.DATE32:
		f, nanos = MomentFamily, dayNanos
	case id == arrow.DATE64:
		f, nanos = MomentFamily, 1e6
	case id == arrow.TIMESTAMP && t.(*arrow.TimestampType).TimeZone != "":
		f = InstantFamily
	case id == arrow.TIMESTAMP:
		f = MomentFamily
	case id == arrow.TIME32 || id == arrow.TIME64:
		f = TimeFamily
	case id == arrow.DURATION:
		f = DurationFamily
	case id == arrow.BOOL:
		f = BoolFamily
	}
	return f, scale, nanos
}

const dayNanos = 24 * 3600 * 1e9

// Value is a value of a column: of a float in Float, of bytes in Bytes, of all else in Integer, in
// the units of the column's type. A wide integer, which 64 bits do not hold, is in Wide.
type Value struct {
	Family  Family
	Integer int64
	Wide    *big.Int // nil of integers that fit 64 bits
	Float   float64
	Bytes   []byte
}

// Compare compares values of one family.
func (v *Value) Compare(o *Value) int {
	switch {
	case v.Family == FloatFamily:
		return cmp.Compare(v.Float, o.Float) // takes -0.0 for 0.0
	case v.Family == BytesFamily:
		return bytes.Compare(v.Bytes, o.Bytes)
	case v.Wide == nil && o.Wide == nil:
		return cmp.Compare(v.Integer, o.Integer)
	}
	return v.big().Cmp(o.big())
}

func (v *Value) big() *big.Int {
	if v.Wide != nil {
		return v.Wide
	}
	return big.NewInt(v.Integer)
}

// IsNaN reports whether the value is a floating-point NaN.
func (v *Value) IsNaN() bool { return v.Family == FloatFamily && math.IsNaN(v.Float) }

// BigValue takes n over.
func BigValue(f Family, n *big.Int) Value {
	if n.IsInt64() {
		return Value{Family: f, Integer: n.Int64()}
	}
	return Value{Family: f, Wide: n}
}

// ValueOf returns the value of a scalar in the units of its type.
func ValueOf(s scalar.Scalar) (v Value, ok bool) {
	v, exact, ok := constantOf(s, s.DataType())
	return v, ok && exact
}

// constantOf returns a constant in the units of a column: exactly, or, where the column has no such
// value, the largest value below it.
func constantOf(s scalar.Scalar, column arrow.DataType) (v Value, exact, ok bool) {
	if s == nil || !s.IsValid() {
		return v, false, false
	}
	want, scale, nanos := FamilyOf(column)
	have, haveScale, haveNanos := FamilyOf(s.DataType())
	if want != have || want == noFamily {
		return v, false, false
	}
	switch s := s.(type) {
	case *scalar.Float32:
		return Value{Family: want, Float: float64(s.Value)}, true, true
	case *scalar.Float64:
		return Value{Family: want, Float: s.Value}, true, true
	case scalar.BinaryScalar:
		return Value{Family: want, Bytes: s.Data()}, true, true
	}
	n, ok := scalarInteger(s)
	if !ok || haveScale < -scaleMax || haveScale > scaleMax {
		return v, false, false
	}
	if nanos != haveNanos && n.BitLen() >= 63 { // infinity is the same moment in all units
		return v, false, false
	}
	// n units of the constant are n * up / down units of the column.
	up, down := big.NewInt(1), big.NewInt(1)
	if nanos > 0 {
		up.SetInt64(haveNanos)
		down.SetInt64(nanos)
	} else if by := scale - haveScale; by >= 0 {
		up.Exp(big.NewInt(10), big.NewInt(int64(by)), nil)
	} else {
		down.Exp(big.NewInt(10), big.NewInt(int64(-by)), nil)
	}
	quotient, rest := new(big.Int).DivMod(n.Mul(n, up), down, new(big.Int)) // down is positive: rounds down
	return BigValue(want, quotient), rest.Sign() == 0, true
}

// scaleMax is more than the digits of any decimal.
const scaleMax = 100

// scalarInteger returns how many units a constant has: its bytes in memory are two's complement.
func scalarInteger(s scalar.Scalar) (*big.Int, bool) {
	fixed, ok := s.(scalar.PrimitiveScalar)
	if !ok {
		return nil, false
	}
	bytes := slices.Clone(fixed.Data())
	slices.Reverse(bytes)
	n := new(big.Int).SetBytes(bytes)
	if id := s.DataType().ID(); id != arrow.BOOL && !arrow.IsUnsignedInteger(id) && bytes[0] >= 1<<7 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
	}
	return n, true
}
