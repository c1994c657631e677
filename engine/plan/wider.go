package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
)

// wider is a source with further columns behind the columns of another source.
type wider struct {
	scan.Source
	schema *arrow.Schema      // of all columns
	stats  []scan.ColumnStats // of the further columns
}

// Unwrap returns the source of the first columns, for what its filter leaves out.
func (w *wider) Unwrap() scan.Source { return w.Source }

// Schema implements scan.Source.
func (w *wider) Schema() *arrow.Schema { return w.schema }

// Stats implements scan.Source.
func (w *wider) Stats() scan.Stats {
	s := w.Source.Stats()
	s.Columns = slices.Concat(columnStats(w.Source), w.stats)
	return s
}

// splits returns the splits of the other source, wrapped.
func (w *wider) splits(ctx context.Context, read []int, wrap func(scan.Split) scan.Split) ([]scan.Split, error) {
	splits, err := w.Source.Splits(ctx, read)
	for i, s := range splits {
		splits[i] = wrap(s)
	}
	return splits, err
}

// columnStats returns what is known of each column of a source, which may be nothing.
func columnStats(src scan.Source) []scan.ColumnStats {
	if known := src.Stats().Columns; known != nil {
		return known
	}
	return make([]scan.ColumnStats, src.Schema().NumFields())
}

// columnsOf returns the schema of some columns.
func columnsOf(schema *arrow.Schema, columns []int) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	return arrow.NewSchema(fields, nil)
}

// placeIn returns where a value is in a list, to which it is added if it is not there yet.
func placeIn[T comparable](list *[]T, value T) int {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return at
}
