package oracle

import (
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/internal/grouptest"
)

// position is the column that tells the order of rows.
const position = "__position"

// plainType is the type in which DuckDB gets a column.
func plainType(dt arrow.DataType) arrow.DataType {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	if d, ok := dt.(arrow.DecimalType); ok {
		return &arrow.Decimal128Type{Precision: d.GetPrecision(), Scale: d.GetScale()}
	}
	switch id := dt.ID(); {
	case id == arrow.BOOL:
		return dt
	case arrow.IsUnsignedInteger(id):
		return arrow.PrimitiveTypes.Uint64
	case arrow.IsFloating(id):
		return arrow.PrimitiveTypes.Float64
	case id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW:
		return arrow.BinaryTypes.String
	case id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW || id == arrow.FIXED_SIZE_BINARY:
		return arrow.BinaryTypes.Binary
	}
	return arrow.PrimitiveTypes.Int64
}

// writePlain writes batches to a Parquet file in plain types.
func writePlain(file string, schema *arrow.Schema, batches []arrow.RecordBatch) error {
	fields := []arrow.Field{{Name: position, Type: arrow.PrimitiveTypes.Int64}}
	for _, f := range schema.Fields() {
		fields = append(fields, arrow.Field{Name: f.Name, Type: plainType(f.Type), Nullable: true})
	}
	plain := arrow.NewSchema(fields, nil)
	var converted []arrow.RecordBatch
	next := int64(0)
	for _, b := range batches {
		columns := make([]arrow.Array, len(fields))
		positions := make([]any, b.NumRows())
		for i := range positions {
			positions[i] = next
			next++
		}
		columns[0] = grouptest.Array(fields[0].Type, positions)
		for c, arr := range b.Columns() {
			cells := make([]any, arr.Len())
			for i := range cells {
				cells[i] = grouptest.Value(arr, i)
			}
			columns[c+1] = grouptest.Array(fields[c+1].Type, cells)
		}
		converted = append(converted, grouptest.Batch(plain, columns...))
	}
	return WriteParquet(file, plain, converted, parquet.NewWriterProperties())
}

// WriteParquet writes batches to a Parquet file.
func WriteParquet(file string, schema *arrow.Schema, batches []arrow.RecordBatch, props *parquet.WriterProperties) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w, err := pqarrow.NewFileWriter(schema, f, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		f.Close()
		return err
	}
	table := array.NewTableFromRecords(schema, batches)
	defer table.Release()
	if err := w.WriteTable(table, max(table.NumRows(), 1)); err != nil {
		w.Close()
		return err
	}
	return w.Close() // closes f
}
