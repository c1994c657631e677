package scan

import (
	"cmp"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// stats puts the statistics of all row groups together. What a writer left out, or wrote wrong in a
// way that arrow-go knows of, is unknown.
func (p *parquetFile) stats() Stats {
	return p.statsOf(make([]groupPlan, len(p.meta.RowGroups)))
}

// statsOf puts those of what is left of the row groups together.
func (p *parquetFile) statsOf(groups []groupPlan) Stats {
	stats := Stats{Bytes: p.size, Columns: make([]ColumnStats, p.fields.NumFields())}
	for i := range groups {
		stats.Rows += groups[i].rows(p.meta.RowGroup(i).NumRows())
	}
	for c, leaf := range p.leaves {
		if leaf < 0 {
			continue
		}
		err := guard(func() (err error) {
			stats.Columns[c], err = p.columnStats(c, leaf, groups)
			return err
		})
		if err != nil {
			stats.Columns[c] = ColumnStats{} // corrupt statistics promise nothing
		}
	}
	return stats
}

func (p *parquetFile) columnStats(c, leaf int, groups []groupPlan) (ColumnStats, error) {
	merged := ColumnStats{NoNulls: true}
	ranged, first := true, true
	coded, rows, codedBytes := arrow.IsBaseBinary(p.fields.Field(c).Type.ID()), int64(0), int64(0)
	for i := range p.meta.RowGroups {
		group := p.meta.RowGroup(i)
		if group.NumRows() == 0 || groups[i].pruned {
			continue
		}
		chunk, err := group.ColumnChunk(leaf)
		if err != nil {
			return merged, err
		}
		coded = coded && p.holdsCodes(c, chunk)
		rows += groups[i].rows(group.NumRows())
		codedBytes += chunk.DataPageOffset() - chunkStart(chunk)
		typed, err := chunk.Statistics()
		if err != nil {
			return merged, err
		}
		required := p.meta.Schema.Column(leaf).MaxDefinitionLevel() == 0
		merged.NoNulls = merged.NoNulls && (required || typed != nil && typed.HasNullCount() && typed.NullCount() == 0)
		if typed != nil && typed.HasNullCount() && typed.NullCount() == group.NumRows() {
			continue // all NULL: no value to bound
		}
		low, high, ok := integerRange(typed, p.fields.Field(c).Type)
		switch {
		case !ok || low > high:
			ranged = false
		case first:
			merged.Min, merged.Max, first = low, high, false
		default:
			merged.Min, merged.Max = min(merged.Min, low), max(merged.Max, high)
		}
	}
	merged.Repeats = coded && codedBytes*dictionaryShare <= rows
	merged.HasRange = ranged && !first
	if !merged.HasRange {
		merged.Min, merged.Max = 0, 0
	}
	return merged, nil
}

// dictionaryShare is how many rows there must be for each byte of compressed dictionary: a value
// takes some bytes there, so that it then stands for tens of rows.
const dictionaryShare = 4

// integerRange returns the range of a chunk whose values are counted as integers: in the units of
// the column's type, which are those of the file.
func integerRange(typed metadata.TypedStatistics, t arrow.DataType) (low, high int64, ok bool) {
	if typed == nil || !typed.HasMinMax() {
		return 0, 0, false
	}
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.DURATION, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
	default:
		return 0, 0, false
	}
	unsigned := arrow.IsUnsignedInteger(t.ID())
	if unsigned && typed.Descr().ColumnOrder() != parquet.ColumnOrders.TypeDefinedOrder {
		return 0, 0, false // old writers compared these as signed
	}
	switch s := typed.(type) {
	case *metadata.Int32Statistics:
		if unsigned {
			return int64(uint32(s.Min())), int64(uint32(s.Max())), true
		}
		return int64(s.Min()), int64(s.Max()), true
	case *metadata.Int64Statistics:
		return s.Min(), s.Max(), !unsigned || uint64(s.Max()) <= math.MaxInt64
	}
	return 0, 0, false // 96-bit timestamps
}

// bound is a minimum or maximum, to compare and to show. Only one of integer, float and text counts,
// by the column's type.
type bound struct {
	integer int64
	float   float64
	text    string
	kind    boundKind
}

type boundKind uint8

const (
	integerBound boundKind = iota
	floatBound
	textBound
)

func (b bound) compare(o bound) int {
	switch b.kind {
	case integerBound:
		return cmp.Compare(b.integer, o.integer)
	case floatBound:
		return cmp.Compare(b.float, o.float)
	}
	return cmp.Compare(b.text, o.text)
}

// chunkRange returns the bounds of a column chunk, if it has any that can be shown.
func chunkRange(typed metadata.TypedStatistics, t arrow.DataType) (low, high bound, ok bool) {
	if typed == nil || !typed.HasMinMax() {
		return low, high, false
	}
	if a, b, ok := integerRange(typed, t); ok {
		return bound{integer: a, text: integerText(a, t)}, bound{integer: b, text: integerText(b, t)}, true
	}
	switch s := typed.(type) {
	case *metadata.Float32Statistics:
		return floatOf(float64(s.Min())), floatOf(float64(s.Max())), true
	case *metadata.Float64Statistics:
		return floatOf(s.Min()), floatOf(s.Max()), true
	case *metadata.ByteArrayStatistics:
		if t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING {
			return bound{text: string(s.Min()), kind: textBound}, bound{text: string(s.Max()), kind: textBound}, true
		}
	}
	return low, high, false
}

func floatOf(f float64) bound {
	return bound{float: f, text: strconv.FormatFloat(f, 'g', -1, 64), kind: floatBound}
}

// integerText writes an integer as the moment it stands for, where it does.
func integerText(n int64, t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return arrow.Date32(n).FormattedString()
	case *arrow.TimestampType:
		return arrow.Timestamp(n).ToTime(t.Unit).Format("2006-01-02 15:04:05.999999999")
	case *arrow.Time32Type:
		return arrow.Time32(n).FormattedString(t.Unit)
	case *arrow.Time64Type:
		return arrow.Time64(n).FormattedString(t.Unit)
	}
	return strconv.FormatInt(n, 10)
}
