package scan

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// narrowStats adds to what is known of columns that the terms hold for every row: a column that is compared
// has no NULL, and its values are in the range that is left. A range is what packs keys and makes tables small.
func narrowStats(columns []decode.ColumnStats, terms []predicate.Term, schema *arrow.Schema) {
	for i := range terms {
		t := &terms[i]
		if t.Op == predicate.OpIsNull {
			continue
		}
		c := &columns[t.Column]
		c.NoNulls = true
		low, high, ok := c.Min, c.Max, c.HasRange
		if !ok {
			low, high, ok = TypeRange(schema.Field(t.Column).Type)
		}
		if low, high = t.Narrow(low, high); ok && low <= high && t.Compares() {
			c.HasRange, c.Min, c.Max = true, low, high
		}
	}
}

// TypeRange returns the range of a type whose columns may have one. ColumnStats has none for all of uint64.
func TypeRange(t arrow.DataType) (low, high int64, ok bool) {
	switch t.ID() {
	case arrow.INT8:
		return math.MinInt8, math.MaxInt8, true
	case arrow.INT16:
		return math.MinInt16, math.MaxInt16, true
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return math.MinInt32, math.MaxInt32, true
	case arrow.INT64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return math.MinInt64, math.MaxInt64, true
	case arrow.UINT8:
		return 0, math.MaxUint8, true
	case arrow.UINT16:
		return 0, math.MaxUint16, true
	case arrow.UINT32:
		return 0, math.MaxUint32, true
	}
	return 0, 0, false
}
