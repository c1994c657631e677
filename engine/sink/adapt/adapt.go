package adapt

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/nested"
)

// Adapter changes columns to types that a format holds. The values stay what they are:
//
//	dictionary                    its values; a file has one dictionary, a stream of batches many
//	structs without names         fields element1, element2
//	and for Parquet:
//	decimal32, decimal64          decimal128 of the same precision and scale
//	date64                        date32
//	timestamp in seconds          in milliseconds
//	duration                      int64, in the same unit
//	utf8 and binary views         utf8, binary
//	null within lists and structs int32
//	lists, structs, maps          of the above
//	interval, union, run-end encoded, list view, extension     refused
//	and for clients of a server, whose drivers know fewer types than Arrow has by now:
//	null                          int32, as DuckDB has it
//	decimal32, decimal64          decimal128 of the same precision and scale
//	utf8 and binary views         utf8, binary
//	lists, structs, maps          of the above
//	union, run-end encoded, list view, extension               refused
//	and for clients that take unsigned integers for signed ones, as JDBC's driver does:
//	uint8, uint16, uint32, uint64 int16, int32, int64, decimal128(20, 0)
type Adapter struct {
	Parquet   bool
	Clients   bool
	Signed    bool // beside Clients
	Allocator memory.Allocator
}

// Schema returns the schema that the format gets.
func (a *Adapter) Schema(s *arrow.Schema) (*arrow.Schema, error) {
	fields := slices.Clone(s.Fields())
	for i, field := range fields {
		t, err := a.dataType(field.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", field.Name, err)
		}
		fields[i].Type = t
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// Batch returns the batch with its columns changed to the adapted schema.
func (a *Adapter) Batch(to *arrow.Schema, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		c, err := a.Array(batch.Column(i), to.Field(i).Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", to.Field(i).Name, err)
		}
		columns[i] = c
	}
	return array.NewRecordBatch(to, columns, batch.NumRows()), nil
}

// dataType returns what a type becomes, or an error for one that the format cannot hold.
func (a *Adapter) dataType(t arrow.DataType) (arrow.DataType, error) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return a.dataType(t.ValueType)
	case *arrow.ListType:
		elem, err := a.fields(t.ElemField())
		return arrow.ListOfField(elem[0]), err
	case *arrow.LargeListType:
		elem, err := a.fields(t.ElemField())
		return arrow.LargeListOfField(elem[0]), err
	case *arrow.FixedSizeListType:
		elem, err := a.fields(t.ElemField())
		return arrow.FixedSizeListOfField(t.Len(), elem[0]), err
	case *arrow.MapType:
		pair, err := a.fields(t.KeyField(), t.ItemField())
		return arrow.MapOfFields(pair[0], pair[1]), err
	case *arrow.StructType:
		fields, err := a.fields(t.Fields()...)
		if nested.IsTuple(t) {
			for i := range fields {
				fields[i].Name = fmt.Sprintf("element%d", i+1)
			}
		}
		return arrow.StructOf(fields...), err
	}
	switch {
	case a.Parquet:
		return parquetType(t)
	case a.Clients:
		return a.clientType(t)
	}
	return t, nil
}

// fields adapts the children of a type. After an error they are valid, if not adapted.
func (a *Adapter) fields(from ...arrow.Field) ([]arrow.Field, error) {
	to := slices.Clone(from)
	for i := range to {
		t, err := a.dataType(from[i].Type)
		if err != nil {
			return from, err
		}
		if to[i].Type = t; a.Parquet && t.ID() == arrow.NULL {
			to[i].Type = arrow.PrimitiveTypes.Int32
		}
	}
	return to, nil
}

// parquetType is dataType for types without children.
func parquetType(t arrow.DataType) (arrow.DataType, error) {
	switch t.ID() {
	case arrow.DECIMAL32, arrow.DECIMAL64:
		d := t.(arrow.DecimalType)
		return &arrow.Decimal128Type{Precision: d.GetPrecision(), Scale: d.GetScale()}, nil
	case arrow.DATE64:
		return arrow.FixedWidthTypes.Date32, nil
	case arrow.TIMESTAMP:
		if ts := t.(*arrow.TimestampType); ts.Unit == arrow.Second {
			return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: ts.TimeZone}, nil
		}
	case arrow.DURATION:
		return arrow.PrimitiveTypes.Int64, nil
	case arrow.STRING_VIEW:
		return arrow.BinaryTypes.String, nil
	case arrow.BINARY_VIEW:
		return arrow.BinaryTypes.Binary, nil
	case arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO, arrow.SPARSE_UNION,
		arrow.DENSE_UNION, arrow.RUN_END_ENCODED, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW, arrow.EXTENSION:
		return nil, fmt.Errorf("parquet has no type for %s: write arrow", t)
	}
	return t, nil
}

// clientType is dataType for types without children.
func (a *Adapter) clientType(t arrow.DataType) (arrow.DataType, error) {
	if signed := signedType(t); a.Signed && signed != nil {
		return signed, nil
	}
	switch t.ID() {
	case arrow.NULL:
		return arrow.PrimitiveTypes.Int32, nil
	case arrow.DECIMAL32, arrow.DECIMAL64:
		d := t.(arrow.DecimalType)
		return &arrow.Decimal128Type{Precision: d.GetPrecision(), Scale: d.GetScale()}, nil
	case arrow.STRING_VIEW:
		return arrow.BinaryTypes.String, nil
	case arrow.BINARY_VIEW:
		return arrow.BinaryTypes.Binary, nil
	case arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW,
		arrow.EXTENSION:
		return nil, fmt.Errorf("drivers of clients have no type for %s: leave the column out", t)
	}
	return t, nil
}

// signedType returns the signed type that has all values of an unsigned one, or nil.
func signedType(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.UINT8:
		return arrow.PrimitiveTypes.Int16
	case arrow.UINT16:
		return arrow.PrimitiveTypes.Int32
	case arrow.UINT32:
		return arrow.PrimitiveTypes.Int64
	case arrow.UINT64:
		return &arrow.Decimal128Type{Precision: 20}
	}
	return nil
}

// Array returns the array as the type that dataType gave for its own; the caller releases it.
func (a *Adapter) Array(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(to, arr.DataType()) {
		arr.Retain()
		return arr, nil
	}
	switch arr := arr.(type) {
	case *array.Dictionary:
		return a.dictionary(arr, to)
	case array.ListLike, *array.Struct:
		return a.nested(arr, to)
	case *array.Decimal32:
		return widened(a.Allocator, to, arr, arr.Value), nil
	case *array.Decimal64:
		return widened(a.Allocator, to, arr, arr.Value), nil
	case *array.Date64:
		return filled(array.NewDate32Builder(a.Allocator), arr, func(row int) arrow.Date32 {
			return arrow.Date32(digits.FloorDiv(int64(arr.Value(row)), millisPerDay))
		}), nil
	case *array.Timestamp:
		return a.milliseconds(arr, to)
	case *array.Duration:
		return withType(arr, to, nil), nil
	case *array.StringView:
		return filled(array.NewStringBuilder(a.Allocator), arr, arr.Value), nil
	case *array.Uint8:
		return filled(array.NewInt16Builder(a.Allocator), arr, func(row int) int16 { return int16(arr.Value(row)) }), nil
	case *array.Uint16:
		return filled(array.NewInt32Builder(a.Allocator), arr, func(row int) int32 { return int32(arr.Value(row)) }), nil
	case *array.Uint32:
		return filled(array.NewInt64Builder(a.Allocator), arr, func(row int) int64 { return int64(arr.Value(row)) }), nil
	case *array.Uint64:
		return filled(array.NewDecimal128Builder(a.Allocator, to.(*arrow.Decimal128Type)), arr, func(row int) decimal128.Num {
			return decimal128.FromU64(arr.Value(row))
		}), nil
	case *array.Null:
		b := array.NewBuilder(a.Allocator, to) // MakeArrayOfNull wants memory of zeros
		defer b.Release()
		b.AppendNulls(arr.Len())
		return b.NewArray(), nil
	case *array.BinaryView:
		return filled(array.NewBinaryBuilder(a.Allocator, arrow.BinaryTypes.Binary), arr, arr.Value), nil
	}
	return nil, fmt.Errorf("%s cannot become %s", arr.DataType(), to)
}

// dictionary looks the values up.
func (a *Adapter) dictionary(arr *array.Dictionary, to arrow.DataType) (arrow.Array, error) {
	values, err := a.Array(arr.Dictionary(), to)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	// The library looks up integers but not the decimals of the same bits.
	switch to.ID() {
	case arrow.DECIMAL32:
		values = withType(values, arrow.PrimitiveTypes.Int32, nil)
		defer values.Release()
	case arrow.DECIMAL64:
		values = withType(values, arrow.PrimitiveTypes.Int64, nil)
		defer values.Release()
	}
	ctx := compute.WithAllocator(context.Background(), a.Allocator)
	rows, err := compute.TakeArrayOpts(ctx, values, arr.Indices(), compute.TakeOptions{BoundsCheck: true})
	if err != nil {
		return nil, err
	}
	if arrow.TypeEqual(rows.DataType(), to) {
		return rows, nil
	}
	defer rows.Release()
	return withType(rows, to, nil), nil
}

// nested adapts the children and keeps offsets and validity.
func (a *Adapter) nested(arr arrow.Array, to arrow.DataType) (arrow.Array, error) {
	children := make([]arrow.ArrayData, len(arr.Data().Children()))
	for i, data := range arr.Data().Children() {
		child := array.MakeFromData(data)
		defer child.Release()
		adapted, err := a.Array(child, childType(to, i))
		if err != nil {
			return nil, err
		}
		defer adapted.Release()
		children[i] = adapted.Data()
	}
	return withType(arr, to, children), nil
}

// childType returns the type of a list's elements, of a map's entries or of a struct's field i.
func childType(t arrow.DataType, i int) arrow.DataType {
	if s, ok := t.(*arrow.StructType); ok {
		return s.Field(i).Type
	}
	return t.(arrow.ListLikeType).Elem()
}

// withType returns the array's buffers under another type of the same layout.
func withType(arr arrow.Array, to arrow.DataType, children []arrow.ArrayData) arrow.Array {
	data := arr.Data()
	out := array.NewData(to, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	defer out.Release()
	return array.MakeFromData(out)
}

// filled returns what a builder, which it releases, makes of the values of an array's rows.
func filled[V any](b interface {
	array.Builder
	Append(V)
}, arr arrow.Array, value func(row int) V) arrow.Array {
	defer b.Release()
	b.Reserve(arr.Len())
	for row := range arr.Len() {
		if arr.IsNull(row) {
			b.AppendNull()
		} else {
			b.Append(value(row))
		}
	}
	return b.NewArray()
}

func widened[V ~int32 | ~int64](mem memory.Allocator, to arrow.DataType, arr arrow.Array,
	value func(row int) V) arrow.Array {
	return filled(array.NewDecimal128Builder(mem, to.(*arrow.Decimal128Type)), arr, func(row int) decimal128.Num {
		return decimal128.FromI64(int64(value(row)))
	})
}

const millisPerDay = 86_400_000

func (a *Adapter) milliseconds(arr *array.Timestamp, to arrow.DataType) (arrow.Array, error) {
	for row, v := range arr.TimestampValues() {
		if arr.IsValid(row) && (v > math.MaxInt64/1000 || v < math.MinInt64/1000) {
			return nil, fmt.Errorf("%d seconds are past what parquet's milliseconds hold: write arrow", v)
		}
	}
	builder := array.NewTimestampBuilder(a.Allocator, to.(*arrow.TimestampType))
	return filled(builder, arr, func(row int) arrow.Timestamp { return 1000 * arr.Value(row) }), nil
}
