package scan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// FileInfo is what a file says of itself without its rows being read.
type FileInfo struct {
	Path    string
	Format  Format
	Bytes   int64 // of the file; -1 for standard input
	Rows    int64 // -1 when it is not known
	Parts   int   // row groups or record batches; 0 for text and streams
	Columns []ColumnInfo
}

// ColumnInfo is what a file says of a column. All of its row groups count together.
type ColumnInfo struct {
	Name              string
	Type              arrow.DataType
	Nulls             int64 // -1 when it is not known
	CompressedBytes   int64 // -1 when it is not known
	UncompressedBytes int64 // -1 when it is not known
	Codecs            []string
	Encodings         []string
	HasRange          bool
	Min, Max          string // as text, of the row groups that have statistics if all do
}

// Describe returns what is known of each file that the patterns name, in the order in which Open
// reads them. Files need not have the same columns.
func Describe(ctx context.Context, patterns []string, opt Options) ([]FileInfo, error) {
	files, err := openAll(ctx, patterns, &opt)
	if err != nil {
		return nil, err
	}
	var infos []FileInfo
	for _, in := range files.inputs {
		stats := in.stats()
		info := FileInfo{Path: in.name(), Bytes: stats.Bytes, Rows: stats.Rows}
		for _, f := range in.schema().Fields() {
			info.Columns = append(info.Columns, ColumnInfo{Name: f.Name, Type: f.Type, Nulls: -1, CompressedBytes: -1, UncompressedBytes: -1})
		}
		switch in := in.(type) {
		case *parquetFile:
			info.Format, info.Parts = FormatParquet, len(in.groups)
			in.describe(info.Columns)
		case *arrowFile:
			info.Format, info.Parts = FormatArrow, len(in.batches)
		case *arrowStream:
			info.Format = FormatArrowStream
		case *csvFile:
			info.Format = FormatCSV
			if in.dialect.delimiter == '\t' {
				info.Format = FormatTSV
			}
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// describe adds up the column chunks of each column that is not nested.
func (p *parquetFile) describe(columns []ColumnInfo) {
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
			info.Nulls = addKnown(info.Nulls, nulls)
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

func (b *chunkBounds) add(of *bounds, t arrow.DataType) {
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
