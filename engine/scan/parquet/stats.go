package parquet

import (
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Stats merges the statistics of all row groups. Statistics that a writer left out, or wrote wrong
// in a way that arrow-go knows of, are unknown.
func (p *File) Stats() decode.Stats { return p.stats() }

// StatsOf implements decode.Grouped.
func (p *File) StatsOf(groups []decode.GroupPlan) decode.Stats {
	if some := func(g decode.GroupPlan) bool { return g.Pruned || g.Ranges != nil }; slices.ContainsFunc(groups, some) {
		return p.statsOf(groups)
	}
	return p.stats()
}

func (p *File) statsOf(groups []decode.GroupPlan) decode.Stats {
	stats := decode.Stats{Bytes: p.size, Columns: make([]decode.ColumnStats, p.flat.Schema.NumFields())}
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
	bounds, tight := chunkBounds{complete: true}, true
	coded, rows := arrow.IsBaseBinary(p.flat.Schema.Field(c).Type.ID()), int64(0)
	var entries dictionarySize
	valuesMost, valuesTold := int64(0), true // distinct values of a chunk, at most
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
		values := chunk.distinctValues()
		if coded {
			values = entries.add(chunk)
		}
		valuesMost, valuesTold = max(valuesMost, values), valuesTold && values > 0
		b := p.boundsOf(&stored, group, chunk)
		merged.NoNulls = merged.NoNulls && b.NoNulls
		if b.AllNulls {
			continue // no value to bound
		}
		tight = tight && b.Exact && groups[i].Ranges == nil
		bounds.add(&b, stored.typ)
	}
	merged.Repeats = coded && entries.values*rowsPerString <= rows
	if merged.Repeats && entries.packed*rowsPerByte > rows {
		merged.StringBytes = entries.bytes
	}
	if bounds.known() {
		merged.HasRange, merged.Tight = true, tight
		merged.Min, merged.Max = bounds.low.Integer, bounds.high.Integer
	} else if valuesTold {
		merged.Values = valuesMost
	}
	return merged
}

// rowsPerString is how many rows there must be for each string of a dictionary: numbering a string
// takes as long as grouping by the strings of a few rows.
const rowsPerString = 4

// rowsPerByte is how many rows there must be for each compressed byte of dictionaries that are
// small beside the rows.
const rowsPerByte = 4

// dictionarySize adds up dictionaries of strings.
type dictionarySize struct {
	values int64 // counted by the writer, or guessed
	packed int64 // bytes, compressed
	bytes  int64 // about
}

// distinctValues returns how many distinct values a chunk has; 0 where its writer has not counted.
func (c *columnChunk) distinctValues() int64 {
	if !c.stats.known {
		return 0
	}
	return max(c.stats.distinct, 0)
}

// add adds the dictionary of a chunk, and returns how many values that has, at least one.
func (d *dictionarySize) add(chunk *columnChunk) int64 {
	packed := max(chunk.dataStart-chunk.start(), 0)
	bytes := packed
	if chunk.bytes > 0 && chunk.unpacked > chunk.bytes { // the codes are packed about as well
		bytes = int64(float64(packed) * float64(chunk.unpacked) / float64(chunk.bytes))
	}
	values := chunk.distinctValues()
	if values == 0 {
		const lengthBytes, usualBytes = 4, 12
		text := usualBytes
		if chunk.stats.min != nil && chunk.stats.max != nil {
			text = (len(chunk.stats.min) + len(chunk.stats.max)) / 2
		}
		values = bytes / int64(lengthBytes+text)
	}
	d.values, d.packed, d.bytes = d.values+values, d.packed+packed, d.bytes+bytes
	return max(values, 1)
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

// shows says whether a bound of a type is known and can be shown.
func shows(v *predicate.Value, t arrow.DataType) bool {
	if v == nil || v.Wide != nil {
		return false
	}
	switch t.ID() {
	case arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING:
		return true
	}
	return countsAsInteger(t)
}

// shown returns a bound of a type as text.
// Requires: shows.
func shown(v *predicate.Value, t arrow.DataType) string {
	switch v.Family {
	case predicate.FloatFamily:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case predicate.BytesFamily:
		return string(v.Bytes)
	}
	return integerText(v.Integer, t)
}

// integerText writes an integer, or the moment that an integer of the type stands for.
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
