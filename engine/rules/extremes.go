package rules

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// The least and the greatest values of a table may be in its statistics: no row is read, but two rows
// with these values.
func extremes(_ *Context, n logical.Node) (logical.Node, error) {
	of, ok := n.(*logical.Aggregate)
	if !ok || len(of.Keys) > 0 || of.Sets != nil {
		return nil, nil
	}
	in, ok := of.In.(*logical.Project)
	if !ok {
		return nil, nil
	}
	table, ok := in.In.(*logical.Scan)
	if !ok || slices.ContainsFunc(in.Exprs, func(x *expr.Expr) bool { return x.Op != expr.OpColumn }) {
		return nil, nil
	}
	for _, c := range of.Calls {
		if c.Function.Func != query.Min && c.Function.Func != query.Max {
			return nil, nil
		}
	}
	columns := slices.Clone(in.Columns())
	var fields []arrow.Field
	var arrays []arrow.Array
	defer func() { recordreader.ReleaseAll(arrays) }()
	for i := range columns {
		c := &columns[i]
		if c.Type = rowdata.ValueType(c.Type); !c.Stats.Tight {
			return nil, nil
		}
		ends := endsOf(c.Type, c.Stats)
		if ends == nil {
			return nil, nil
		}
		arrays = append(arrays, ends)
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
	}
	made := arrow.NewSchema(fields, nil)
	rows := scan.Batches(made, []arrow.RecordBatch{array.NewRecordBatch(made, arrays, 2)})
	return of.With(logical.NewStatistics(table, rows, columns)), nil
}

// endsOf returns the bounds of a column's values as an array; nil for a type whose values are no
// integers.
func endsOf(dt arrow.DataType, s scan.ColumnStats) arrow.Array {
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
