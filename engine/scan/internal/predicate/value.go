package predicate

import (
	"bytes"
	"cmp"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Family is a set of types whose values compare with each other.
type Family uint8

const (
	noFamily     Family = iota
	NumberFamily        // integers and decimals
	FloatFamily
	BytesFamily
	MomentFamily  // dates and timestamps without a zone
	InstantFamily // timestamps with a zone
	TimeFamily    // times of day
	DurationFamily
	BoolFamily
)

// FamilyOf returns the family of a type, and what its integers count: units of 10^-scale, or of so
// many nanoseconds.
func FamilyOf(t arrow.DataType) (f Family, scale int32, nanos int64) {
	switch t := t.(type) {
	case arrow.DecimalType:
		return NumberFamily, t.GetScale(), 0
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return InstantFamily, 0, int64(t.Unit.Multiplier())
		}
		return MomentFamily, 0, int64(t.Unit.Multiplier())
	case *arrow.Time32Type:
		return TimeFamily, 0, int64(t.Unit.Multiplier())
	case *arrow.Time64Type:
		return TimeFamily, 0, int64(t.Unit.Multiplier())
	case *arrow.DurationType:
		return DurationFamily, 0, int64(t.Unit.Multiplier())
	}
	switch id := t.ID(); {
	case arrow.IsInteger(id):
		return NumberFamily, 0, 0
	case id == arrow.FLOAT32 || id == arrow.FLOAT64:
		return FloatFamily, 0, 0
	case arrow.IsBaseBinary(id), id == arrow.STRING_VIEW, id == arrow.BINARY_VIEW, id == arrow.FIXED_SIZE_BINARY:
		return BytesFamily, 0, 0
	case id == arrow.DATE32:
		return MomentFamily, 0, dayNanos
	case id == arrow.DATE64:
		return MomentFamily, 0, 1e6
	case id == arrow.BOOL:
		return BoolFamily, 0, 0
	}
	return noFamily, 0, 0
}

const dayNanos = 24 * 3600 * 1e9

// Value is a value of a column: of a float in float, of bytes in bytes, of all else in integer, in the
// units of the column's type. A wide integer, which 64 bits do not hold, is in wide.
type Value struct {
	Family  Family
	Integer int64
	Wide    *big.Int // nil of integers that fit 64 bits
	Float   float64
	Bytes   []byte
}

func (v *Value) compare(o *Value) int {
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

func (v *Value) IsNaN() bool { return v.Family == FloatFamily && math.IsNaN(v.Float) }

// BigValue takes n over.
func BigValue(f Family, n *big.Int) Value {
	if n.IsInt64() {
		return Value{Family: f, Integer: n.Int64()}
	}
	return Value{Family: f, Wide: n}
}

// constantOf returns a constant in the units of a column: exactly, or, where that has no such value, the
// largest value below it.
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
	if nanos != haveNanos && n.BitLen() >= 63 { // infinity is one moment, whatever it is counted in
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

// scalarInteger returns the number of units that a constant has.
func scalarInteger(s scalar.Scalar) (*big.Int, bool) {
	switch s := s.(type) {
	case *scalar.Int8:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Int16:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Int32:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Int64:
		return big.NewInt(s.Value), true
	case *scalar.Uint8:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Uint16:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Uint32:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Uint64:
		return new(big.Int).SetUint64(s.Value), true
	case *scalar.Date32:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Date64:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Timestamp:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Time32:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Time64:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Duration:
		return big.NewInt(int64(s.Value)), true
	case *scalar.Decimal128:
		return s.Value.BigInt(), true
	case *scalar.Decimal256:
		return s.Value.BigInt(), true
	case *scalar.Boolean:
		if s.Value {
			return big.NewInt(1), true
		}
		return big.NewInt(0), true
	}
	return nil, false
}
