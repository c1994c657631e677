package parquet

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// libraryColumn reads one column chunk by pqarrow.
//
// pqarrow hands on the values of a page without a copy for a few types only, and knows no
// durations. So it is asked for the chunk's physical type, and integers are taken for a plain page
// of the column.
type libraryColumn struct {
	reader *pqarrow.FileReader
	part   *partColumn
	group  int
	typ    arrow.DataType // to deliver
	mem    memory.Allocator

	leaf    *schema.Column // of part
	column  *pqarrow.ColumnReader
	skipped int64 // rows to pass over before the next is read
	row     int64 // index in the chunk of the row that comes next
}

func (c *libraryColumn) open(ctx context.Context) (err error) {
	c.leaf = c.reader.ParquetReader().MetaData().Schema.Column(c.part.leaf)
	field := &c.reader.Manifest.Fields[c.part.field]
	renamed := *field.Field
	renamed.Type = physicalType(c.leaf.PhysicalType(), c.typ)
	renamed.Nullable = c.leaf.MaxDefinitionLevel() > 0
	field.Field = &renamed
	c.column, err = c.reader.GetFieldReader(ctx, c.part.field, map[int]bool{c.part.leaf: true}, []int{c.group})
	return err
}

// physicalType returns the type that pqarrow is asked for where a column has type t.
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

// skip implements chunkReader.
func (c *libraryColumn) skip(rows, _ int64) {
	c.skipped += rows
	c.row += rows
}

// read implements chunkReader.
func (c *libraryColumn) read(_ context.Context, rows int64, _ *rowset.Set) (arrow.Array, error) {
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
	if len(values.Chunks()) == 1 && one.Data().Offset() == 0 {
		one.Retain()
	} else if one, err = array.Concatenate(values.Chunks(), c.mem); err != nil {
		return nil, err
	}
	defer one.Release()
	if bad := delivery.InvalidText(one); bad >= 0 {
		text := decode.NewTextError(c.row+int64(bad), []byte(one.ValueStr(bad)))
		return nil, decode.Corrupt(text)
	}
	c.row += rows
	return c.convert(one)
}

// convert turns an array of the physical type into an array of the column's type.
// Requires: the array has no offset.
func (c *libraryColumn) convert(a arrow.Array) (arrow.Array, error) {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	if arrow.TypeEqual(a.DataType(), c.typ) {
		a.Retain()
		return a, nil
	}
	values := valuesOf(c.typ, c.leaf, c.mem)
	if id := a.DataType().ID(); values == nil || id != arrow.INT32 && id != arrow.INT64 {
		return nil, fmt.Errorf("a chunk of %s where the file's schema says %s", a.DataType(), c.typ)
	}
	buffers := a.Data().Buffers()
	return decodePlain(values, a.Len(), buffers[1].Bytes(), buffers[0], a.NullN())
}

func (c *libraryColumn) close() error {
	if c.column != nil {
		c.column.Release()
		c.column = nil
	}
	return nil
}
