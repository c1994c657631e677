package parquet

import (
	"cmp"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Stats puts the statistics of all row groups together. What a writer left out, or wrote wrong in a
// way that arrow-go knows of, is unknown.
func (p *File) Stats() decode.Stats {
	return p.StatsOf(make([]decode.GroupPlan, len(p.groups)))
}

// StatsOf puts those of what is left of the row groups together.
func (p *File) StatsOf(groups []decode.GroupPlan) decode.Stats {
	stats := decode.Stats{Bytes: p.size, Columns: make([]decode.ColumnStats, p.fields.NumFields())}
	for i := range groups {
		stats.Rows += groups[i].Rows(p.groups[i].rows)
	}
	for c, leaf := range p.leaves {
		if leaf < 0 {
			continue
		}
		stats.Columns[c] = p.columnStats(c, leaf, groups)
	}
	return stats
}

func (p *File) columnStats(c, leaf int, groups []decode.GroupPlan) decode.ColumnStats {
	merged := decode.ColumnStats{NoNulls: true}
	ranged, first, tight := true, true, true
	coded, rows, codedBytes := arrow.IsBaseBinary(p.fields.Field(c).Type.ID()), int64(0), int64(0)
	stored := p.storedColumn(c)
	stored.compared = stored.compared && countsAsInteger(stored.typ)
	for i := range p.groups {
		group := &p.groups[i]
		if group.rows == 0 || groups[i].Pruned {
			continue
		}
		chunk := &group.chunks[leaf]
		coded = coded && p.holdsCodes(c, chunk)
		rows += groups[i].Rows(group.rows)
		codedBytes += chunk.dataStart - chunk.start()
		b := p.boundsOf(&stored, group, chunk)
		merged.NoNulls = merged.NoNulls && b.NoNulls
		if b.AllNulls {
			continue // no value to bound
		}
		tight = tight && b.Exact && groups[i].Ranges == nil
		low, high, ok := integerRange(&b, stored.typ)
		switch {
		case !ok:
			ranged = false
		case first:
			merged.Min, merged.Max, first = low, high, false
		default:
			merged.Min, merged.Max = min(merged.Min, low), max(merged.Max, high)
		}
	}
	merged.Repeats = coded && codedBytes*dictionaryShare <= rows
	merged.HasRange = ranged && !first
	merged.Tight = merged.HasRange && tight
	if !merged.HasRange {
		merged.Min, merged.Max = 0, 0
	}
	return merged
}

// dictionaryShare is how many rows there must be for each byte of compressed dictionary: a value
// takes some bytes there, so that it then stands for tens of rows.
const dictionaryShare = 4

// integerRange returns the bounds of values that are counted as integers: in the units of
// the column's type, which are those of the file.
func integerRange(b *predicate.Bounds, t arrow.DataType) (low, high int64, ok bool) {
	if !countsAsInteger(t) || b.Low == nil || b.High == nil || b.Low.Wide != nil || b.High.Wide != nil {
		return 0, 0, false
	}
	return b.Low.Integer, b.High.Integer, true
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

// countsAsInteger says whether the values of a type are counted as integers.
func countsAsInteger(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.DURATION, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

// shownRange returns bounds as they are shown, if they can be.
func shownRange(b *predicate.Bounds, t arrow.DataType) (low, high bound, ok bool) {
	if b.Low == nil || b.High == nil {
		return low, high, false
	}
	if a, b, ok := integerRange(b, t); ok {
		return bound{integer: a, text: integerText(a, t)}, bound{integer: b, text: integerText(b, t)}, true
	}
	switch t.ID() {
	case arrow.FLOAT32, arrow.FLOAT64:
		return floatOf(b.Low.Float), floatOf(b.High.Float), true
	case arrow.STRING, arrow.LARGE_STRING:
		return bound{text: string(b.Low.Bytes), kind: textBound}, bound{text: string(b.High.Bytes), kind: textBound}, true
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
