package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/snappy"
	"github.com/mpga/mpga/internal/vfs"
)

var _ decode.PagedPart = (*groupPart)(nil)

// PagedColumns implements decode.PagedPart.
func (p *groupPart) PagedColumns() ([]decode.PagedColumn, error) {
	if len(p.columns) == 0 {
		return nil, errors.New("no column is read")
	}
	if p.file.undeleted(p.group).Ranges != nil {
		return nil, errDeleted
	}
	columns := make([]decode.PagedColumn, len(p.columns))
	for i := range p.columns {
		var err error
		chunk := p.chunk(&p.columns[i])
		if columns[i], err = p.file.pagedColumn(p.columns[i].field, chunk); err != nil {
			return nil, err
		}
		if c := &columns[i]; chunk.dataEncodings()&expandedEncodings != 0 {
			if c.Width == 0 { // strings become plain with their lengths
				c.Unpacked *= 2
			}
			c.Unpacked += min(p.numRows, unpackedMax) * int64(cmp.Or(c.Width, stringMin))
		}
	}
	return columns, nil
}

// pagedColumn tells what the pages of a chunk of a field hold, or why devices decode no such pages. Unpacked is
// without what becomes plain.
func (p *File) pagedColumn(field int, chunk *columnChunk) (c decode.PagedColumn, err error) {
	if p.leaves[field] < 0 {
		of := p.flat.Schema.Field(field)
		return c, fmt.Errorf("column %q has values of type %s", of.Name, query.TypeName(of.Type))
	}
	leaf, typ := p.meta.Schema.Column(p.leaves[field]), p.flat.Schema.Field(field).Type
	c, ok := pagedForm(typ, leaf)
	switch {
	case !ok || !p.readsFlat(field, chunk):
		return c, fmt.Errorf("column %q has values of type %s, as %s", leaf.Path(), typ, leaf.PhysicalType())
	case leaf.MaxDefinitionLevel() > 1:
		return c, fmt.Errorf("column %q may be NULL at %d levels", leaf.Path(), leaf.MaxDefinitionLevel())
	case chunk.dataEncodings()&^(anyValues|expandedEncodings) != 0:
		return c, fmt.Errorf("column %q has pages of strings by their prefixes", leaf.Path())
	}
	// A corrupt size must not take memory.
	unpacked := min(max(chunk.unpacked, chunk.bytes), unpackedMax)
	if most := expansionMax[chunk.codec]; chunk.bytes < unpackedMax/most {
		unpacked = min(unpacked, most*chunk.bytes)
	}
	c.Name, c.Type, c.Text, c.Bytes, c.Unpacked = leaf.Path(), typ, isText(typ), chunk.bytes, unpacked
	if !crosses(chunk.codec) {
		c.Bytes, c.Codec = unpacked, chunk.codec.String()
	}
	return c, nil
}

// pageEncodings are the encodings of pages that devices decode.
var pageEncodings = map[parquet.Encoding]decode.PageEncoding{
	parquet.Encodings.Plain: decode.Plain, parquet.Encodings.RLEDict: decode.Coded,
	parquet.Encodings.PlainDict:            decode.Coded,
	parquet.Encodings.DeltaBinaryPacked:    decode.DeltaBinaryPacked,
	parquet.Encodings.DeltaLengthByteArray: decode.DeltaLengthByteArray,
	parquet.Encodings.ByteStreamSplit:      decode.ByteStreamSplit,
}

// expandedEncodings are the encodings whose pages become plain.
var expandedEncodings = setOf(
	parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.ByteStreamSplit,
)

// unpackedMax bounds what is believed of the decompressed size of a column chunk.
const unpackedMax = 1 << 40

func (p *groupPart) chunk(c *partColumn) *columnChunk { return &p.file.groups[p.group].chunks[c.leaf] }

// crosses says whether pages of a codec are handed on as they lie in the file.
func crosses(codec compress.Compression) bool {
	return codec == compress.Codecs.Uncompressed || codec == compress.Codecs.Snappy
}

// pagedForm returns how the values of a column lie in plain pages: Width, Value and Big. ok is false where
// devices do not decode such values.
func pagedForm(typ arrow.DataType, leaf *schema.Column) (c decode.PagedColumn, ok bool) {
	if leaf.PhysicalType() == parquet.Types.ByteArray {
		return c, isText(typ) || typ.ID() == arrow.BINARY || typ.ID() == arrow.LARGE_BINARY
	}
	fixed, ok := typ.(arrow.FixedWidthDataType)
	if !ok {
		return c, false
	}
	c.Width = map[parquet.Type]int{
		parquet.Types.Int32: 4, parquet.Types.Int64: 8, parquet.Types.Float: 4, parquet.Types.Double: 8,
	}[leaf.PhysicalType()]
	if _, ok := narrowDecimal(typ, leaf).(*arrow.Decimal64Type); ok {
		if c.Big = leaf.PhysicalType() == parquet.Types.FixedLenByteArray; c.Big {
			c.Width = leaf.TypeLength()
		}
		c.Value = c.Width
		return c, c.Width > 0
	}
	c.Value = fixed.BitWidth() / 8
	narrow := leaf.PhysicalType() == parquet.Types.Int32 && arrow.IsInteger(typ.ID()) && c.Value < c.Width
	return c, c.Width > 0 && (c.Value == c.Width || narrow)
}

// OpenPages implements decode.PagedPart.
func (p *groupPart) OpenPages() (decode.PageReader, error) {
	f, err := p.openFile()
	if err != nil {
		return nil, err
	}
	return &pageReader{p, f}, nil
}

// pageReader reads the pages of a row group's columns.
type pageReader struct {
	part *groupPart
	file vfs.File
}

func (r *pageReader) Close() error { return r.file.Close() }

// Read implements decode.PageReader.
func (r *pageReader) Read(column int, memory []byte) (pages decode.Pages, ok bool) {
	err := decode.Guard(func() error {
		pages, ok = r.read(&r.part.columns[column], memory)
		return nil
	})
	return pages, ok && err == nil
}

func (r *pageReader) read(c *partColumn, memory []byte) (pages decode.Pages, ok bool) {
	chunk := r.part.chunk(c)
	leaf := r.part.file.meta.Schema.Column(c.leaf)
	cut := pageCutter{
		codec: chunk.codec, optional: leaf.MaxDefinitionLevel() > 0, bytesMax: max(chunk.unpacked, pageBytesMin),
		pagesMax: int(pagedMin + r.part.numRows/pagedRowsMin), encodings: chunk.dataEncodings() | anyValues,
		packed: r.part.file.packsAll(), isCut: r.part.file.cutsPieces.Load(),
	}
	form, _ := pagedForm(r.part.file.flat.Schema.Field(c.field).Type, leaf)
	cut.width = cmp.Or(form.Width, stringMin)
	raw := memory
	if !crosses(chunk.codec) {
		cut.unpack = memory
		packed := packedChunks.Get().(*[]byte)
		defer packedChunks.Put(packed)
		*packed = slices.Grow((*packed)[:0], int(c.bytes))
		raw = (*packed)[:c.bytes]
	}
	if n, _ := r.file.ReadAt(raw[:c.bytes], chunk.start()); int64(n) < c.bytes {
		return pages, false
	}
	if !cut.all(raw[:c.bytes]) || cut.rows != r.part.numRows {
		return pages, false
	}
	if cut.isCut {
		r.part.file.cutsPieces.Store(true)
	}
	return cut.pages, true
}

// packedChunks are memory of chunks that are decompressed page by page.
var packedChunks = sync.Pool{New: func() any { return new([]byte) }}

// A chunk that has more pages is read as batches: many pages of few rows each are slow on a device.
const (
	pagedMin     = 1 << 10 // pages
	pagedRowsMin = 1 << 10 // rows of a page beyond these
)

// stringMin is how many bytes a plain string has at least: the bytes of its length.
const stringMin = 4

// pageCutter cuts the bytes of a column chunk into pages.
type pageCutter struct {
	codec     compress.Compression
	optional  bool
	width     int         // the least bytes of a dictionary's entry
	encodings encodingSet // of data pages
	bytesMax  int64       // of a page, decompressed
	pagesMax  int         // that a tile could take: a damaged chunk may be nothing but headers
	packed    bool        // pages of version 2 are compressed, whatever their headers say
	isCut     bool        // a block of several pieces, of the file, has a cut between the first two

	unpack   []byte // where pages go decompressed; nil where they stay as they are
	unpacked int    // bytes of unpack that pages have

	dictionary bool // has come, which may have no entry
	pages      decode.Pages
	rows       int64
}

// all cuts the bytes of a chunk. It returns false where a page is damaged or unlike what it is to be.
func (p *pageCutter) all(raw []byte) bool {
	for at := 0; at < len(raw); {
		h, size, err := parsePageHeader(raw[at:])
		if at += size; err != nil || h.fileBytes > len(raw)-at {
			return false
		}
		body := raw[at : at+h.fileBytes]
		if h.checked && crc32.ChecksumIEEE(body) != h.crc {
			return false
		}
		if !p.one(&h, body, int64(at)) {
			return false
		}
		at += h.fileBytes
	}
	return true
}

// one takes a page, whose bytes begin at a place in the chunk.
func (p *pageCutter) one(h *pageHeader, body []byte, at int64) bool {
	switch h.kind {
	case pageIndex:
		return true
	case pageDictionary:
		first := !p.dictionary
		bytes, ok := p.bytes(body, at, h.bytes, false)
		p.dictionary = true
		p.pages.Dictionary, p.pages.Entries = bytes, h.values
		plain := h.encoding == parquet.Encodings.Plain || h.encoding == parquet.Encodings.PlainDict
		return ok && plain && first && len(p.pages.Data) == 0 && int64(h.values)*int64(p.width) <= int64(h.bytes)
	}
	page, ok := decode.Page{Rows: h.values}, false
	if h.values == 0 || len(p.pages.Data) == p.pagesMax {
		return false
	}
	page.Encoding, ok = pageEncodings[h.encoding]
	if !ok || setOf(h.encoding)&^p.encodings != 0 || page.Encoding == decode.Coded && !p.dictionary {
		return false
	}
	values := h.repetition + h.definition
	switch {
	case h.kind == pageV1 && p.optional:
		page.Levels = decode.LevelsPrefixed
		if h.levels != parquet.Encodings.RLE {
			return false
		}
	case h.kind == pageV2 && p.optional:
		// Of a flat column, repetition levels say nothing.
		page.Levels, page.LevelsAt, page.LevelBytes = decode.LevelsSized, at+int64(h.repetition), h.definition
		if p.unpack != nil {
			page.LevelsAt = int64(p.unpacked)
			n := copy(p.unpack[p.unpacked:], body[h.repetition:values])
			if p.unpacked += n; n < h.definition {
				return false
			}
		}
	}
	page.PageBytes, ok = p.bytes(body[values:], at+int64(values), h.bytes-values, h.stored && !p.packed)
	p.rows += int64(h.values)
	p.pages.Data = append(p.pages.Data, page)
	return ok
}

// stored returns the bytes of a page that is not compressed.
func stored(body []byte, at int64, size int) (b decode.PageBytes, ok bool) {
	return decode.PageBytes{At: at, Bytes: size, Size: size}, len(body) == size
}

// cutsPieces says whether a block begins with a piece of snappy.PieceSize, as a device is to find it:
// blocks of some compressors have no pieces.
func cutsPieces(packed []byte) bool {
	for done := 0; done < snappy.PieceSize; {
		head, n, offset, err := snappyElement(packed)
		if offset == 0 {
			head += n
		}
		if done += n; err != nil || head > len(packed) || done > snappy.PieceSize {
			return false
		}
		packed = packed[head:]
	}
	return true
}

// bytes returns the bytes of a page, or of a part of a page, that begin at a place in the chunk and are to be
// size bytes, decompressed. isStored says that they are not compressed.
func (p *pageCutter) bytes(body []byte, at int64, size int, isStored bool) (b decode.PageBytes, ok bool) {
	isStored = isStored || p.codec == compress.Codecs.Uncompressed
	if size == 0 && !isStored { // codecs differ in how they write nothing
		return decode.PageBytes{}, true
	}
	// A corrupt length must not take memory.
	if size < 0 || !isStored && int64(size) > min(p.bytesMax, expansionMax[p.codec]*int64(len(body))) {
		return b, false
	}
	switch {
	case p.unpack != nil:
		return p.decompressed(body, size, isStored)
	case isStored:
		return stored(body, at, size)
	}
	n, head := binary.Uvarint(body)
	if head <= 0 || n != uint64(size) {
		return b, false
	}
	if literal, ok := snappyLiteral(body, size); ok {
		return stored(literal, at+int64(len(body)-size), size)
	}
	if size > snappy.PieceSize && !p.isCut {
		if p.isCut = cutsPieces(body[head:]); !p.isCut {
			return b, false
		}
	}
	return decode.PageBytes{At: at + int64(head), Bytes: len(body) - head, Size: size, Snappy: true}, true
}

// decompressed puts the decompressed bytes of a page behind the bytes of the pages before.
func (p *pageCutter) decompressed(body []byte, size int, isStored bool) (b decode.PageBytes, ok bool) {
	at := p.unpacked
	if size > len(p.unpack)-at {
		return b, false
	}
	to := p.unpack[at:][:size:size]
	p.unpacked += size
	out := body
	if !isStored {
		var err error
		if out, err = decompress(p.codec, to, body); err != nil {
			return b, false
		}
	}
	ok = len(out) == size && copy(to, out) == size
	return decode.PageBytes{At: int64(at), Bytes: size, Size: size}, ok
}
