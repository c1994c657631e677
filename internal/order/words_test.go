package order

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Would catch a word that is less than the word of a lesser value, and equal words of different values where they are
// said to be exact. Values are given in their order.
func TestWords(t *testing.T) {
	decimals := func(precision int32, values ...decimal128.Num) arrow.Array {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: precision, Scale: 2})
		b.AppendValues(values, nil)
		return b.NewArray()
	}
	doubles := array.NewFloat64Builder(memory.DefaultAllocator)
	doubles.AppendValues([]float64{math.Inf(-1), -2.5, -0.5, 0, 1e-300, 3, math.Inf(1), math.NaN()}, nil)
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	texts.AppendValues([]string{"", "\x00", "a", "a text of more than a word", "a text of more than two", "b", "ß"}, nil)
	bools := array.NewBooleanBuilder(memory.DefaultAllocator)
	bools.AppendValues([]bool{false, true}, nil)
	days := array.NewDate32Builder(memory.DefaultAllocator)
	days.AppendValues([]arrow.Date32{math.MinInt32, -1, 0, 20000}, nil)
	for _, values := range []arrow.Array{
		decimals(18, decimal128.FromI64(-1e17), decimal128.FromI64(-1), decimal128.FromI64(0), decimal128.FromI64(1e17)),
		decimals(38, decimal128.New(-5, 3), decimal128.New(-1, 7), decimal128.FromI64(math.MinInt64), decimal128.FromI64(-1),
			decimal128.FromI64(5), decimal128.FromI64(math.MaxInt64), decimal128.New(0, math.MaxUint64), decimal128.New(9, 1)),
		doubles.NewArray(), texts.NewArray(), bools.NewArray(), days.NewArray(),
	} {
		words := make([]uint64, values.Len())
		Words(words, values)
		isExact := HasExactWords(values.DataType())
		for i := 1; i < len(words); i++ {
			if words[i] < words[i-1] || isExact && words[i] == words[i-1] {
				t.Errorf("%s: %s has the word %x, and %s %x, exact: %v", values.DataType(),
					values.ValueStr(i-1), words[i-1], values.ValueStr(i), words[i], isExact)
			}
		}
	}
}
