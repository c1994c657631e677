package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// extremes returns a table that stands for the source: two rows, the least and the greatest values
// of columns. It returns nil where the statement asks for anything but such values of the whole
// source, or where the statistics do not tell them.
func (g *grouping) extremes(asked query.Query) scan.Source {
	if !g.q.rules.allows(Extremes) || len(asked.Keys) > 0 || len(g.sets) > 1 || len(g.added) > 0 ||
		g.q.where != nil || len(asked.Aggregates) == 0 {
		return nil
	}
	schema, stats := g.q.source().Schema(), g.q.source().Stats()
	var fields []arrow.Field
	var columns []arrow.Array
	defer func() { releaseAll(columns) }()
	taken := map[string]bool{}
	for _, a := range asked.Aggregates {
		if a.Func != query.Min && a.Func != query.Max || stats.Columns == nil {
			return nil
		}
		at := schema.FieldIndices(a.Args[0])
		if len(at) != 1 || !stats.Columns[at[0]].Tight {
			return nil
		}
		if field := schema.Field(at[0]); !taken[field.Name] {
			field.Type = valueType(field.Type)
			column := ends(field.Type, stats.Columns[at[0]])
			if column == nil {
				return nil
			}
			taken[field.Name] = true
			fields, columns = append(fields, field), append(columns, column)
		}
	}
	g.q.rules.note(Extremes, true)
	made := arrow.NewSchema(fields, nil)
	return scan.Batches(made, []arrow.RecordBatch{array.NewRecordBatch(made, columns, 2)})
}

// ends returns the bounds of a column's values as an array; nil for a type whose values are no
// integers.
func ends(dt arrow.DataType, s scan.ColumnStats) arrow.Array {
	fixed, ok := dt.(arrow.FixedWidthDataType)
	if !ok || fixed.BitWidth() < 8 || fixed.BitWidth() > 64 {
		return nil
	}
	v := vector.Vector{Kind: rowdata.Int64, Words: []uint64{uint64(s.Min), uint64(s.Max)}}
	column, err := v.Array(memory.DefaultAllocator, dt)
	if err != nil {
		return nil
	}
	return column
}
