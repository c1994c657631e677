package decode

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Folder is a column with one value for all rows of a file: the value of a key=value folder.
type Folder struct {
	Field  arrow.Field
	Values []any // by file: string, int64, arrow.Date32, or scalar.Scalar of another type; nil is NULL
}

// Stats returns the statistics of the column in some files.
func (f *Folder) Stats(files []int) ColumnStats {
	stats := ColumnStats{NoNulls: !f.Field.Nullable, Repeats: f.Field.Type.ID() == arrow.STRING}
	for _, file := range files {
		b := f.Bounds(file)
		if b.AllNulls || f.Field.Type.ID() != arrow.INT64 && f.Field.Type.ID() != arrow.DATE32 {
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

// Bounds returns the bounds of the column in a file.
func (f *Folder) Bounds(file int) predicate.Bounds {
	return BoundsOf(f.Values[file])
}

// BoundsOf returns the bounds of a column that has one value, as Folder.Values has it, in all rows.
func BoundsOf(value any) predicate.Bounds {
	v := predicate.Value{}
	switch of := value.(type) {
	case nil:
		return predicate.Bounds{AllNulls: true}
	case int64:
		v = predicate.Value{Family: predicate.NumberFamily, Integer: of}
	case arrow.Date32:
		v = predicate.Value{Family: predicate.MomentFamily, Integer: int64(of)}
	case string:
		v = predicate.Value{Family: predicate.BytesFamily, Bytes: []byte(of)}
	case scalar.Scalar:
		var ok bool
		if v, ok = predicate.ValueOf(of); !ok {
			return predicate.Bounds{NoNulls: true}
		}
	}
	return predicate.Bounds{Low: &v, High: &v, Exact: true, NoNulls: true}
}
