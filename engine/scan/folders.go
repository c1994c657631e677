package scan

import "github.com/apache/arrow-go/v18/arrow"

// hiveColumn is a column whose value is the same for all rows of a file. The values are in the
// order of the files; a nil one is NULL.
type hiveColumn struct {
	field  arrow.Field
	values []any // string, int64 or arrow.Date32
}

// stats returns what the folder names of some files say of the column.
func (c *hiveColumn) stats(files []int) ColumnStats {
	stats := ColumnStats{NoNulls: !c.field.Nullable, Repeats: c.field.Type.ID() == arrow.STRING}
	for _, file := range files {
		var n int64
		switch v := c.values[file].(type) {
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
func (c *hiveColumn) bounds(file int) bounds {
	v := value{}
	switch of := c.values[file].(type) {
	case nil:
		return bounds{allNulls: true}
	case int64:
		v = value{family: numberFamily, integer: of}
	case arrow.Date32:
		v = value{family: momentFamily, integer: int64(of)}
	case string:
		v = value{family: bytesFamily, bytes: []byte(of)}
	}
	return bounds{low: &v, high: &v, exact: true, noNulls: true}
}
