package decode

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Folder is a column whose value is the same for all rows of a file. The values are in the
// order of the files; a nil one is NULL.
type Folder struct {
	Field  arrow.Field
	Values []any // string, int64 or arrow.Date32
}

// Stats returns what the folder names of some files say of the column.
func (f *Folder) Stats(files []int) ColumnStats {
	stats := ColumnStats{NoNulls: !f.Field.Nullable, Repeats: f.Field.Type.ID() == arrow.STRING}
	for _, file := range files {
		b := f.Bounds(file)
		if b.AllNulls || b.Low.Family == predicate.BytesFamily {
			continue
		}
		n := b.Low.Integer
		if !stats.HasRange {
			stats.HasRange, stats.Min, stats.Max = true, n, n
		}
		stats.Min, stats.Max = min(stats.Min, n), max(stats.Max, n)
	}
	return stats
}

// Bounds returns what the folders of a file say of the column.
func (f *Folder) Bounds(file int) predicate.Bounds {
	v := predicate.Value{}
	switch of := f.Values[file].(type) {
	case nil:
		return predicate.Bounds{AllNulls: true}
	case int64:
		v = predicate.Value{Family: predicate.NumberFamily, Integer: of}
	case arrow.Date32:
		v = predicate.Value{Family: predicate.MomentFamily, Integer: int64(of)}
	case string:
		v = predicate.Value{Family: predicate.BytesFamily, Bytes: []byte(of)}
	}
	return predicate.Bounds{Low: &v, High: &v, Exact: true, NoNulls: true}
}
