package sink

import (
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var parquetCodecs = map[string]compress.Compression{
	"none":   compress.Codecs.Uncompressed,
	"snappy": compress.Codecs.Snappy,
	"zstd":   compress.Codecs.Zstd,
	"gzip":   compress.Codecs.Gzip,
	"lz4":    compress.Codecs.Lz4Raw, // the older Lz4 is framed in more than one way
	"brotli": compress.Codecs.Brotli,
}

func parquetCodecNames() []string { return slices.Sorted(maps.Keys(parquetCodecs)) }

// parquetEncoder cuts rows into row groups of an exact size, whatever the batches are.
type parquetEncoder struct {
	w             *pqarrow.FileWriter
	adapter       *adapter
	schema        *arrow.Schema // adapted
	rowsPerGroup  int64
	rowsInGroup   int64
	groupsStarted bool
}

func newParquet(to io.Writer, schema *arrow.Schema, opt *Options) (encoder, error) {
	e := &parquetEncoder{adapter: &adapter{parquet: true, mem: opt.Allocator}, rowsPerGroup: opt.RowGroupRows}
	var err error
	if e.schema, err = e.adapter.schema(schema); err != nil {
		return nil, err
	}
	options := []parquet.WriterProperty{
		parquet.WithAllocator(opt.Allocator),
		parquet.WithCompression(parquetCodecs[opt.Codec]),
		parquet.WithMaxRowGroupLength(opt.RowGroupRows),
		parquet.WithCreatedBy("mpga"),
	}
	if opt.Level > 0 {
		options = append(options, parquet.WithCompressionLevel(opt.Level))
	}
	props := parquet.NewWriterProperties(options...)
	// The Arrow schema beside Parquet's own keeps what Parquet has no type for: the zones.
	arrowProps := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(opt.Allocator), pqarrow.WithStoreSchema())
	e.w, err = pqarrow.NewFileWriter(e.schema, to, props, arrowProps)
	return e, err
}

func (e *parquetEncoder) write(batch arrow.RecordBatch) error {
	adapted, err := e.adapter.batch(e.schema, batch)
	if err != nil {
		return err
	}
	defer adapted.Release()
	for row := int64(0); row < adapted.NumRows(); {
		if !e.groupsStarted || e.rowsInGroup == e.rowsPerGroup {
			if err := e.w.NewBufferedRowGroupChecked(); err != nil {
				return err
			}
			e.groupsStarted, e.rowsInGroup = true, 0
		}
		n := min(e.rowsPerGroup-e.rowsInGroup, adapted.NumRows()-row)
		part := adapted.NewSlice(row, row+n)
		err := e.w.WriteBuffered(part)
		part.Release()
		if err != nil {
			return err
		}
		row += n
		e.rowsInGroup += n
	}
	return nil
}

func (e *parquetEncoder) close() error { return e.w.Close() }
