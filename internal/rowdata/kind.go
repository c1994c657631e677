package rowdata

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// Kind is how a value is held while it is grouped and aggregated: as one or two 64-bit words,
// whatever its Arrow type. Kernels and CPU loops know kinds only.
type Kind uint8

// The kinds. Words are little-endian: of two, the first is the low one.
const (
	Int64   Kind = iota // signed integers, dates, times, timestamps, durations, decimals of at most 18 digits
	Uint64              // unsigned integers, and booleans as 0 and 1
	Float64             // the bits of a float64
	Int128              // decimals of 19 to 38 digits; two words, two's complement
	Bytes               // strings and binary; two words, see Bytes2
)

// Words returns how many 64-bit words a value takes.
func (k Kind) Words() int {
	if k == Int128 || k == Bytes {
		return 2
	}
	return 1
}

// decimalDigitsInt64 is how many decimal digits every int64 can hold.
const decimalDigitsInt64 = 18

// KindOf returns the kind of an Arrow type; for a dictionary, of its values.
func KindOf(dt arrow.DataType) (Kind, error) {
	switch dt := ValueType(dt).(type) {
	case *arrow.BooleanType, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return Uint64, nil
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Date32Type, *arrow.Date64Type, *arrow.Time32Type, *arrow.Time64Type,
		*arrow.TimestampType, *arrow.DurationType, *arrow.Decimal32Type, *arrow.Decimal64Type:
		return Int64, nil
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return Float64, nil
	case *arrow.Decimal128Type:
		if dt.Precision <= decimalDigitsInt64 {
			return Int64, nil
		}
		return Int128, nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType, *nested.Type,
		*arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return Bytes, nil
	case *arrow.Decimal256Type:
		return 0, fmt.Errorf("type %s is wider than 128 bits: cast the column to decimal128 first", query.TypeName(dt))
	}
	return 0, fmt.Errorf("type %s is not supported", query.TypeName(dt))
}

// ValueType returns the type of a dictionary's values, and any other type itself.
func ValueType(dt arrow.DataType) arrow.DataType {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return dt
}

// class sorts types by the functions that take them.
type class uint8

const (
	classInteger class = 1 << iota
	classFloat
	classDecimal
	classBool
	classTemporal // date, time, timestamp
	classDuration
	classString
	classBinary

	classNumeric = classInteger | classFloat | classDecimal
	classAny     = classNumeric | classBool | classTemporal | classDuration | classString | classBinary
)

func classOf(dt arrow.DataType) class {
	switch ValueType(dt).ID() {
	case arrow.BOOL:
		return classBool
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return classInteger
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return classFloat
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128:
		return classDecimal
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		return classTemporal
	case arrow.DURATION:
		return classDuration
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return classString
	}
	return classBinary
}
