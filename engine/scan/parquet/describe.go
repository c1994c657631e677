package parquet

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Describe adds up the column chunks of each column that is not nested.
func (p *File) Describe(columns []decode.ColumnInfo) {
	for c, leaf := range p.leaves {
		if leaf < 0 {
			continue
		}
		info := &columns[c]
		info.Nulls, info.CompressedBytes, info.UncompressedBytes = 0, 0, 0
		shown := chunkBounds{complete: true}
		stored := p.storedColumn(c)
		for i := range p.groups {
			chunk := &p.groups[i].chunks[leaf]
			nulls := int64(-1)
			if stats := p.trusted(stored.leaf, chunk); stats != nil {
				nulls = stats.nulls
			}
			info.Nulls = decode.AddKnown(info.Nulls, nulls)
			info.CompressedBytes += chunk.bytes
			info.UncompressedBytes += chunk.unpacked
			info.Codecs = appendNew(info.Codecs, chunk.codec.String())
			for e := range chunk.encodings.all() {
				info.Encodings = appendNew(info.Encodings, e.String())
			}
			if nulls != chunk.values { // else there is no value to bound
				b := p.boundsOf(&stored, &p.groups[i], chunk)
				shown.add(&b, info.Type)
			}
		}
		info.HasRange = shown.complete && shown.low != nil
		if info.HasRange {
			info.Min, info.Max = shown.low.text, shown.high.text
		}
	}
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// chunkBounds keeps the smallest minimum and the largest maximum of column chunks.
type chunkBounds struct {
	low, high *bound
	complete  bool // every chunk so far had bounds
}

func (b *chunkBounds) add(of *predicate.Bounds, t arrow.DataType) {
	low, high, ok := shownRange(of, t)
	if b.complete = b.complete && ok; !ok {
		return
	}
	if b.low == nil || low.compare(*b.low) < 0 {
		b.low = &low
	}
	if b.high == nil || high.compare(*b.high) > 0 {
		b.high = &high
	}
}
