package rowdata

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// argClass returns what every argument of a function may be.
func argClass(f query.Func) class {
	switch f {
	case query.Sum:
		return classNumeric | classBool | classDuration
	case query.Avg, query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop, query.Skewness, query.Kurtosis,
		query.Corr, query.CovarSamp, query.CovarPop, query.RegrSlope, query.RegrIntercept, query.RegrR2:
		return classNumeric
	case query.BoolAnd, query.BoolOr:
		return classBool
	case query.BitAnd, query.BitOr, query.BitXor:
		return classInteger
	case query.Median, query.QuantileCont:
		return classNumeric | classTemporal | classDuration
	case query.StringAgg:
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
func resultType(f query.Func, col *Column, overflow query.Overflow) arrow.DataType {
	switch f {
	case query.CountStar, query.Count, query.CountDistinct, query.ApproxCountDistinct, query.FirstPlace:
		return arrow.PrimitiveTypes.Int64
	case query.Sum:
		return sumType(col.Type, overflow)
	case query.Avg, query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop, query.Skewness, query.Kurtosis,
		query.Corr, query.CovarSamp, query.CovarPop, query.RegrSlope, query.RegrIntercept, query.RegrR2:
		return arrow.PrimitiveTypes.Float64
	case query.Median, query.QuantileCont:
		return quantileType(col.Type)
	case query.MinN, query.MaxN, query.List:
		return arrow.ListOf(col.Type)
	case query.StringAgg:
		return arrow.BinaryTypes.String
	}
	return col.Type
}

func sumType(dt arrow.DataType, overflow query.Overflow) arrow.DataType {
	switch classOf(dt) {
	case classFloat:
		return arrow.PrimitiveTypes.Float64
	case classDuration:
		return dt
	case classDecimal:
		return &arrow.Decimal128Type{Precision: sumDigits, Scale: dt.(arrow.DecimalType).GetScale()}
	}
	if overflow == query.OverflowWiden {
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
