package temporary

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/vector"
)

// widen makes the range of a column hold the values of an array; first says that there were none before. A column that
// is of no integers, dates or timestamps has no range, nor has one of NULLs alone.
func widen(known *scan.ColumnStats, column arrow.Array, first bool) {
	if first {
		known.Min, known.Max = math.MaxInt64, math.MinInt64
	} else if !known.HasRange {
		return
	}
	known.HasRange = false
	switch column.DataType().ID() {
	case arrow.DICTIONARY, arrow.UINT64, arrow.TIME32, arrow.TIME64, arrow.DURATION:
		return
	}
	values, ok := vector.Integers(column)
	nulls := column.NullN() > 0
	for i, v := range values {
		if !nulls || column.IsValid(i) {
			known.Min, known.Max = min(known.Min, v), max(known.Max, v)
		}
	}
	known.HasRange = ok && known.Min <= known.Max
}
