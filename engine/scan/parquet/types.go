package parquet

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// field returns a field with the types that this package gives to stored values, in structs and lists too, where these
// are others than pqarrow's.
func (p *File) field(f *pqarrow.SchemaField) arrow.Field {
	field := *f.Field
	switch t := field.Type.(type) {
	case *arrow.StructType:
		if from, to := leavesOf(f); slices.Contains(p.variants, leafRange{from, to}) {
			field.Type = extensions.NewDefaultVariantType() // which no query reads
			return field
		}
		fields := slices.Clone(t.Fields())
		for i := range f.Children {
			fields[i] = p.field(&f.Children[i])
		}
		field.Type = arrow.StructOf(fields...)
	case *arrow.MapType:
		if len(f.Children) == 1 && len(f.Children[0].Children) == 2 {
			key, item := p.field(&f.Children[0].Children[0]), p.field(&f.Children[0].Children[1])
			field.Type = arrow.MapOfFields(key, item)
		}
	case *arrow.ListType:
		if len(f.Children) == 1 {
			field.Type = arrow.ListOfField(p.field(&f.Children[0]))
		}
	default:
		if len(f.Children) == 0 && f.ColIndex >= 0 {
			field.Type = p.leafType(t, f.ColIndex)
		}
	}
	return field
}

// leavesOf returns the leaves of a struct.
func leavesOf(f *pqarrow.SchemaField) (from, to int) {
	first, last := f, f
	for len(first.Children) > 0 {
		first = &first.Children[0]
	}
	for len(last.Children) > 0 {
		last = &last.Children[len(last.Children)-1]
	}
	return first.ColIndex, last.ColIndex + 1
}

// leafType returns the type of a column of Parquet, given pqarrow's.
func (p *File) leafType(t arrow.DataType, column int) arrow.DataType {
	leaf, own := p.meta.Schema.Column(column), delivery.Type(t)
	switch {
	case leaf.LogicalType().Equals(schema.IntervalLogicalType{}), leaf.ConvertedType() == schema.ConvertedTypes.Interval:
		own = arrow.FixedWidthTypes.MonthDayNanoInterval
	case leaf.PhysicalType() == parquet.Types.Int96 && isFlat(leaf):
		own = int96Type(t)
	case t.ID() == arrow.NULL && leaf.PhysicalType() == parquet.Types.Int32 && len(leaf.ColumnPath()) > 1:
		own = arrow.PrimitiveTypes.Int32 // as DuckDB writes NULL within a list or a struct
	case leaf.PhysicalType() == parquet.Types.ByteArray && leaf.LogicalType().Equals(schema.JSONLogicalType{}):
		own = arrow.BinaryTypes.String
	}
	for i := range p.groups {
		if !p.decodes(own, leaf, &p.groups[i].chunks[column]) {
			return t // pqarrow reads it
		}
	}
	return own
}
