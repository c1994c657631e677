package grouptest

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/rowdata"
)

// Array builds an array of a type from cells. A dictionary has the distinct cells in the order of
// their first occurrence. It panics when a cell does not suit the type.
func Array(dt arrow.DataType, cells []any) arrow.Array {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		indexes, distinct := encode(cells)
		return DictionaryArray(d, indexes, distinct)
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	b.Reserve(len(cells))
	for _, cell := range cells {
		appendCell(b, cell)
	}
	return b.NewArray()
}

// encode returns cells as indexes into distinct cells; NULL has the index nil.
func encode(cells []any) (indexes, distinct []any) {
	codes := make(map[string]int64)
	for _, cell := range cells {
		if cell == nil {
			indexes = append(indexes, nil)
			continue
		}
		code, ok := codes[keyText(cell)]
		if !ok {
			code = int64(len(distinct))
			codes[keyText(cell)] = code
			distinct = append(distinct, cell)
		}
		indexes = append(indexes, code)
	}
	return indexes, distinct
}

// DictionaryArray builds an array from indexes, each nil or an int64, and a dictionary, which may
// hold NULLs and repeat itself.
func DictionaryArray(dt *arrow.DictionaryType, indexes, dictionary []any) arrow.Array {
	codes := make([]any, len(indexes))
	unsigned := arrow.IsUnsignedInteger(dt.IndexType.ID())
	for i, index := range indexes {
		codes[i] = index
		if code, ok := index.(int64); ok && unsigned {
			codes[i] = uint64(code)
		}
	}
	return array.NewDictionaryArray(dt, Array(dt.IndexType, codes), Array(dt.ValueType, dictionary))
}

// Batch makes a record batch of columns.
func Batch(schema *arrow.Schema, columns ...arrow.Array) arrow.RecordBatch {
	rows := 0
	if len(columns) > 0 {
		rows = columns[0].Len()
	}
	return array.NewRecordBatch(schema, columns, int64(rows))
}

func appendCell(b array.Builder, cell any) {
	if cell == nil {
		b.AppendNull()
		return
	}
	switch v := cell.(type) {
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	case int64:
		appendInt(b, v)
	case uint64:
		appendUint(b, v)
	case float64:
		appendFloat(b, v)
	case *big.Int:
		appendDecimal(b, v)
	case string:
		appendBytes(b, v)
	default:
		panic(fmt.Sprintf("no way to append a %T", cell))
	}
}

func appendInt(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v))
	default:
		panic(fmt.Sprintf("a %s does not take an int64", b.Type()))
	}
}

func appendUint(b array.Builder, v uint64) {
	switch b := b.(type) {
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Uint64Builder:
		b.Append(v)
	default:
		panic(fmt.Sprintf("a %s does not take a uint64", b.Type()))
	}
}

func appendFloat(b array.Builder, v float64) {
	switch b := b.(type) {
	case *array.Float16Builder:
		b.Append(float16.FromBits(rowdata.ToHalf(float32(v))))
	case *array.Float32Builder:
		b.Append(float32(v))
	case *array.Float64Builder:
		b.Append(v)
	default:
		panic(fmt.Sprintf("a %s does not take a float64", b.Type()))
	}
}

func appendDecimal(b array.Builder, v *big.Int) {
	switch b := b.(type) {
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(v.Int64()))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v.Int64()))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromBigInt(v))
	default:
		panic(fmt.Sprintf("a %s does not take a decimal", b.Type()))
	}
}

func appendBytes(b array.Builder, v string) {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v)
	case *array.LargeStringBuilder:
		b.Append(v)
	case *array.StringViewBuilder:
		b.Append(v)
	case *array.BinaryBuilder: // large binary too
		b.Append([]byte(v))
	case *array.BinaryViewBuilder:
		b.Append([]byte(v))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(v))
	default:
		panic(fmt.Sprintf("a %s does not take bytes", b.Type()))
	}
}
