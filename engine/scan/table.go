package scan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/nested"
)

// table is the Source that all formats share: inputs one after the other, their columns matched by
// name, and the columns of folders after them.
type table struct {
	fields      *arrow.Schema
	fileColumns int // how many of fields the files have; the columns of folders follow
	files       []tableFile
	folders     []decode.Folder

	conflicts map[int]error // by column of the files: why it has no type

	turns turns        // of the readers of its splits
	stats func() Stats // merges the statistics of all files, once
}

// tableFile is an input and its place in a table.
type tableFile struct {
	decode.File
	base    uint64 // position of its first row
	columns []int  // index in the input's schema, for every column of the table's files; -1: the file lacks it

	own     *arrow.Schema // the table's, with the types that the input's values have
	differs bool          // own has another type than the table

	constants map[int]any // by column: the value of all rows of the file, which lacks the column; no entry for NULL
}

// lacks says whether a column is not read from the file: it is not there, or is of a type without values. All rows have
// the file's constant for it, or NULL.
func (f *tableFile) lacks(column int) bool {
	return f.columns[column] < 0 || f.Schema().Field(f.columns[column]).Type.ID() == arrow.NULL
}

// converts says whether the values of a column are not of a type, which is the table's.
func (f *tableFile) converts(column int, typ arrow.DataType) bool {
	return !f.lacks(column) && !arrow.TypeEqual(f.own.Field(column).Type, typ)
}

// newTableFile returns an input whose rows begin at a position.
func newTableFile(in decode.File, base uint64, fields *arrow.Schema, fileColumns int) tableFile {
	f := tableFile{File: in, base: base, columns: MatchColumns(fields.Fields()[:fileColumns], in.Schema().Fields())}
	own := fields.Fields()
	for c := range f.columns {
		if value, ok := in.Constants[own[c].Name]; ok {
			if f.columns[c] = -1; value != nil {
				if f.constants == nil {
					f.constants = map[int]any{}
				}
				f.constants[c] = value
			}
		}
	}
	for c, from := range f.columns {
		if from < 0 || in.Schema().Field(from).Type.ID() == arrow.NULL {
			continue
		}
		own[c].Type = in.Schema().Field(from).Type
		f.differs = f.differs || !arrow.TypeEqual(own[c].Type, fields.Field(c).Type)
	}
	f.own = arrow.NewSchema(own, nil)
	return f
}

// NewTable puts inputs together, for package dataset; a folder holds one value per input.
func NewTable(inputs []decode.File, folders []decode.Folder, whole Whole) (Source, error) {
	of, err := unify(inputs, folders, whole)
	if err != nil {
		return nil, err
	}
	fields := of.fields
	t := &table{fileColumns: len(fields), folders: folders, turns: turns{limit: math.MaxInt}, conflicts: of.conflicts}
	for _, f := range folders {
		fields = append(fields, f.Field)
	}
	if whole.RowNumber.Name != "" {
		fields = append(fields, whole.RowNumber)
	}
	t.fields = arrow.NewSchema(fields, nil)
	var base uint64
	for i, in := range inputs {
		if whole.starts != nil {
			base = whole.starts[i]
		}
		t.files = append(t.files, newTableFile(in, base, t.fields, t.fileColumns))
		var carry uint64
		if base, carry = bits.Add64(base, in.Span(), 0); carry != 0 {
			return nil, errors.New("the files together hold more rows than 64 bits can number")
		}
	}
	t.stats = sync.OnceValue(func() Stats {
		return t.mergeFiles(func(file int) (decode.Stats, bool) { return t.files[file].Stats(), true })
	})
	return t, nil
}

// rowNumber returns the column of Whole.RowNumber, or the number of columns where there is none.
func (t *table) rowNumber() int { return t.fileColumns + len(t.folders) }

// NumbersRows says whether an input can tell which rows it reads.
func NumbersRows(in decode.Input) bool {
	if _, ok := in.(decode.Grouped); ok {
		return true // also where rows are deleted
	}
	rows := in.Stats().Rows
	return rows >= 0 && in.Span() == uint64(rows)
}

// Conflict returns the error of the first column of a table of files that has no type for the values of all files;
// nil where there is none. A query that reads the column has the error.
func Conflict(src Source) error {
	if t, ok := src.(*table); ok {
		for c := range t.fileColumns {
			if t.conflicts[c] != nil {
				return t.conflicts[c]
			}
		}
	}
	return nil
}

// Schema implements Source.
func (t *table) Schema() *arrow.Schema { return t.fields }

// WhyText implements Adviser.
func (t *table) WhyText(column string) error {
	for _, f := range t.files {
		if a, ok := f.Input.(Adviser); ok && a.WhyText(column) != nil {
			return a.WhyText(column)
		}
	}
	return nil
}

// Stats implements Source.
func (t *table) Stats() Stats { return t.stats() }

// mergeFiles adds up the statistics of the files that are left to read.
func (t *table) mergeFiles(of func(file int) (stats decode.Stats, left bool)) Stats {
	merged := Stats{Columns: make([]ColumnStats, t.fields.NumFields())}
	for c := range t.fileColumns {
		merged.Columns[c].NoNulls = true
	}
	first := true
	var files []int // left
	for i := range t.files {
		stats, left := of(i)
		if !left {
			continue
		}
		files = append(files, i)
		merged.Rows = decode.AddKnown(merged.Rows, stats.Rows)
		merged.Bytes = decode.AddKnown(merged.Bytes, stats.Bytes)
		merged.Once = merged.Once || stats.Once
		if stats.Rows == 0 {
			continue // says nothing of values
		}
		for c, from := range t.files[i].columns {
			var column ColumnStats
			if value, ok := t.files[i].constants[c]; ok {
				one := decode.Folder{Field: t.fields.Field(c), Values: []any{value}}
				column = one.Stats([]int{0})
				column.NoNulls = true
			} else if stats.Columns != nil && !t.files[i].lacks(c) && t.conflicts[c] == nil {
				column = stats.Columns[from]
				if to := t.fields.Field(c).Type; t.files[i].converts(c, to) {
					column = convertStats(column, t.files[i].own.Field(c).Type, to)
				}
			}
			merged.Columns[c] = mergeStats(merged.Columns[c], column, first)
		}
		first = false
	}
	for i := range t.folders {
		merged.Columns[t.fileColumns+i] = t.folders[i].Stats(files)
	}
	if c := t.rowNumber(); c < len(merged.Columns) {
		merged.Columns[c].NoNulls = true
	}
	return merged
}

// convertStats returns the statistics of a column whose values become values of another type.
func convertStats(s ColumnStats, from, to arrow.DataType) ColumnStats {
	if !s.HasRange {
		return s
	}
	_, _, isRange := TypeRange(to)
	var low, high bool
	s.Min, low = delivery.Rescale(s.Min, from, to)
	s.Max, high = delivery.Rescale(s.Max, from, to)
	if s.HasRange = isRange && low && high; !s.HasRange {
		s.Min, s.Max, s.Tight = 0, 0, false
	}
	return s
}

// mergeStats adds what is known of the same column in another file.
func mergeStats(s, other ColumnStats, first bool) ColumnStats {
	merged := ColumnStats{NoNulls: s.NoNulls && other.NoNulls, Repeats: other.Repeats && (first || s.Repeats)}
	if merged.Repeats {
		merged.StringBytes = s.StringBytes + other.StringBytes
	}
	switch {
	case first:
		merged.Values = other.Values
	case s.Values > 0 && other.Values > 0:
		merged.Values = max(s.Values, other.Values)
	}
	switch {
	case first:
		merged.HasRange, merged.Min, merged.Max, merged.Tight = other.HasRange, other.Min, other.Max, other.Tight
	case s.HasRange && other.HasRange:
		merged.HasRange, merged.Min, merged.Max = true, min(s.Min, other.Min), max(s.Max, other.Max)
		merged.Tight = s.Tight && other.Tight
	}
	return merged
}

// Splits implements Source.
func (t *table) Splits(ctx context.Context, columns []int) ([]Split, error) {
	if err := t.checkColumns(columns); err != nil {
		return nil, err
	}
	var splits []Split
	for i := range t.files {
		of, err := t.fileSplits(ctx, i, columns)
		if err != nil {
			return nil, err
		}
		for _, s := range of {
			splits = append(splits, s)
		}
	}
	return splits, nil
}

func (t *table) checkColumns(columns []int) error {
	for _, c := range columns {
		if c < 0 || c >= t.fields.NumFields() {
			return fmt.Errorf("column %d of a table that has %d", c, t.fields.NumFields())
		}
		if err := t.conflicts[c]; err != nil {
			return err
		}
		field := t.fields.Field(c)
		_, list := delivery.Element(field.Type)
		if list || nested.Of(field.Type) != nil {
			continue
		}
		if err := query.CheckReadable(field.Name, field.Type); err != nil {
			if len(t.files) > 0 {
				err = fmt.Errorf("%s: %w", t.files[0].Name(), err)
			}
			return err
		}
	}
	return nil
}

// fileSplits returns the splits of one file.
func (t *table) fileSplits(ctx context.Context, file int, columns []int) ([]*split, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, fileColumns := t.plan(file, columns)
	parts, err := t.files[file].Parts(ctx, fileColumns)
	if err != nil {
		return nil, decode.Locate(t.files[file].Name(), err)
	}
	splits := make([]*split, len(parts))
	for i, p := range parts {
		f := &t.files[file]
		splits[i] = &split{part: p, plan: plan, base: f.base, changed: f.Changed, turns: &t.turns}
	}
	return splits, nil
}

// plan says where the columns of a file's batches come from, and which columns of the file are
// read.
func (t *table) plan(file int, columns []int) (*delivery.Plan, []int) {
	fields, from := make([]arrow.Field, len(columns)), make([]delivery.Column, len(columns))
	for i, c := range columns {
		fields[i] = t.fields.Field(c)
		switch {
		case c == t.rowNumber():
			from[i].Row = true
		case c >= t.fileColumns:
			from[i] = delivery.Column{Constant: true, Value: t.folders[c-t.fileColumns].Values[file]}
		case t.files[file].lacks(c):
			from[i] = delivery.Column{Constant: true, Value: t.files[file].constants[c]}
		default:
			from[i].From = t.files[file].columns[c]
			from[i].Convert = t.files[file].converts(c, fields[i].Type)
		}
	}
	return delivery.NewPlan(fields, from)
}
