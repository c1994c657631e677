package spec

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// argClass returns what every argument of a function may be.
func argClass(f Func) class {
	switch f {
	case Sum:
		return classNumeric | classBool | classDuration
	case Avg, VarSamp, VarPop, StddevSamp, StddevPop, Skewness, Kurtosis,
		Corr, CovarSamp, CovarPop, RegrSlope, RegrIntercept, RegrR2:
		return classNumeric
	case BoolAnd, BoolOr:
		return classBool
	case BitAnd, BitOr, BitXor:
		return classInteger
	case Median, QuantileCont:
		return classNumeric | classTemporal | classDuration
	case StringAgg:
		return classString
	}
	return classAny
}

func describeClass(c class) string {
	names := []struct {
		class class
		name  string
	}{
		{classNumeric, "numbers"}, {classInteger, "integers"}, {classBool, "booleans"},
		{classTemporal, "dates and times"}, {classDuration, "durations"},
		{classString, "strings"}, {classBinary, "binary"},
	}
	var list []string
	for _, n := range names {
		if c&n.class == n.class {
			list = append(list, n.name)
			c &^= n.class
		}
	}
	return strings.Join(list, ", ")
}

// sumDigits is the precision of an exact sum: the most a decimal128 has.
const sumDigits = 38

// resultType returns the type of f over a column.
func resultType(f Func, col *Column, overflow Overflow) arrow.DataType {
	switch f {
	case CountStar, Count, CountDistinct, ApproxCountDistinct:
		return arrow.PrimitiveTypes.Int64
	case Sum:
		return sumType(col.Type, overflow)
	case Avg, VarSamp, VarPop, StddevSamp, StddevPop, Skewness, Kurtosis,
		Corr, CovarSamp, CovarPop, RegrSlope, RegrIntercept, RegrR2:
		return arrow.PrimitiveTypes.Float64
	case Median, QuantileCont:
		return quantileType(col.Type)
	case MinN, MaxN, List:
		return arrow.ListOf(col.Type)
	case StringAgg:
		return arrow.BinaryTypes.String
	}
	return col.Type
}

func sumType(dt arrow.DataType, overflow Overflow) arrow.DataType {
	switch classOf(dt) {
	case classFloat:
		return arrow.PrimitiveTypes.Float64
	case classDuration:
		return dt
	case classDecimal:
		return &arrow.Decimal128Type{Precision: sumDigits, Scale: dt.(arrow.DecimalType).GetScale()}
	}
	if overflow == OverflowWiden {
		return &arrow.Decimal128Type{Precision: sumDigits}
	}
	return arrow.PrimitiveTypes.Int64
}

// quantileType returns the type of a value between two values of type dt.
func quantileType(dt arrow.DataType) arrow.DataType {
	switch classOf(dt) {
	case classInteger, classFloat, classDecimal:
		return arrow.PrimitiveTypes.Float64
	}
	if id := dt.ID(); id == arrow.DATE32 || id == arrow.DATE64 {
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	}
	return dt
}
