package scan

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// table is the Source that all formats share: inputs one after the other, their columns matched by
// name, and hive columns after them.
type table struct {
	fields *arrow.Schema
	files  []tableFile
	hive   []Folder

	turns turns // of the readers of its splits

	statsOnce sync.Once
	known     Stats
}

// File is an input of a table.
type File struct {
	decode.Input
	Changed func() error // returns the error of a file that is another by now; nil where the input is no file
}

// tableFile is one input's place in a table.
type tableFile struct {
	File
	base    uint64 // position of its first row
	columns []int  // index in the input's schema, for every column that is not a hive column
}

// allNull says whether a column has no value in the file, by its type.
func (f *tableFile) allNull(column int) bool {
	return f.Schema().Field(f.columns[column]).Type.ID() == arrow.NULL
}

// NewTable puts inputs together; hive holds one value per input, or no columns.
func NewTable(inputs []File, hive []Folder) (*table, error) {
	t := &table{hive: hive}
	fields, err := unify(inputs, hive)
	if err != nil {
		return nil, err
	}
	var base uint64
	for _, in := range inputs {
		t.files = append(t.files, tableFile{File: in, base: base, columns: matchColumns(fields, in.Schema())})
		var carry uint64
		if base, carry = bits.Add64(base, in.Span(), 0); carry != 0 {
			return nil, errors.New("the files together hold more rows than 64 bits can number")
		}
	}
	for _, h := range hive {
		fields = append(fields, h.Field)
	}
	t.fields = arrow.NewSchema(fields, nil)
	return t, nil
}

// Schema implements Source.
func (t *table) Schema() *arrow.Schema { return t.fields }

// Stats implements Source.
func (t *table) Stats() Stats {
	t.statsOnce.Do(func() { t.known = t.fileStats() })
	return t.known
}

func (t *table) fileStats() Stats {
	all := make([]int, len(t.files))
	for i := range all {
		all[i] = i
	}
	return t.mergeFiles(all, func(i int) Stats { return t.files[i].Stats() })
}

// mergeFiles adds up the statistics of some files.
func (t *table) mergeFiles(files []int, of func(file int) Stats) Stats {
	merged := decode.Stats{Columns: make([]decode.ColumnStats, t.fields.NumFields())}
	fileColumns := t.fields.NumFields() - len(t.hive)
	for c := range fileColumns {
		merged.Columns[c] = decode.ColumnStats{NoNulls: true}
	}
	first := true
	for _, i := range files {
		stats := of(i)
		merged.Rows = decode.AddKnown(merged.Rows, stats.Rows)
		merged.Bytes = decode.AddKnown(merged.Bytes, stats.Bytes)
		merged.Once = merged.Once || stats.Once
		if stats.Rows == 0 {
			continue // says nothing of values
		}
		for c, from := range t.files[i].columns {
			var column decode.ColumnStats
			if stats.Columns != nil && !t.files[i].allNull(c) {
				column = stats.Columns[from]
			}
			merged.Columns[c] = mergeStats(merged.Columns[c], column, first)
		}
		first = false
	}
	for i := range t.hive {
		merged.Columns[fileColumns+i] = t.hive[i].stats(files)
	}
	return merged
}

// mergeStats adds what is known of the same column in another file.
func mergeStats(s, other decode.ColumnStats, first bool) decode.ColumnStats {
	merged := decode.ColumnStats{NoNulls: s.NoNulls && other.NoNulls, Repeats: other.Repeats && (first || s.Repeats)}
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
		if field := t.fields.Field(c); arrow.IsNested(field.Type.ID()) {
			return fmt.Errorf("%s: column %q is a %s; nested columns cannot be read",
				t.files[0].Name(), field.Name, field.Type)
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
		splits[i] = &split{part: p, plan: plan, base: t.files[file].base, changed: t.files[file].Changed, turns: &t.turns}
	}
	return splits, nil
}

// plan says where the columns of a file's batches come from, and which columns of the file that
// takes.
func (t *table) plan(file int, columns []int) (*delivery.Plan, []int) {
	p := &delivery.Plan{}
	var fileColumns []int
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = t.fields.Field(c)
		if h := c - (t.fields.NumFields() - len(t.hive)); h >= 0 {
			p.Columns = append(p.Columns, delivery.Column{Constant: true, Value: t.hive[h].Values[file]})
			continue
		}
		if t.files[file].allNull(c) {
			p.Columns = append(p.Columns, delivery.Column{Constant: true})
			continue
		}
		from := t.files[file].columns[c]
		at := slices.Index(fileColumns, from)
		if at < 0 {
			at = len(fileColumns)
			fileColumns = append(fileColumns, from)
		}
		p.Columns = append(p.Columns, delivery.Column{From: at})
	}
	p.Schema = arrow.NewSchema(fields, nil)
	return p, fileColumns
}
