package parquet

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// libraryColumn reads one column chunk.
//
// pqarrow hands a page's values on without a copy for a few types only, and knows no durations. So
// we ask it for the chunk's physical type and turn that into the column's type here: by a new label
// where the bits are the same, by one loop where they are not.
type libraryColumn struct {
	reader *pqarrow.FileReader
	part   *partColumn
	group  int
	typ    arrow.DataType // to deliver
	mem    memory.Allocator

	physical arrow.DataType // asked of pqarrow
	column   *pqarrow.ColumnReader
	skipped  int64 // rows to pass over before the next is read
}

func (c *libraryColumn) open(ctx context.Context) (err error) {
	c.physical = physicalType(c.reader.ParquetReader().MetaData().Schema.Column(c.part.leaf).PhysicalType(), c.typ)
	field := &c.reader.Manifest.Fields[c.part.field]
	renamed := *field.Field
	renamed.Type = c.physical
	field.Field = &renamed
	c.column, err = c.reader.GetFieldReader(ctx, c.part.field, map[int]bool{c.part.leaf: true}, []int{c.group})
	return err
}

// physicalType returns what to read a column of type t as.
func physicalType(physical parquet.Type, t arrow.DataType) arrow.DataType {
	switch {
	case t.ID() == arrow.NULL:
		return t
	case physical == parquet.Types.Int32:
		return arrow.PrimitiveTypes.Int32
	case physical == parquet.Types.Int64:
		return arrow.PrimitiveTypes.Int64
	}
	return t // decimals in bytes, 96-bit timestamps: pqarrow converts them
}

// skip passes over the next rows.
func (c *libraryColumn) skip(rows, _ int64) { c.skipped += rows }

// read returns the next rows of the column, which the caller owns.
func (c *libraryColumn) read(_ context.Context, rows int64) (arrow.Array, error) {
	for c.skipped > 0 {
		passed, err := c.column.NextBatch(min(c.skipped, discardRows))
		if err != nil {
			return nil, err
		}
		c.skipped -= int64(passed.Len())
		few := passed.Len() == 0
		passed.Release()
		if few {
			return nil, decode.Corrupt(errFewRows)
		}
	}
	values, err := c.column.NextBatch(rows)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	if int64(values.Len()) != rows {
		return nil, fmt.Errorf("%w: %d of %d rows", decode.ErrCorrupt, values.Len(), rows)
	}
	one := values.Chunk(0)
	if len(values.Chunks()) == 1 {
		one.Retain()
	} else if one, err = array.Concatenate(values.Chunks(), c.mem); err != nil {
		return nil, err
	}
	defer one.Release()
	return c.convert(one)
}

// convert turns an array of the physical type into one of the column's type.
func (c *libraryColumn) convert(a arrow.Array) (arrow.Array, error) {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	if arrow.TypeEqual(a.DataType(), c.typ) {
		a.Retain()
		return a, nil
	}
	switch a := a.(type) {
	case *array.Int32:
		return convertIntegers(c.mem, a, a.Int32Values(), c.typ)
	case *array.Int64:
		return convertIntegers(c.mem, a, a.Int64Values(), c.typ)
	}
	return nil, fmt.Errorf("a chunk of %s where the file's schema says %s", a.DataType(), c.typ)
}

// convertIntegers relabels or converts the integers that Parquet stores for many types.
func convertIntegers[T int32 | int64](mem memory.Allocator, a arrow.Array, values []T, typ arrow.DataType) (arrow.Array, error) {
	buffers := a.Data().Buffers()
	fixed, ok := typ.(arrow.FixedWidthDataType)
	if !ok {
		return nil, fmt.Errorf("a chunk of %s where the file's schema says %s", a.DataType(), typ)
	}
	if fixed.Bytes() != a.DataType().(arrow.FixedWidthDataType).Bytes() {
		out := memory.NewResizableBuffer(mem)
		defer out.Release()
		out.Resize(fixed.Bytes() * len(values))
		if !widen(out.Bytes(), values, typ.ID()) {
			return nil, fmt.Errorf("a chunk of %s where the file's schema says %s", a.DataType(), typ)
		}
		buffers = []*memory.Buffer{buffers[0], out}
	}
	data := array.NewData(typ, a.Len(), buffers, nil, a.NullN(), a.Data().Offset())
	defer data.Release()
	return array.MakeFromData(data), nil
}

// widen converts values to a type of another width. Values under NULL are zero or anything.
func widen[T int32 | int64](out []byte, values []T, id arrow.Type) bool {
	switch id {
	case arrow.INT8, arrow.UINT8:
		delivery.Narrow(arrow.Uint8Traits.CastFromBytes(out), values)
	case arrow.INT16, arrow.UINT16:
		delivery.Narrow(arrow.Uint16Traits.CastFromBytes(out), values)
	case arrow.DATE64: // of days
		days := arrow.Int64Traits.CastFromBytes(out)
		for i, v := range values {
			days[i] = int64(v) * 86_400_000
		}
	case arrow.DECIMAL128:
		decimals := arrow.Decimal128Traits.CastFromBytes(out)
		for i, v := range values {
			decimals[i] = decimal128.FromI64(int64(v))
		}
	case arrow.DECIMAL256:
		decimals := arrow.Decimal256Traits.CastFromBytes(out)
		for i, v := range values {
			decimals[i] = decimal256.FromI64(int64(v))
		}
	default:
		return false
	}
	return true
}

func (c *libraryColumn) close() error {
	if c.column != nil {
		c.column.Release()
		c.column = nil
	}
	return nil
}
