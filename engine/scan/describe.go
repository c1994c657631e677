package scan

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/metadata"
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
	inputs, _, err := openAll(ctx, patterns, &opt)
	if err != nil {
		return nil, err
	}
	var infos []FileInfo
	for _, in := range inputs {
		stats := in.stats()
		info := FileInfo{Path: in.name(), Bytes: stats.Bytes, Rows: stats.Rows}
		for _, f := range in.schema().Fields() {
			info.Columns = append(info.Columns, ColumnInfo{Name: f.Name, Type: f.Type, Nulls: -1, CompressedBytes: -1, UncompressedBytes: -1})
		}
		switch in := in.(type) {
		case *parquetFile:
			info.Format, info.Parts = FormatParquet, len(in.meta.RowGroups)
			err = guard(func() error { return in.describe(info.Columns) })
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
		if err != nil {
			return nil, locate(in.name(), err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// describe adds up the column chunks of each column that is not nested.
func (p *parquetFile) describe(columns []ColumnInfo) error {
	for c, leaf := range p.leaves {
		if leaf < 0 {
			continue
		}
		info := &columns[c]
		info.Nulls, info.CompressedBytes, info.UncompressedBytes = 0, 0, 0
		bounds := chunkBounds{complete: true}
		for i := range p.meta.RowGroups {
			chunk, err := p.meta.RowGroup(i).ColumnChunk(leaf)
			if err != nil {
				return err
			}
			typed, err := chunk.Statistics()
			if err != nil {
				return errors.Join(errors.New("statistics"), err)
			}
			nulls := int64(-1)
			if typed != nil && typed.HasNullCount() {
				nulls = typed.NullCount()
			}
			info.Nulls = addKnown(info.Nulls, nulls)
			info.CompressedBytes += chunk.TotalCompressedSize()
			info.UncompressedBytes += chunk.TotalUncompressedSize()
			info.Codecs = appendNew(info.Codecs, chunk.Compression().String())
			for _, e := range chunk.Encodings() {
				info.Encodings = appendNew(info.Encodings, e.String())
			}
			if nulls != chunk.NumValues() { // else there is no value to bound
				bounds.add(typed, info.Type)
			}
		}
		info.HasRange = bounds.complete && bounds.low != nil
		if info.HasRange {
			info.Min, info.Max = bounds.low.text, bounds.high.text
		}
	}
	return nil
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

func (b *chunkBounds) add(typed metadata.TypedStatistics, t arrow.DataType) {
	low, high, ok := chunkRange(typed, t)
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
