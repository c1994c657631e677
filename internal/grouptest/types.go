package grouptest

import (
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Types lists every column type that mpga reads, without dictionaries.
func Types() []arrow.DataType {
	return []arrow.DataType{
		arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
		arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us,
		arrow.FixedWidthTypes.Time64ns,
		&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond},
		&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
		arrow.FixedWidthTypes.Duration_s, arrow.FixedWidthTypes.Duration_ns,
		&arrow.Decimal32Type{Precision: 9, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: 4},
		&arrow.Decimal128Type{Precision: 5, Scale: 2}, &arrow.Decimal128Type{Precision: 18},
		&arrow.Decimal128Type{Precision: 19, Scale: 3},
		&arrow.Decimal128Type{Precision: 38, Scale: 10},
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
		&arrow.FixedSizeBinaryType{ByteWidth: 16},
	}
}

// DictionaryTypes lists dictionaries over some types of indexes and values.
func DictionaryTypes() []arrow.DataType {
	dictionary := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	return []arrow.DataType{
		dictionary(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String),
		dictionary(arrow.PrimitiveTypes.Uint16, arrow.BinaryTypes.String),
		dictionary(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.LargeString),
		dictionary(arrow.PrimitiveTypes.Uint64, arrow.BinaryTypes.Binary),
		dictionary(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64),
		dictionary(arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float64),
	}
}

// Edges returns the values of a type that are likeliest to be treated wrongly, in no order.
func Edges(dt arrow.DataType) []any {
	dt = valueType(dt)
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return []any{false, true}
	case *arrow.Float16Type:
		return floats(math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1, 65504, -65504, 1.0/(1<<14))
	case *arrow.Float32Type:
		return floats(math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1,
			math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32)
	case *arrow.Float64Type:
		return floats(math.NaN(), math.Float64frombits(0xfff8_0000_0000_0123), math.Inf(1), math.Inf(-1),
			math.Copysign(0, -1), 0,
			1, -1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e9+0.25)
	case arrow.DecimalType:
		largest := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(dt.GetPrecision())), nil)
		largest.Sub(largest, big.NewInt(1))
		return []any{big.NewInt(0), big.NewInt(1), big.NewInt(-1), big.NewInt(-314), largest, new(big.Int).Neg(largest)}
	case *arrow.FixedSizeBinaryType:
		return []any{strings.Repeat("\x00", dt.ByteWidth), strings.Repeat("\xff", dt.ByteWidth),
			strings.Repeat("a", dt.ByteWidth),
			strings.Repeat("a", dt.ByteWidth-1) + "b", "\x01" + strings.Repeat("a", dt.ByteWidth-1)}
	}
	if low, high, ok := intRange(dt); ok {
		cells := []any{low, low + 1, int64(0), int64(1), int64(63), high - 1, high}
		if low < 0 {
			cells = append(cells, int64(-1))
		}
		return cells
	}
	if arrow.IsUnsignedInteger(dt.ID()) {
		high := uintMax(dt)
		return []any{uint64(0), uint64(1), uint64(63), high/2 + 1, high / 2, high - 1, high}
	}
	return edgeBytes(dt)
}

func floats(values ...float64) []any {
	cells := make([]any, len(values))
	for i, v := range values {
		cells[i] = v
	}
	return cells
}

// edgeBytes returns strings around the 12 bytes that fit a packed word pair, with shared prefixes
// and zero bytes; for binary types, some that are not UTF-8.
func edgeBytes(dt arrow.DataType) []any {
	const letters = "abcdefghijklmnop"
	var cells []any
	for n := range 14 {
		cells = append(cells, letters[:n])
	}
	prefix := strings.Repeat("prefix", 50)
	cells = append(cells, "\x00", "\x00\x00", "a\x00", "abcdefghijkl\x00", "abcdefghijk\x00",
		"abcdefghijklX", "abcdefghijkX",
		prefix, prefix+"a", prefix+"b", prefix[:299]+"y", "é", "日本語のテキスト", "NULL", "\"quoted\", with 'both'", "line\nbreak")
	if id := dt.ID(); id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW {
		cells = append(cells, "\xff", "\xff\xfe\x00", strings.Repeat("\xff", 20))
	}
	return cells
}

const (
	day      = 24 * time.Hour
	firstDay = -719_162  // 0001-01-01, from 1970-01-01
	lastDay  = 2_932_896 // 9999-12-31
)

// intRange returns the bounds of a type whose cells are int64. Dates have the years 1 to 9999,
// times one day.
func intRange(dt arrow.DataType) (low, high int64, ok bool) {
	switch dt := dt.(type) {
	case *arrow.Int8Type:
		return math.MinInt8, math.MaxInt8, true
	case *arrow.Int16Type:
		return math.MinInt16, math.MaxInt16, true
	case *arrow.Int32Type:
		return math.MinInt32, math.MaxInt32, true
	case *arrow.Int64Type, *arrow.TimestampType, *arrow.DurationType:
		return math.MinInt64, math.MaxInt64, true
	case *arrow.Date32Type:
		return firstDay, lastDay, true
	case *arrow.Date64Type:
		return firstDay * 86_400_000, lastDay * 86_400_000, true
	case *arrow.Time32Type:
		return 0, int64(day/dt.Unit.Multiplier()) - 1, true
	case *arrow.Time64Type:
		return 0, int64(day/dt.Unit.Multiplier()) - 1, true
	}
	return 0, 0, false
}

func uintMax(dt arrow.DataType) uint64 {
	return math.MaxUint64 >> (64 - dt.(arrow.FixedWidthDataType).BitWidth())
}
