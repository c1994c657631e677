package scan

import (
	"context"
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
		switch in := in.input.(type) {
		case *parquetFile:
			info.Format, info.Parts = FormatParquet, in.groupCount()
			in.describe(info.Columns)
		case *arrowFile:
			info.Format, info.Parts = FormatArrow, in.batchCount()
		case *arrowStream:
			info.Format = FormatArrowStream
		case *csvFile:
			info.Format = FormatCSV
			if in.delimiter() == '\t' {
				info.Format = FormatTSV
			}
		}
		infos = append(infos, info)
	}
	return infos, nil
}
