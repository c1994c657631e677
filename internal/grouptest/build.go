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

// appendCell appends a cell to a builder. Of the types that an int64, say, may stand for, the
// builder takes one.
func appendCell(b array.Builder, cell any) {
	taken := false
	switch v := cell.(type) {
	case nil:
		b.AppendNull()
		return
	case bool:
		taken = appendTo(b, v)
	case int64:
		taken = appendTo(b, v) || appendTo(b, int32(v)) || appendTo(b, int16(v)) || appendTo(b, int8(v)) ||
			appendTo(b, arrow.Date32(v)) || appendTo(b, arrow.Date64(v)) || appendTo(b, arrow.Time32(v)) ||
			appendTo(b, arrow.Time64(v)) ||
			appendTo(b, arrow.Timestamp(v)) || appendTo(b, arrow.Duration(v))
	case uint64:
		taken = appendTo(b, v) || appendTo(b, uint32(v)) || appendTo(b, uint16(v)) || appendTo(b, uint8(v))
	case float64:
		taken = appendTo(b, v) || appendTo(b, float32(v)) || appendTo(b, float16.FromBits(rowdata.ToHalf(float32(v))))
	case *big.Int:
		taken = appendTo(b, decimal.Decimal32(v.Int64())) || appendTo(b, decimal.Decimal64(v.Int64())) ||
			appendTo(b, decimal128.FromBigInt(v)) ||
			appendTo(b, decimal256.FromBigInt(v))
	case string:
		taken = appendTo(b, v) || appendTo(b, []byte(v))
	}
	if !taken {
		panic(fmt.Sprintf("a %s does not take a %T", b.Type(), cell))
	}
}

// appendTo appends a value if the builder is of its type.
func appendTo[T any](b array.Builder, v T) bool {
	to, ok := b.(interface{ Append(T) })
	if ok {
		to.Append(v)
	}
	return ok
}
