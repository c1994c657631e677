package dataset

import (
	"iter"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/ipc"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/engine/scan/parquet"
)

// FileInfo is what a file tells without its rows being read.
type FileInfo struct {
	Path    string
	Format  Format
	Bytes   int64 // of the file; -1 for standard input
	Rows    int64 // -1 when it is not known
	Parts   int   // row groups or record batches; 0 for text and streams
	Columns []ColumnInfo
}

// ColumnInfo is what a file tells of a column: only the name and the type unless it is Parquet.
type ColumnInfo = parquet.ColumnInfo

// formats returns the format of each file with its name: FormatCSV of TSV, and FormatArrow of a stream, too.
func (files *openFiles) formats() iter.Seq2[string, Format] {
	return func(yield func(string, Format) bool) {
		for _, in := range files.inputs {
			format := FormatArrow
			switch in.Input.(type) {
			case *parquet.File:
				format = FormatParquet
			case *csv.File:
				format = FormatCSV
			case *json.File:
				format = FormatJSON
			}
			if !yield(in.Name(), format) {
				return
			}
		}
	}
}

// describe returns what is known of each file.
func (files *openFiles) describe() (infos []FileInfo) {
	for _, in := range files.inputs {
		stats := in.Stats()
		info := FileInfo{Path: in.Name(), Bytes: stats.Bytes, Rows: stats.Rows}
		for _, f := range in.Schema().Fields() {
			c := ColumnInfo{Name: f.Name, Type: f.Type, Nulls: -1, CompressedBytes: -1, UncompressedBytes: -1}
			info.Columns = append(info.Columns, c)
		}
		switch in := in.Input.(type) {
		case *parquet.File:
			info.Format, info.Parts = FormatParquet, in.GroupCount()
			in.Describe(info.Columns)
		case *ipc.File:
			info.Format, info.Parts = FormatArrow, in.BatchCount()
		case *ipc.Stream:
			info.Format = FormatArrowStream
		case *csv.File:
			info.Format = FormatCSV
			if in.Delimiter() == '\t' {
				info.Format = FormatTSV
			}
		case *json.File:
			info.Format = FormatJSON
		}
		infos = append(infos, info)
	}
	return infos
}
