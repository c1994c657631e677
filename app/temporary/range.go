package temporary

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
)

// widen makes the range of a column hold the values of an array; first says that there were none before. A column that
// is of no integers has no range.
func widen(known *scan.ColumnStats, column arrow.Array, first bool) {
	if !first && !known.HasRange {
		return
	}
	if first {
		known.Min, known.Max = math.MaxInt64, math.MinInt64
	}
	switch a := column.(type) {
	case *array.Int8:
		known.HasRange = within(known, a, a.Int8Values())
	case *array.Int16:
		known.HasRange = within(known, a, a.Int16Values())
	case *array.Int32:
		known.HasRange = within(known, a, a.Int32Values())
	case *array.Int64:
		known.HasRange = within(known, a, a.Int64Values())
	case *array.Uint8:
		known.HasRange = within(known, a, a.Uint8Values())
	case *array.Uint16:
		known.HasRange = within(known, a, a.Uint16Values())
	case *array.Uint32:
		known.HasRange = within(known, a, a.Uint32Values())
	case *array.Date32:
		known.HasRange = within(known, a, a.Date32Values())
	case *array.Timestamp:
		known.HasRange = within(known, a, a.TimestampValues())
	default:
		known.HasRange = false
	}
}

// within widens a range by the values of an array that are not NULL, and says whether there is one: an empty range of
// NULLs alone is none.
func within[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](
	known *scan.ColumnStats, a arrow.Array, values []T,
) bool {
	nulls := a.NullN() > 0
	for i, v := range values {
		if !nulls || a.IsValid(i) {
			known.Min, known.Max = min(known.Min, int64(v)), max(known.Max, int64(v))
		}
	}
	return known.Min <= known.Max
}
