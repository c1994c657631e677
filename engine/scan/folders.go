package scan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Folder is a column whose value is the same for all rows of a file. The values are in the
// order of the files; a nil one is NULL.
type Folder struct {
	Field  arrow.Field
	Values []any // string, int64 or arrow.Date32
}

// stats returns what the folder names of some files say of the column.
func (c *Folder) stats(files []int) decode.ColumnStats {
	stats := decode.ColumnStats{NoNulls: !c.Field.Nullable, Repeats: c.Field.Type.ID() == arrow.STRING}
	for _, file := range files {
		var n int64
		switch v := c.Values[file].(type) {
		case int64:
			n = v
		case arrow.Date32:
			n = int64(v)
		default:
			continue
		}
		if !stats.HasRange {
			stats.HasRange, stats.Min, stats.Max = true, n, n
		}
		stats.Min, stats.Max = min(stats.Min, n), max(stats.Max, n)
	}
	return stats
}

// bounds returns what the folders of a file say of the column.
func (c *Folder) bounds(file int) predicate.Bounds {
	v := predicate.Value{}
	switch of := c.Values[file].(type) {
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
