package parquet

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/nested"
)

// ColumnInfo is what a file tells of a column. All of its row groups count together.
type ColumnInfo struct {
	Name              string
	Type              arrow.DataType
	Nulls             int64 // -1 when it is not known
	CompressedBytes   int64 // -1 when it is not known
	UncompressedBytes int64 // -1 when it is not known
	Codecs            []string
	Encodings         []string
	OnDevice          OnDevice
	HasRange          bool
	Min, Max          string // as text, of all row groups
}

// TypeText returns the type for people: its name in SQL.
func (c *ColumnInfo) TypeText() string {
	name := query.TypeName(c.Type)
	isUnread := c.Type.ID() == arrow.EXTENSION || query.CheckReadable(c.Name, c.Type) != nil
	if nested.Of(c.Type) == nil && isUnread {
		return name + " (not readable)"
	}
	return name
}

// OnDevice says whether GPUs decode the pages of a column.
type OnDevice string

// What is said of a column, from the least on: by its chunk that has least.
const (
	DeviceUnknown OnDevice = ""                 // the file is not Parquet, or has no rows
	DeviceNo      OnDevice = "no"               // the type, an encoding or the nesting is the CPU's
	DeviceStrings OnDevice = "with string keys" // of a codec that the CPU decompresses, which pays where a key is a string
	DeviceYes     OnDevice = "yes"
)

// onDevice returns what is said of a chunk.
func (p *File) onDevice(field int, chunk *columnChunk) OnDevice {
	switch c, err := p.pagedColumn(field, chunk); {
	case err != nil:
		return DeviceNo
	case c.Codec != "":
		return DeviceStrings
	}
	return DeviceYes
}

// least returns the lesser of what is said of two chunks.
func (d OnDevice) least(of OnDevice) OnDevice {
	for _, least := range []OnDevice{DeviceNo, DeviceStrings} {
		if d == least || of == least {
			return least
		}
	}
	return DeviceYes
}

// Describe fills in what the footer says of the chunks of each column that is not nested.
func (p *File) Describe(columns []ColumnInfo) {
	for c, leaf := range p.leaves {
		if leaf < 0 {
			continue
		}
		info := &columns[c]
		info.Nulls, info.CompressedBytes, info.UncompressedBytes = 0, 0, 0
		bounds := chunkBounds{complete: true}
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
			info.OnDevice = info.OnDevice.least(p.onDevice(c, chunk))
			info.Codecs = appendNew(info.Codecs, chunk.codec.String())
			for e := range chunk.encodings.all() {
				info.Encodings = appendNew(info.Encodings, e.String())
			}
			if nulls != chunk.values { // else there is no value to bound
				b := p.boundsOf(&stored, &p.groups[i], chunk)
				bounds.add(&b, info.Type)
			}
		}
		if info.HasRange = bounds.known(); info.HasRange {
			info.Min, info.Max = shown(bounds.low, info.Type), shown(bounds.high, info.Type)
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
	low, high *predicate.Value // nil before the first
	complete  bool             // every chunk so far had bounds that can be shown
}

// known says whether there are chunks, and all have bounds.
func (b *chunkBounds) known() bool { return b.complete && b.low != nil }

func (b *chunkBounds) add(of *predicate.Bounds, t arrow.DataType) {
	if !shows(of.Low, t) || !shows(of.High, t) {
		b.complete = false
		return
	}
	if b.low == nil || compareShown(of.Low, b.low) < 0 {
		b.low = of.Low
	}
	if b.high == nil || compareShown(of.High, b.high) > 0 {
		b.high = of.High
	}
}

// compareShown compares bounds of one type, each of which has one of these three, by shows.
func compareShown(a, b *predicate.Value) int {
	return cmp.Or(cmp.Compare(a.Integer, b.Integer), cmp.Compare(a.Float, b.Float), bytes.Compare(a.Bytes, b.Bytes))
}
