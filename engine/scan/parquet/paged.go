package parquet

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/vfs"
)

var _ decode.PagedPart = (*groupPart)(nil)

// PagedColumns implements decode.PagedPart.
func (p *groupPart) PagedColumns() ([]decode.PagedColumn, bool) {
	if p.filter != nil || len(p.columns) == 0 {
		return nil, false
	}
	columns := make([]decode.PagedColumn, len(p.columns))
	for i := range p.columns {
		c := &p.columns[i]
		chunk, leaf := p.chunk(c), p.file.meta.Schema.Column(c.leaf)
		width := pagedWidth(p.file.fields.Field(c.field).Type, leaf)
		if !c.flat || width == 0 || chunk.dataEncodings()&^anyValues != 0 {
			return nil, false
		}
		columns[i] = decode.PagedColumn{Width: width, Room: c.bytes}
		if !staysCompressed(chunk.codec) {
			columns[i].Room = max(chunk.unpacked, 0)
		}
	}
	return columns, true
}

func (p *groupPart) chunk(c *partColumn) *columnChunk { return &p.file.groups[p.group].chunks[c.leaf] }

// staysCompressed says whether pages of a codec are handed on as they are.
func staysCompressed(codec compress.Compression) bool {
	return codec == compress.Codecs.Uncompressed || codec == compress.Codecs.Snappy
}

// pagedWidth returns the width of the values of a column that Arrow has as plain pages have them, of 4
// or 8 bytes; 0 where it is another column.
func pagedWidth(typ arrow.DataType, leaf *schema.Column) int {
	fixed, ok := narrowDecimal(typ, leaf).(arrow.FixedWidthDataType)
	if !ok {
		return 0
	}
	width := map[parquet.Type]int{parquet.Types.Int32: 4, parquet.Types.Int64: 8, parquet.Types.Double: 8}[leaf.PhysicalType()]
	if fixed.BitWidth() != 8*width {
		return 0
	}
	return width
}

// OpenPages implements decode.PagedPart.
func (p *groupPart) OpenPages() (decode.PageReader, error) {
	f, err := p.file.fsys.Open(p.file.path)
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
	raw := memory
	if !staysCompressed(chunk.codec) {
		raw = make([]byte, c.bytes)
	}
	if n, _ := r.file.ReadAt(raw[:c.bytes], chunk.start()); int64(n) < c.bytes {
		return pages, false
	}
	leaf := r.part.file.meta.Schema.Column(c.leaf)
	cut := pageCutter{
		codec: chunk.codec, optional: leaf.MaxDefinitionLevel() > 0, unpacked: memory,
		bytesMax: max(chunk.unpacked, pageBytesMin),
		width:    pagedWidth(r.part.file.fields.Field(c.field).Type, leaf),
	}
	if !cut.all(raw[:c.bytes]) || cut.rows != r.part.numRows {
		return pages, false
	}
	return cut.pages, true
}

// pageCutter cuts the bytes of a column chunk into pages.
type pageCutter struct {
	codec    compress.Compression
	optional bool
	width    int
	bytesMax int64  // of a page, decompressed
	unpacked []byte // takes pages that do not stay compressed
	used     int    // of unpacked

	pages decode.Pages
	rows  int64
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
		bytes, ok := p.bytes(body, at, h.bytes)
		p.pages.Dictionary, p.pages.Entries = bytes, h.values
		plain := h.encoding == parquet.Encodings.Plain || h.encoding == parquet.Encodings.PlainDict
		return ok && plain && h.values > 0 && len(p.pages.Data) == 0 && int64(h.values)*int64(p.width) <= int64(h.bytes)
	}
	page := decode.Page{Rows: h.values, Coded: dictionaryEncoding(h.encoding)}
	if !page.Coded && h.encoding != parquet.Encodings.Plain || page.Coded && p.pages.Entries == 0 {
		return false
	}
	size := h.bytes
	switch {
	case h.kind == pageV2:
		if !p.optional || h.definition == 0 { // levels say nothing, or are not there
			body, at, size = body[h.repetition+h.definition:], at+int64(h.repetition+h.definition), size-h.repetition-h.definition
		} else {
			body, at, size = body[h.repetition:], at+int64(h.repetition), size-h.repetition
			page.Levels, page.LevelBytes = decode.LevelsSized, h.definition
			if !h.stored && p.codec != compress.Codecs.Uncompressed {
				return false // levels that are not compressed, before values that are
			}
		}
		if p.optional && h.definition == 0 {
			return false
		}
	case p.optional && h.levels != parquet.Encodings.RLE:
		return false
	case p.optional:
		page.Levels = decode.LevelsPrefixed
	}
	ok := true
	if h.stored {
		page.PageBytes, ok = p.stored(body, at, size)
	} else {
		page.PageBytes, ok = p.bytes(body, at, size)
	}
	p.rows += int64(h.values)
	p.pages.Data = append(p.pages.Data, page)
	return ok
}

// stored returns the bytes of a page that is not compressed.
func (p *pageCutter) stored(body []byte, at int64, size int) (b decode.PageBytes, ok bool) {
	if len(body) != size {
		return b, false
	}
	if !staysCompressed(p.codec) { // it does not lie in the column's memory
		if at = int64(p.used); len(body) > len(p.unpacked)-p.used {
			return b, false
		}
		p.used += copy(p.unpacked[p.used:], body)
	}
	return decode.PageBytes{At: at, Bytes: size, Size: size}, true
}

// bytes returns the bytes of a page that is to have size bytes, decompressed.
func (p *pageCutter) bytes(body []byte, at int64, size int) (b decode.PageBytes, ok bool) {
	// A corrupt length must not take memory.
	if int64(size) > min(p.bytesMax, expansionMax[p.codec]*int64(len(body))) {
		return b, false
	}
	switch {
	case p.codec == compress.Codecs.Uncompressed:
		return p.stored(body, at, size)
	case p.codec == compress.Codecs.Snappy:
		n, head := binary.Uvarint(body)
		if head <= 0 || n != uint64(size) {
			return b, false
		}
		b = decode.PageBytes{At: at + int64(head), Bytes: len(body) - head, Size: size, Snappy: true}
		if literal, ok := snappyLiteral(body, size); ok {
			b = decode.PageBytes{At: at + int64(len(body)-len(literal)), Bytes: size, Size: size}
		}
		return b, true
	case size > len(p.unpacked)-p.used:
		return b, false
	case size == 0: // codecs differ in how they write nothing
		return decode.PageBytes{At: int64(p.used)}, true
	}
	out := p.unpacked[p.used : p.used+size : p.used+size]
	got, err := decompress(p.codec, out, body)
	if err != nil || len(got) != size {
		return b, false
	}
	copy(out, got) // a codec may have made its own memory
	b = decode.PageBytes{At: int64(p.used), Bytes: size, Size: size}
	p.used += size
	return b, true
}
