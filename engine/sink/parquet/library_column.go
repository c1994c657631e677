package parquet

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/internal/rowdata"
)

// libraryColumn leaves a column of a type that is seldom written, as truth values are, to the
// library.
type libraryColumn struct {
	adapter  *adapt.Adapter
	to       arrow.DataType // adapted
	nullable bool
	props    *parquet.WriterProperties

	sink   *countingWriter
	writer file.ColumnChunkWriter
	levels []int16
}

func (c *libraryColumn) begin(chunk *metadata.ColumnChunkMetaDataBuilder, _ pageIndex) error {
	path := chunk.Descr().Path()
	c.sink = &countingWriter{}
	pages, err := file.NewPageWriter(c.sink, c.props.CompressionFor(path), c.props.CompressionLevelFor(path), chunk, 0, 0,
		c.props.Allocator(), true, nil, nil)
	if err != nil {
		return err
	}
	c.writer = file.NewColumnChunkWriter(chunk, pages, c.props)
	return nil
}

func (c *libraryColumn) add(arr arrow.Array) error {
	adapted, err := c.adapter.Array(arr, c.to)
	if err != nil {
		return err
	}
	defer adapted.Release()
	c.levels = c.levels[:0]
	if c.nullable {
		c.levels = rowdata.Grow(c.levels, adapted.Len())
		for i := range c.levels {
			c.levels[i] = 0
			if adapted.IsValid(i) {
				c.levels[i] = 1
			}
		}
	}
	return pqarrow.WriteArrowToColumn(pqarrow.NewArrowWriteContext(context.Background(), nil),
		c.writer, adapted, c.levels, nil, c.nullable)
}

func (c *libraryColumn) finish(to *countingWriter) error {
	// The pages have waited in the library; only now is their place in the file known.
	*c.sink = countingWriter{Writer: to, bytes: to.bytes}
	return c.writer.Close()
}

// held counts nothing: the columns that the library encodes are small.
func (c *libraryColumn) held() int { return 0 }
