package scan

import (
	"context"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/recordreader"
)

// PositionType is the type of the column that WithPositions adds.
var PositionType arrow.DataType = arrow.PrimitiveTypes.Uint64

// WithPositions returns a source with a column more, the last, of a name that none of the others
// has: the positions of the rows. At finds the rows again by their positions (see Split.Position). It returns
// false where rows can only be found by reading all rows before them: in other sources than tables
// of Parquet files and Filter's of such tables.
func WithPositions(src Source, name string) (Source, bool) {
	if _, ok := groupedTable(src); !ok {
		return nil, false
	}
	field := arrow.Field{Name: name, Type: PositionType}
	return &positioned{src, arrow.NewSchema(append(slices.Clone(src.Schema().Fields()), field), nil)}, true
}

// At returns a source of the rows of src that have some positions, which ascend. Its rows keep
// their order and their positions.
// Requires: WithPositions would return true for src.
func At(src Source, positions []uint64) Source {
	t, _ := groupedTable(src)
	f := &filteredTable{table: t, files: make([]filePlan, len(t.files))}
	f.test = &condition{schema: t.fields, terms: &predicate.Conjunction{}, rows: &decode.RowTest{}}
	f.stats = func() Stats { return f.mergeFiles(f.fileStats) }
	for i := range f.files {
		file := t.files[i].Input.(decode.Grouped)
		base, plan := t.files[i].base, &f.files[i]
		plan.pruned = true
		plan.groups = make([]decode.GroupPlan, file.GroupCount())
		for g := range plan.groups {
			end := base + uint64(file.GroupRows(g))
			n := sort.Search(len(positions), func(i int) bool { return positions[i] >= end })
			ranges := rangesOf(positions[:n], base)
			plan.groups[g] = decode.GroupPlan{Pruned: n == 0, Ranges: ranges}
			plan.pruned = plan.pruned && n == 0
			positions, base = positions[n:], end
		}
	}
	return f
}

// rangesOf returns the ranges of rows that have some positions, which ascend, counted from a base.
func rangesOf(positions []uint64, base uint64) (ranges []decode.RowRange) {
	for _, p := range positions {
		row := int64(p - base)
		if last := len(ranges) - 1; last >= 0 && ranges[last].To == row {
			ranges[last].To++
		} else {
			ranges = append(ranges, decode.RowRange{From: row, To: row + 1})
		}
	}
	return ranges
}

// groupedTable returns the table of a source, whose files must all have row groups.
func groupedTable(src Source) (*table, bool) {
	if l, listed := src.(*listed); listed {
		all, err := l.table(context.Background())
		if src = all; err != nil {
			return nil, false
		}
	}
	t, ok := src.(*table)
	if f, filtered := src.(*filteredTable); filtered {
		t, ok = f.table, true
	}
	if !ok {
		return nil, false
	}
	for i := range t.files {
		if _, grouped := t.files[i].Input.(decode.Grouped); !grouped {
			return nil, false
		}
	}
	return t, true
}

// positioned is a source with a column of positions behind its own.
type positioned struct {
	Source
	schema *arrow.Schema // of all columns
}

// Schema implements Source.
func (p *positioned) Schema() *arrow.Schema { return p.schema }

// Stats implements Source.
func (p *positioned) Stats() Stats {
	s := p.Source.Stats()
	if s.Columns != nil {
		s.Columns = append(slices.Clone(s.Columns), ColumnStats{NoNulls: true})
	}
	return s
}

// Splits implements Source.
func (p *positioned) Splits(ctx context.Context, columns []int) ([]Split, error) {
	own := p.Source.Schema().NumFields()
	read := slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return c == own })
	splits, err := p.Source.Splits(ctx, read)
	if err != nil || len(read) == len(columns) {
		return splits, err
	}
	of := &positionPlan{schema: recordreader.Columns(p.schema, columns)}
	for _, c := range columns {
		of.from = append(of.from, slices.Index(read, c))
	}
	for i, s := range splits {
		splits[i] = &positionedSplit{s, of}
	}
	return splits, nil
}

// positionPlan says how batches with positions are made.
type positionPlan struct {
	schema *arrow.Schema
	from   []int // by column: the column of the batch that is read, or -1 for the positions
}

type positionedSplit struct {
	Split
	plan *positionPlan
}

// Open implements Split.
func (s *positionedSplit) Open(ctx context.Context, opt OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &positionedReader{from: from.(*reader), plan: s.plan}
	r.Init(s.plan.schema, func() (arrow.RecordBatch, error) {
		in, err := recordreader.Next(from)
		if in == nil {
			return nil, err
		}
		return r.widen(in, opt), nil
	}, from.Release)
	return r, nil
}

// positionedReader adds positions to the batches of another reader.
type positionedReader struct {
	recordreader.Base
	from *reader // owned
	plan *positionPlan
	rows []int // of the current batch, in the split's part
}

// widen returns a batch of from with the positions of its rows.
func (r *positionedReader) widen(in arrow.RecordBatch, opt OpenOptions) arrow.RecordBatch {
	n := int(in.NumRows())
	r.rows = slices.Grow(r.rows[:0], n)[:n]
	r.from.rowNumbers(r.rows)
	b := array.NewUint64Builder(opt.Allocator)
	defer b.Release()
	b.Reserve(n)
	for _, row := range r.rows {
		b.UnsafeAppend(r.from.split.Position() + uint64(row))
	}
	positions := b.NewArray()
	defer positions.Release()
	columns := make([]arrow.Array, len(r.plan.from))
	for i, from := range r.plan.from {
		columns[i] = positions
		if from >= 0 {
			columns[i] = in.Column(from)
		}
	}
	return recordreader.Batch(r.plan.schema, columns, in.NumRows())
}

// Place implements Placer.
func (r *positionedReader) Place(i int) string { return r.from.Place(i) }

// rowNumbers writes which rows of the part the rows of the current batch are.
func (r *reader) rowNumbers(to []int) {
	if n, ok := r.source.(decode.RowNumberer); ok {
		n.RowNumbers(r.within, to)
		return
	}
	for i := range to {
		to[i] = int(r.rows) - len(to) + i
	}
}
