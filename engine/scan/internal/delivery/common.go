package delivery

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/nested"
)

// Common returns the type of a column whose values have one of two types in each file. It has all values of both;
// only doubles round integers beyond 2^53, and decimals. ok is false where there is no such type.
func Common(a, b arrow.DataType) (common arrow.DataType, ok bool) {
	element, isList := Element(a)
	other, isAlso := Element(b)
	familyA, scaleA, nanosA := predicate.FamilyOf(a)
	familyB, scaleB, nanosB := predicate.FamilyOf(b)
	_, nestedA := a.(*nested.Type)
	_, nestedB := b.(*nested.Type)
	switch {
	case nestedA && (nestedB || isAlso), isList && nestedB:
		if of := nested.Common(nested.Canonical(a), nested.Canonical(b)); of != nil {
			return nested.NewType(of), true
		}
		return nil, false
	case (nestedA || nestedB) && a.ID() != arrow.NULL && b.ID() != arrow.NULL:
		return nil, false
	case arrow.TypeEqual(a, b), b.ID() == arrow.NULL:
		return a, true
	case a.ID() == arrow.NULL:
		return b, true
	case isList && isAlso:
		switch element, ok = Common(element, other); {
		case !ok:
			return nil, false
		case a.ID() == arrow.LIST && b.ID() == arrow.LIST:
			return arrow.ListOf(element), true
		}
		return arrow.LargeListOf(element), true
	case !isList && arrow.IsNested(a.ID()) && arrow.IsNested(b.ID()): // no query reads it
		return a, true
	case isFloat(a) && (isFloat(b) || familyB == predicate.NumberFamily && scaleB >= 0),
		isFloat(b) && familyA == predicate.NumberFamily && scaleA >= 0:
		return floatOf(a, b), true
	case familyA != familyB:
		return nil, false
	}
	switch familyA {
	case predicate.NumberFamily:
		return numberOf(a, b)
	case predicate.BytesFamily:
		return bytesOf(a, b)
	case predicate.InstantFamily: // the zone of the first is shown
		return &arrow.TimestampType{Unit: max(unitOf(a), unitOf(b)), TimeZone: a.(*arrow.TimestampType).TimeZone}, true
	case predicate.MomentFamily, predicate.TimeFamily, predicate.DurationFamily:
		if isDay(a) == isDay(b) && nanosA <= nanosB || !isDay(a) && isDay(b) { // a date becomes a timestamp
			return a, true
		}
		return b, true
	}
	return nil, false
}

func isFloat(t arrow.DataType) bool { return arrow.IsFloating(t.ID()) }

func unitOf(t arrow.DataType) arrow.TimeUnit { return t.(arrow.TemporalWithUnit).TimeUnit() }

func isDay(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

// floatOf returns the wider of two floats, and DOUBLE beside numbers of another kind.
func floatOf(a, b arrow.DataType) arrow.DataType {
	if isFloat(a) && isFloat(b) && a.ID() != arrow.FLOAT64 && b.ID() != arrow.FLOAT64 {
		return arrow.PrimitiveTypes.Float32
	}
	return arrow.PrimitiveTypes.Float64
}

// integers are the signed types by their bytes.
var integers = map[int]arrow.DataType{1: arrow.PrimitiveTypes.Int8, 2: arrow.PrimitiveTypes.Int16,
	4: arrow.PrimitiveTypes.Int32, 8: arrow.PrimitiveTypes.Int64}

// numberOf returns the type of integers and decimals.
func numberOf(a, b arrow.DataType) (arrow.DataType, bool) {
	if arrow.IsInteger(a.ID()) && arrow.IsInteger(b.ID()) {
		bytesA, bytesB := FixedBytesOf(a), FixedBytesOf(b)
		isSigned := arrow.IsSignedInteger(a.ID())
		switch {
		case isSigned == arrow.IsSignedInteger(b.ID()) && bytesA >= bytesB, isSigned && bytesA > bytesB:
			return a, true
		case isSigned == arrow.IsSignedInteger(b.ID()), !isSigned && bytesB > bytesA:
			return b, true
		case max(bytesA, bytesB) < 8:
			return integers[2*int(max(bytesA, bytesB))], true
		}
		return &arrow.Decimal128Type{Precision: DecimalDigits[arrow.DECIMAL128]}, true // HUGEINT
	}
	wholeA, scaleA, okA := decimalDigits(a)
	wholeB, scaleB, okB := decimalDigits(b)
	scale := max(scaleA, scaleB)
	precision := min(max(wholeA, wholeB)+scale, DecimalDigits[arrow.DECIMAL128])
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}, okA && okB
}

// integerDigits is how many digits the integers of each size have at most.
var integerDigits = map[int64]int32{1: 3, 2: 5, 4: 10, 8: 19}

// decimalDigits returns the digits before and behind the point of an integer or decimal; ok is false of decimals that
// no common type has.
func decimalDigits(t arrow.DataType) (whole, scale int32, ok bool) {
	if d, isDecimal := t.(arrow.DecimalType); isDecimal {
		return d.GetPrecision() - d.GetScale(), d.GetScale(), d.GetScale() >= 0 && d.ID() != arrow.DECIMAL256
	}
	whole = integerDigits[FixedBytesOf(t)]
	if t.ID() == arrow.UINT64 {
		whole++
	}
	return whole, 0, true
}

func isText(t arrow.DataType) bool {
	return ViewType(t) == arrow.BinaryTypes.StringView || t.ID() == arrow.STRING_VIEW
}

// bytesOf returns the type of strings, or of binaries: a large one beside a large one.
func bytesOf(a, b arrow.DataType) (arrow.DataType, bool) {
	isLarge := arrow.IsLargeBinaryLike(a.ID()) || arrow.IsLargeBinaryLike(b.ID())
	switch {
	case isText(a) != isText(b):
		return nil, false
	case isText(a) && isLarge:
		return arrow.BinaryTypes.LargeString, true
	case isText(a):
		return arrow.BinaryTypes.String, true
	case isLarge:
		return arrow.BinaryTypes.LargeBinary, true
	}
	return arrow.BinaryTypes.Binary, true
}
