package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// FileStarts returns the position of the first row of each file of a table that package dataset has
// opened; nil for another source.
func FileStarts(src Source) []uint64 {
	if l, ok := src.(*listed); ok {
		return l.starts
	}
	t, ok := src.(*table)
	if !ok {
		return nil
	}
	starts := make([]uint64, len(t.files))
	for i := range t.files {
		starts[i] = t.files[i].base
	}
	return starts
}

// Part returns the part of a source whose splits begin at positions in [from, to).
func Part(src Source, from, to uint64) Source { return &part{src, from, to} }

type part struct {
	Source
	from, to uint64
}

// Stats implements Source. Bounds of values hold for the part, too, though a part need not reach them.
func (p *part) Stats() Stats {
	s := p.Source.Stats()
	s.Rows = -1
	s.Columns = append([]ColumnStats(nil), s.Columns...)
	for i := range s.Columns {
		s.Columns[i].Tight = false
	}
	return s
}

// Splits implements Source.
func (p *part) Splits(ctx context.Context, columns []int) ([]Split, error) {
	all, err := p.Source.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	var splits []Split
	for _, s := range all {
		if at := s.Position(); p.from <= at && at < p.to {
			splits = append(splits, s)
		}
	}
	return splits, nil
}

// Narrow implements Narrower.
func (p *part) Narrow(ctx context.Context, by Predicate) (Source, bool, error) {
	narrowed, ok, err := Narrow(ctx, p.Source, by)
	if err != nil || !ok {
		return p, false, err
	}
	return Part(narrowed, p.from, p.to), true, nil
}

// Shape returns a source without rows. Only its columns are known: a statement can be planned over
// it, and no file is opened.
func Shape(schema *arrow.Schema) Source { return shape{schema} }

type shape struct{ schema *arrow.Schema }

func (s shape) Schema() *arrow.Schema { return s.schema }

// Stats implements Source.
func (s shape) Stats() Stats { return Stats{Rows: -1} }

// Splits implements Source.
func (s shape) Splits(context.Context, []int) ([]Split, error) { return nil, nil }
