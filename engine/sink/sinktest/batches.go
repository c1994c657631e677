// Package sinktest makes record batches for the tests of the packages below engine/sink, and
// compares what was read back with them. Only tests import it.
package sinktest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// FlatTypes are the types of columns without children.
var FlatTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.FixedWidthTypes.Boolean,
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
	arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
	&arrow.FixedSizeBinaryType{ByteWidth: 3},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
	arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us,
	arrow.FixedWidthTypes.Time64ns,
	&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"},
	&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "+05:30"},
	&arrow.TimestampType{Unit: arrow.Microsecond},
	&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "America/New_York"},
	arrow.FixedWidthTypes.Duration_s, arrow.FixedWidthTypes.Duration_ms,
	arrow.FixedWidthTypes.Duration_us, arrow.FixedWidthTypes.Duration_ns,
	&arrow.Decimal32Type{Precision: 7, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: 0},
	&arrow.Decimal128Type{Precision: 38, Scale: 6}, &arrow.Decimal128Type{Precision: 12, Scale: 2},
	&arrow.Decimal256Type{Precision: 60, Scale: 10},
}

// AllTypes are FlatTypes, dictionaries of some, lists of all, and a struct.
func AllTypes() []arrow.DataType {
	types := append([]arrow.DataType{}, FlatTypes...)
	for _, v := range []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64,
		arrow.FixedWidthTypes.Date32, &arrow.Decimal64Type{Precision: 9, Scale: 3}} {
		types = append(types, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: v})
	}
	for _, v := range FlatTypes {
		types = append(types, arrow.ListOf(v))
	}
	return append(types,
		arrow.ListOf(arrow.ListOf(arrow.FixedWidthTypes.Duration_us)),
		arrow.LargeListOf(&arrow.Decimal32Type{Precision: 9, Scale: 1}),
		arrow.StructOf(arrow.Field{Name: "a \"b\"", Type: arrow.BinaryTypes.String, Nullable: true},
			arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Duration_s, Nullable: true}))
}

// SchemaOf returns a schema of nullable columns c00, c01 and so on, of the types.
func SchemaOf(types []arrow.DataType) *arrow.Schema {
	fields := make([]arrow.Field, len(types))
	for i, t := range types {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%02d", i), Type: t, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// RandomBatch fills a batch of the schema with extreme, odd and ordinary values; a fifth is NULL.
func RandomBatch(t testing.TB, schema *arrow.Schema, rows int, r *rand.Rand) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, f := range b.Fields() {
		for range rows {
			appendRandom(t, f, r)
		}
	}
	return b.NewRecordBatch()
}

func randomInt(r *rand.Rand, low, high int64) int64 {
	switch r.IntN(8) {
	case 0:
		return low
	case 1:
		return high
	case 2:
		return 0
	}
	return low + int64(r.Uint64N(uint64(high-low)))
}

func randomFloat(r *rand.Rand) float64 {
	edge := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e300, 1e-300,
		1e21, 1e20, 123456789, 0.1, 1e-6, 5e-324}
	if i := r.IntN(2 * len(edge)); i < len(edge) {
		return edge[i]
	}
	return (r.Float64() - 0.5) * 1e6
}

func randomString(r *rand.Rand) string {
	edge := []string{"", " ", "a,b", "say \"hi\"", "line\nbreak", "cr\rlf\n", "\"", "NULL", "ünïcödé",
		"日本語", "😀", "tab\there", "\\", "\x1b[31mred", "'"}
	if i := r.IntN(2 * len(edge)); i < len(edge) {
		return edge[i]
	}
	return fmt.Sprintf("id%03d", r.IntN(50))
}

func appendRandom(t testing.TB, b array.Builder, r *rand.Rand) {
	if r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	// 1684 to 2255, which every unit holds.
	seconds := randomInt(r, -9e9, 9e9)
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(randomInt(r, math.MinInt8, math.MaxInt8)))
	case *array.Int16Builder:
		b.Append(int16(randomInt(r, math.MinInt16, math.MaxInt16)))
	case *array.Int32Builder:
		b.Append(int32(randomInt(r, math.MinInt32, math.MaxInt32)))
	case *array.Int64Builder:
		b.Append(randomInt(r, math.MinInt64, math.MaxInt64))
	case *array.Uint8Builder:
		b.Append(uint8(randomInt(r, 0, math.MaxUint8)))
	case *array.Uint16Builder:
		b.Append(uint16(randomInt(r, 0, math.MaxUint16)))
	case *array.Uint32Builder:
		b.Append(uint32(randomInt(r, 0, math.MaxUint32)))
	case *array.Uint64Builder:
		b.Append(uint64(randomInt(r, math.MinInt64, math.MaxInt64)))
	case *array.Float16Builder:
		b.Append(float16.New(float32(randomFloat(r))))
	case *array.Float32Builder:
		b.Append(float32(randomFloat(r)))
	case *array.Float64Builder:
		b.Append(randomFloat(r))
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case array.StringLikeBuilder:
		b.Append(randomString(r))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte{byte(r.Uint32()), 'x', 0})
	case array.BinaryLikeBuilder:
		b.Append([]byte(randomString(r) + "\xff\x00"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(seconds / 86400))
	case *array.Date64Builder:
		b.Append(arrow.Date64(seconds / 86400 * 86400_000))
	case *array.Time32Builder:
		b.Append(arrow.Time32(randomInt(r, 0, 86399*perSecond(b.Type().(*arrow.Time32Type).Unit))))
	case *array.Time64Builder:
		b.Append(arrow.Time64(randomInt(r, 0, 86400*perSecond(b.Type().(*arrow.Time64Type).Unit)-1)))
	case *array.TimestampBuilder:
		per := perSecond(b.Type().(*arrow.TimestampType).Unit)
		b.Append(arrow.Timestamp(seconds*per + int64(r.Uint64N(uint64(per)))))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(randomInt(r, math.MinInt64, math.MaxInt64)))
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(randomInt(r, -9999999, 9999999)))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(randomInt(r, -999999999, 999999999)))
	case *array.Decimal128Builder:
		limit := int64(999_999_999_999)
		v := decimal128.FromI64(randomInt(r, -limit, limit))
		if b.Type().(*arrow.Decimal128Type).Precision == 38 {
			v = v.Mul(decimal128.FromI64(1e18)).Add(decimal128.FromI64(randomInt(r, -1e17, 1e17)))
		}
		b.Append(v)
	case *array.Decimal256Builder:
		v := decimal256.FromI64(randomInt(r, math.MinInt64, math.MaxInt64))
		b.Append(v.Mul(v).Mul(decimal256.FromI64(r.Int64N(3) - 1)))
	case *array.Int64DictionaryBuilder:
		Check(t, b.Append(r.Int64N(20)))
	case *array.Date32DictionaryBuilder:
		Check(t, b.Append(arrow.Date32(r.IntN(20))))
	case *array.BinaryDictionaryBuilder:
		Check(t, b.AppendString(randomString(r)))
	case *array.Decimal64DictionaryBuilder:
		Check(t, b.Append(decimal.Decimal64(r.IntN(20))))
	case array.ListLikeBuilder:
		b.Append(true)
		for range r.IntN(4) {
			appendRandom(t, b.ValueBuilder(), r)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendRandom(t, b.FieldBuilder(i), r)
		}
	default:
		t.Fatalf("no random values of %T", b)
	}
}

// perSecond returns how many of the unit a second has.
func perSecond(unit arrow.TimeUnit) int64 { return int64(time.Second / unit.Multiplier()) }

// Check ends the test if there is an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
