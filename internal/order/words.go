package order

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// wordDigits is how many digits of a decimal surely fit a word.
const wordDigits = 18

// HasExactWords says whether values of a type are equal where their Words are.
func HasExactWords(dt arrow.DataType) bool {
	switch dt := dt.(type) {
	case *arrow.Decimal128Type:
		return dt.Precision <= wordDigits
	case *arrow.NullType, *arrow.BooleanType, *arrow.DictionaryType:
		return false
	}
	return dt.ID() != arrow.DECIMAL256 && dt.ID() != arrow.FIXED_SIZE_BINARY && widthOf(dt) <= 8
}

// SameWords says whether a value has the same word in columns of two types.
func SameWords(a, b arrow.DataType) bool {
	return arrow.TypeEqual(a, b) || isBytes(a) && isBytes(b)
}

// isBytes says whether values of a type are strings or binaries of any length.
func isBytes(dt arrow.DataType) bool {
	return arrow.IsBaseBinary(dt.ID()) || dt.ID() == arrow.STRING_VIEW || dt.ID() == arrow.BINARY_VIEW
}

// Words writes a word for each value of a column of a Sortable type, anything for NULL: the word of a greater value is
// no less. Of types that have no words all are 0.
func Words(words []uint64, values arrow.Array) {
	words = words[:values.Len()]
	switch values := values.(type) {
	case stringArray[int32], stringArray[int64]:
		sieveWords(words, values.(arrow.Array), nil)
	case *array.Decimal128:
		for i := range words {
			v := values.Value(i)
			low, high := int64(v.LowBits()), v.HighBits()
			switch {
			case high == low>>63:
			case high < 0:
				low = math.MinInt64
			default:
				low = math.MaxInt64
			}
			words[i] = uint64(low) ^ 1<<63
		}
	default:
		if orderedWords(words, values) == 0 {
			clear(words)
		}
	}
}
