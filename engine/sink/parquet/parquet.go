package parquet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

var codecs = map[string]compress.Compression{
	"none":   compress.Codecs.Uncompressed,
	"snappy": compress.Codecs.Snappy,
	"zstd":   compress.Codecs.Zstd,
	"gzip":   compress.Codecs.Gzip,
	"lz4":    compress.Codecs.Lz4Raw, // the older Lz4 is framed in more than one way
	"brotli": compress.Codecs.Brotli,
}

// CodecNames lists the codecs by their names, sorted.
func CodecNames() []string { return slices.Sorted(maps.Keys(codecs)) }

// Options say how rows become a file. Every field but Level and Budget is set.
type Options struct {
	Codec        string // one of CodecNames
	Level        int    // of the codec; 0 is the codec's own
	RowGroupRows int64  // rows after which a row group ends
	GroupBytes   int64  // encoded bytes, about, after which a row group ends before it has RowGroupRows
	Page         PageSize
	Threads      int // goroutines that encode the columns of a batch
	Allocator    memory.Allocator
	Budget       rowdata.Budget // grants the memory of buffers; nil grants every request
}

// PageSize says when a page ends.
type PageSize struct {
	Rows  int // at most PageRowsMax
	Bytes int // of plain values, about
}

// PageRowsMax is the most rows of a page.
const PageRowsMax = 1 << 15

// Pages of these sizes suit a reader. With PageSizeDefault, pages are small enough that a reader that wants few rows
// decodes little else, and large enough that their headers cost nothing. With PageSizeGPU, there are more pages to
// decode at once: a GPU decodes a page by a warp, some thousand pages at a time.
var (
	PageSizeDefault = PageSize{PageRowsMax, 1 << 20}
	PageSizeGPU     = PageSize{1 << 13, 128 << 10}
)

// Encoder writes the rows of a file. One goroutine at a time uses an Encoder.
type Encoder interface {
	// Write encodes the rows of a batch, which the encoder does not keep.
	Write(arrow.RecordBatch) error

	// Close writes the rest of the file and releases the memory of the encoder. It does not close
	// the writer below.
	Close() error
}

// New starts a file for rows of a schema. When ctx is done, encoding ends with an error, within a page.
func New(ctx context.Context, to io.Writer, schema *arrow.Schema, opt *Options) (Encoder, error) {
	a := &adapt.Adapter{Parquet: true, Allocator: opt.Allocator}
	adapted, err := a.Schema(schema)
	if err != nil {
		return nil, err
	}
	pageBytes := opt.Page.Bytes
	if opt.isSlow() { // the library compresses a page without looking at ctx
		pageBytes = min(pageBytes, 2*brotliPieceBytes)
	}
	options := []parquet.WriterProperty{
		parquet.WithAllocator(opt.Allocator),
		parquet.WithCompression(codecs[opt.Codec]),
		parquet.WithMaxRowGroupLength(opt.RowGroupRows),
		parquet.WithDataPageSize(int64(pageBytes)),
		parquet.WithCreatedBy("mpga"),
		parquet.WithStoreDecimalAsInteger(true), // which readers need not turn around
	}
	if opt.Level > 0 {
		options = append(options, parquet.WithCompressionLevel(opt.Level))
	}
	props := parquet.NewWriterProperties(options...)
	for _, f := range adapted.Fields() {
		if _, nested := f.Type.(arrow.NestedType); nested {
			return newNestedFile(ctx, to, adapted, a, props, opt)
		}
	}
	return newFlatFile(ctx, to, adapted, a, props, opt)
}

// flatFile writes columns without children, each by a chunkEncoder. The columns of a batch are
// encoded by as many goroutines as there are threads; compressed pages wait for the end of their
// row group.
type flatFile struct {
	to      *countingWriter
	schema  *arrow.Schema // adapted to the types that Parquet has
	meta    *metadata.FileMetaDataBuilder
	index   *metadata.PageIndexBuilder
	columns []chunkEncoder // by column of schema
	threads int            // goroutines that encode a batch

	group        *metadata.RowGroupMetaDataBuilder // nil between row groups
	groups       int                               // row groups that have ended
	rowsInGroup  int64                             // rows of the open row group
	rowsPerGroup int64                             // rows at which a row group ends

	bytesPerGroup int64               // encoded bytes at which a row group ends
	reserved      rowdata.Reservation // of the buffers of columns and of the footer
}

// chunkEncoder encodes one column, a column chunk after the other.
type chunkEncoder interface {
	begin(*metadata.ColumnChunkMetaDataBuilder, pageIndex) error

	// add encodes the values of a batch and keeps no memory of the batch.
	add(arrow.Array) error

	// held returns about how many bytes wait for finish.
	held() int

	// finish writes the chunk.
	finish(*countingWriter) error
}

// countingWriter knows where in the file it writes.
type countingWriter struct {
	io.Writer
	bytes int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Tell returns the position of the next byte.
func (w *countingWriter) Tell() int64 { return w.bytes }

const magic = "PAR1"

// rowsInParallelMin is the smallest batch whose columns are worth goroutines.
const rowsInParallelMin = 2048

// rowGroupsMax is the most row groups that the format can number.
const rowGroupsMax = math.MaxInt16

func newFlatFile(ctx context.Context, to io.Writer, schema *arrow.Schema, a *adapt.Adapter,
	props *parquet.WriterProperties, opt *Options,
) (Encoder, error) {
	columns, err := pqarrow.ToParquet(schema, props,
		pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(opt.Allocator)))
	if err != nil {
		return nil, err
	}
	pairs, err := keyValues(schema)
	if err != nil {
		return nil, err
	}
	e := &flatFile{to: &countingWriter{Writer: to}, schema: schema,
		meta:    metadata.NewFileMetadataBuilder(columns, props, pairs),
		index:   &metadata.PageIndexBuilder{Schema: columns},
		threads: opt.Threads, rowsPerGroup: opt.RowGroupRows,
		bytesPerGroup: max(opt.GroupBytes, chunkBytesMin*int64(schema.NumFields())),
		reserved:      rowdata.NewReservation(opt.Budget)}
	codec, err := newCodec(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := e.reserve(0); err != nil {
		return nil, err
	}
	for i, f := range schema.Fields() {
		e.columns = append(e.columns, newChunkEncoder(ctx, f, columns.Column(i), a, props, opt.Page, codec))
	}
	_, err = io.WriteString(e.to, magic)
	return e, err
}

// keyValues returns the schema's metadata, and the Arrow schema beside Parquet's own, for the
// zones, which Parquet has no type for.
func keyValues(schema *arrow.Schema) (metadata.KeyValueMetadata, error) {
	pairs := metadata.NewKeyValueMetadata()
	meta := schema.Metadata()
	for i, key := range meta.Keys() {
		if err := pairs.Append(key, meta.Values()[i]); err != nil {
			return nil, err
		}
	}
	var stream bytes.Buffer // of no batches
	if err := ipc.NewWriter(&stream, ipc.WithSchema(schema)).Close(); err != nil {
		return nil, err
	}
	return pairs, pairs.Append("ARROW:schema", base64.StdEncoding.EncodeToString(stream.Bytes()))
}

func (e *flatFile) Write(batch arrow.RecordBatch) error {
	for row := int64(0); row < batch.NumRows(); {
		if e.group == nil {
			if err := e.begin(); err != nil {
				return err
			}
		}
		part := partOf(batch, row, e.rowsPerGroup-e.rowsInGroup, e.bytesPerGroup/partsPerGroup)
		n := part.NumRows()
		err := e.makeRoom(part)
		if err == nil {
			err = e.each(int(n), func(i int) error { return e.columns[i].add(part.Column(i)) })
		}
		part.Release()
		if err != nil {
			return err
		}
		row += n
		e.rowsInGroup += n
		if e.rowsInGroup >= e.rowsPerGroup || e.held() >= e.bytesPerGroup {
			if err := e.endGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsPerGroup is the least number of parts that the rows of a group of long strings are added in.
const partsPerGroup = 8

// partOf returns the rows of a batch from row from on: at most `rows` rows, and at most about bytes
// bytes. The caller owns the result.
func partOf(batch arrow.RecordBatch, from, rows, bytes int64) arrow.RecordBatch {
	rows = min(rows, batch.NumRows()-from)
	part := batch.NewSlice(from, from+rows)
	for rows > 1 {
		held := rowdata.BatchBytes(part)
		if held <= bytes {
			break
		}
		rows = max(min(rows*bytes/held, rows/2), 1)
		part.Release()
		part = batch.NewSlice(from, from+rows)
	}
	return part
}

// held returns how many bytes wait for the end of the row group.
func (e *flatFile) held() int64 {
	bytes := 0
	for _, c := range e.columns {
		bytes += c.held()
	}
	return int64(bytes)
}

const (
	// partCopies is how many times a part is in memory while it is encoded: plain, with room to
	// grow, and compressed, in a buffer that grows.
	partCopies = 4

	// columnBytes is what the encoder of a column takes for itself, and chunkBytes what the footer
	// says of a chunk.
	columnBytes, chunkBytes = 40 << 10, 2 << 10

	// chunkBytesMin is how many encoded bytes a column has on average, at least, in a row group
	// that GroupBytes ends: the chunkBytes of the footer are less.
	chunkBytesMin = 4 << 10

	// reservedStep is what reservations are rounded to: below it, they are not worth a call.
	reservedStep = 1 << 20
)

// makeRoom reserves the memory that a part takes. Where the budget refuses it, the row group ends
// before the part. Q1.
func (e *flatFile) makeRoom(part arrow.RecordBatch) error {
	bytes := partCopies * rowdata.BatchBytes(part)
	err := e.reserve(bytes)
	if err == nil || e.rowsInGroup == 0 {
		return err
	}
	if err := e.endGroup(); err != nil {
		return err
	}
	if err := e.reserve(bytes); err != nil {
		return err
	}
	return e.begin()
}

// reserve makes the reservation as large as the bytes that columns hold, and more bytes besides.
func (e *flatFile) reserve(more int64) error {
	const growing = 2 // a full buffer is copied to a larger buffer
	bytes := growing*e.held() + more + int64(len(e.schema.Fields()))*(columnBytes+chunkBytes*int64(e.groups+1))
	if bytes < reservedStep {
		return nil
	}
	return e.reserved.Resize((bytes + reservedStep - 1) / reservedStep * reservedStep)
}

func (e *flatFile) begin() error {
	if e.groups == rowGroupsMax {
		return knob.Errorf("parquet has no more than %d row groups: give them more than %d rows (%s)",
			rowGroupsMax, e.rowsPerGroup, knob.Name("sink.RowGroupRows"))
	}
	e.group = e.meta.AppendRowGroup()
	if err := e.index.AppendRowGroup(); err != nil {
		return err
	}
	for i, c := range e.columns {
		if err := c.begin(e.group.NextColumnChunk(), pageIndex{e.index, i}); err != nil {
			return err
		}
	}
	return nil
}

// each calls a function for each column, in goroutines if the batch has enough rows.
func (e *flatFile) each(rows int, f func(column int) error) error {
	named := func(i int) error {
		if err := f(i); err != nil {
			return fmt.Errorf("column %q: %w", e.schema.Field(i).Name, err)
		}
		return nil
	}
	if min(e.threads, len(e.columns)) == 1 || rows < rowsInParallelMin {
		for i := range e.columns {
			if err := named(i); err != nil {
				return err
			}
		}
		return nil
	}
	var group spawn.Group
	group.SetLimit(e.threads)
	for i := range e.columns {
		group.Go(func() error { return named(i) })
	}
	return group.Wait()
}

// endGroup writes the row group.
func (e *flatFile) endGroup() error {
	if e.group == nil {
		return nil
	}
	var errs []error
	for _, c := range e.columns {
		errs = append(errs, c.finish(e.to)) // all of them, for the memory that they hold
	}
	e.group.SetNumRows(int(e.rowsInGroup))
	errs = append(errs, e.group.Finish(0, int16(e.groups)))
	e.group, e.rowsInGroup = nil, 0
	e.groups++
	return cmp.Or(errs...)
}

func (e *flatFile) Close() error {
	defer e.reserved.Release()
	if err := e.endGroup(); err != nil {
		return err
	}
	if err := e.writeIndex(); err != nil {
		return err
	}
	footer, err := e.meta.Finish()
	if err != nil {
		return err
	}
	n, err := footer.WriteTo(e.to, nil)
	if err != nil {
		return err
	}
	_, err = e.to.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
	return err
}
