package dataset

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/parquet"
)

// Summary is what files tell together, as one table, without their rows being read.
type Summary struct {
	Files       []FileInfo // in the order in which Open reads them
	Formats     []Format   // each once
	Bytes, Rows int64      // -1 when they are not known
	Parts       int        // row groups or record batches
	Columns     []SummaryColumn
	Differences []Difference // between the files' columns
	Table       error        // why the files are not read as one table; nil where they are
}

// SummaryColumn is a column of the files, or of their folders or names.
type SummaryColumn struct {
	ColumnInfo
	Files int  // that have the column; 0 of a column of the path
	Path  bool // the values are parts of the files' paths: of folders key=value, or names

	valued bool // a file that was merged has values in the column
}

// Difference is how the columns of a file differ from the columns of the other files.
type Difference struct {
	Path   string
	Column string
	Type   arrow.DataType // nil: the file does not have the column
	Common arrow.DataType // the type in most files that have the column
}

// Summarize returns what the files of the patterns tell together. The columns are all that a file
// has; the type of a column is its type in the table that Open makes, or else in most files.
func Summarize(ctx context.Context, patterns []string, opt Options) (*Summary, error) {
	files, err := openAll(ctx, patterns, &opt)
	if err != nil {
		return nil, err
	}
	s := &Summary{Files: files.describe()}
	for _, f := range s.Files {
		if !slices.Contains(s.Formats, f.Format) {
			s.Formats = append(s.Formats, f.Format)
		}
		s.Bytes = decode.AddKnown(s.Bytes, f.Bytes)
		s.Rows = decode.AddKnown(s.Rows, f.Rows)
		s.Parts += f.Parts
	}
	types := s.addColumns()
	s.addDifferences(types)
	for i := range files.hive {
		s.Columns = append(s.Columns, pathColumn(&files.hive[i]))
	}
	table, err := files.table(&opt)
	if err != nil {
		s.Table = err
		return s, nil
	}
	s.Table = scan.Conflict(table)
	schema := table.Schema()
	for i := range s.Columns {
		if named, _ := schema.FieldsByName(s.Columns[i].Name); len(named) > 0 {
			s.Columns[i].Type = named[len(named)-1].Type
		}
	}
	return s, nil
}

// addColumns adds the columns of all files, and returns the most frequent type of each.
func (s *Summary) addColumns() map[string]arrow.DataType {
	counts := map[string][]typeCount{}
	for _, f := range s.Files {
		known := scan.MatchColumns(f.fields(), s.fields())
		for k, c := range f.Columns {
			if f.Rows == 0 {
				c.Nulls = 0
			}
			i := known[k]
			if i < 0 {
				i = len(s.Columns)
				s.Columns = append(s.Columns, SummaryColumn{ColumnInfo: c})
			} else {
				c.Name = s.Columns[i].Name
				s.Columns[i].merge(&c)
			}
			s.Columns[i].Files++
			if f.Rows != 0 && c.Nulls != f.Rows {
				s.Columns[i].bound(&c)
			}
			counts[c.Name] = counted(counts[c.Name], c.Type)
		}
	}
	types := map[string]arrow.DataType{}
	for i := range s.Columns {
		c := &s.Columns[i]
		most := slices.MaxFunc(counts[c.Name], func(a, b typeCount) int { return a.files - b.files })
		types[c.Name], c.Type = most.typ, most.typ
		if len(counts[c.Name]) > 1 {
			c.HasRange, c.Min, c.Max = false, "", "" // of texts that do not compare
		}
		if c.Files < len(s.Files) {
			c.Nulls = -1 // the rows of the other files are
		}
	}
	return types
}

// typeCount is in how many files a column has a type.
type typeCount struct {
	typ   arrow.DataType
	files int
}

func counted(list []typeCount, t arrow.DataType) []typeCount {
	for i := range list {
		if arrow.TypeEqual(list[i].typ, t) {
			list[i].files++
			return list
		}
	}
	return append(list, typeCount{t, 1})
}

// fields returns the names of the file's columns.
func (f *FileInfo) fields() []arrow.Field {
	fields := make([]arrow.Field, len(f.Columns))
	for i := range fields {
		fields[i].Name = f.Columns[i].Name
	}
	return fields
}

// fields returns the names of the columns.
func (s *Summary) fields() []arrow.Field {
	fields := make([]arrow.Field, len(s.Columns))
	for i := range fields {
		fields[i].Name = s.Columns[i].Name
	}
	return fields
}

// addDifferences compares each file with the columns of all files.
func (s *Summary) addDifferences(types map[string]arrow.DataType) {
	for _, f := range s.Files {
		for i, at := range scan.MatchColumns(s.fields(), f.fields()) {
			c, t := &s.Columns[i], arrow.DataType(nil)
			if at >= 0 {
				t = f.Columns[at].Type
			}
			if t == nil || !arrow.TypeEqual(t, types[c.Name]) {
				s.Differences = append(s.Differences, Difference{f.Path, c.Name, t, types[c.Name]})
			}
		}
	}
}

// merge adds what another file tells of the column, but for the range.
func (to *SummaryColumn) merge(from *ColumnInfo) {
	to.Nulls = decode.AddKnown(to.Nulls, from.Nulls)
	to.CompressedBytes = decode.AddKnown(to.CompressedBytes, from.CompressedBytes)
	to.UncompressedBytes = decode.AddKnown(to.UncompressedBytes, from.UncompressedBytes)
	to.Codecs, to.Encodings = union(to.Codecs, from.Codecs), union(to.Encodings, from.Encodings)
	for _, least := range []parquet.OnDevice{parquet.DeviceUnknown, parquet.DeviceNo, parquet.DeviceStrings} {
		if to.OnDevice == least || from.OnDevice == least {
			to.OnDevice = least
			break
		}
	}
}

// bound widens the range by that of a file that has values in the column.
func (to *SummaryColumn) bound(from *ColumnInfo) {
	switch {
	case !to.valued:
		to.valued, to.HasRange, to.Min, to.Max = true, from.HasRange, from.Min, from.Max
		return
	case !from.HasRange || !to.HasRange:
		to.HasRange, to.Min, to.Max = false, "", ""
		return
	}
	if less(to.Type, from.Min, to.Min) {
		to.Min = from.Min
	}
	if less(to.Type, to.Max, from.Max) {
		to.Max = from.Max
	}
}

func union(a, b []string) []string {
	merged := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(merged, s) {
			merged = append(merged, s)
		}
	}
	return merged
}

// less compares values of a type by their texts: numbers as numbers; others, dates and times among
// them, have texts in their order.
func less(t arrow.DataType, a, b string) bool {
	if arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID()) {
		x, ok := new(big.Rat).SetString(a)
		y, also := new(big.Rat).SetString(b)
		if ok && also {
			return x.Cmp(y) < 0
		}
	}
	return strings.Compare(a, b) < 0
}

// pathColumn is a column of the files' paths.
func pathColumn(f *decode.Folder) SummaryColumn {
	c := SummaryColumn{Path: true}
	c.Name, c.Type = f.Field.Name, f.Field.Type
	c.Nulls, c.CompressedBytes, c.UncompressedBytes = -1, -1, -1
	for _, v := range f.Values {
		if v == nil {
			continue
		}
		text := pathText(v)
		if !c.HasRange || less(c.Type, text, c.Min) {
			c.Min = text
		}
		if !c.HasRange || less(c.Type, c.Max, text) {
			c.Max = text
		}
		c.HasRange = true
	}
	return c
}

// pathText writes a value of a path.
func pathText(v any) string {
	if day, ok := v.(arrow.Date32); ok {
		return day.FormattedString()
	}
	return fmt.Sprint(v)
}
