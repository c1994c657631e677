package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Would catch integers read by pqarrow that are cut, counted in another unit, or lose their NULLs.
func TestLibraryIntegers(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	leaf32 := schema.NewColumn(schema.NewInt32Node("i", parquet.Repetitions.Optional, -1), 1, 0)
	leaf64 := schema.NewColumn(schema.NewInt64Node("i", parquet.Repetitions.Optional, -1), 1, 0)
	for _, c := range []struct {
		leaf *schema.Column
		typ  arrow.DataType
		want string // of 7
	}{
		{leaf32, arrow.PrimitiveTypes.Int32, "7"},
		{leaf32, arrow.PrimitiveTypes.Uint8, "7"},
		{leaf32, arrow.PrimitiveTypes.Int16, "7"},
		{leaf32, arrow.FixedWidthTypes.Date32, "1970-01-08"},
		{leaf32, arrow.FixedWidthTypes.Date64, "1970-01-08"},
		{leaf32, &arrow.Decimal128Type{Precision: 9, Scale: 1}, "0.7"},
		{leaf64, &arrow.Decimal128Type{Precision: 18, Scale: 1}, "0.7"},
		{leaf64, &arrow.Decimal256Type{Precision: 50, Scale: 1}, "0.7"},
		{leaf64, arrow.PrimitiveTypes.Uint64, "7"},
		{leaf64, arrow.FixedWidthTypes.Duration_s, "7s"},
		{leaf32, arrow.BinaryTypes.String, ""},
		{leaf64, arrow.PrimitiveTypes.Int8, ""},
	} {
		builder := array.NewBuilder(mem, physicalType(c.leaf.PhysicalType(), c.typ))
		if err := builder.AppendValueFromString("7"); err != nil {
			t.Fatal(err)
		}
		builder.AppendNull()
		from := builder.NewArray()
		column := &libraryColumn{typ: c.typ, leaf: c.leaf, mem: mem}
		switch got, err := column.convert(from); {
		case (err == nil) != (c.want != ""):
			t.Errorf("%s as %s: %v", c.leaf.PhysicalType(), c.typ, err)
		case err == nil:
			if !arrow.TypeEqual(got.DataType(), c.typ) || scantest.ValueText(got, 0) != c.want || !got.IsNull(1) {
				t.Errorf("%s as %s: got %s", c.leaf.PhysicalType(), c.typ, got)
			}
			got.Release()
		}
		from.Release()
		builder.Release()
	}
}
