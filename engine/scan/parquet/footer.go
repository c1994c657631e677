package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// rowGroup is what a footer says of a row group. There are many row groups, with many columns, and
// a query needs few of their figures: they are decoded here, without an allocation for each.
// arrow-go decodes the rest of a footer.
type rowGroup struct {
	rows   int64
	chunks []columnChunk // by leaf of the schema
}

// columnChunk is what a footer says of one column of a row group.
type columnChunk struct {
	dataStart  int64 // offset of the first data page
	dictionary int64 // offset of the dictionary page, if listed
	listed     bool  // the footer has the offset of the dictionary page
	bytes      int64 // in the file
	unpacked   int64 // bytes decompressed
	values     int64 // NULLs included
	bloom      int64 // offset of the Bloom filter; 0 or less where there is none
	bloomBytes int64 // of the filter and its header; 0 where the footer does not say

	offsetIndex, columnIndex indexLocation

	codec     compress.Compression
	encodings encodingSet // of pages and levels
	data      encodingSet // of data pages, if paged
	paged     bool        // the footer lists the encodings of pages
	stats     chunkStats

	encrypted bool // nothing else is known
}

// indexLocation is where an index lies in the file; 0 bytes where there is none.
type indexLocation struct{ offset, bytes int64 }

// chunkStats are the statistics of a chunk, as they are written.
type chunkStats struct {
	known              bool
	min, max           []byte // plain values; nil where not written
	oldMin, oldMax     []byte // from before the format had orders; nil where not written
	nulls              int64  // -1 where not counted
	distinct           int64  // values; -1 where not counted
	minExact, maxExact int    // compactTrue, compactFalse, or 0 where not written
}

// encodingSet is a set of encodings, each a bit. The bit encodingUnknown stands for newer
// encodings.
type encodingSet uint32

const encodingUnknown = 31

var (
	dictionaryEncodings = setOf(parquet.Encodings.RLEDict, parquet.Encodings.PlainDict)
	levelEncodings      = setOf(parquet.Encodings.RLE, parquet.Encodings.BitPacked)
)

func setOf(encodings ...parquet.Encoding) (s encodingSet) {
	for _, e := range encodings {
		s.add(int64(e))
	}
	return s
}

func (s *encodingSet) add(encoding int64) {
	if encoding < 0 || encoding > encodingUnknown {
		encoding = encodingUnknown
	}
	*s |= 1 << encoding
}

func (s encodingSet) all() iter.Seq[parquet.Encoding] {
	return func(yield func(parquet.Encoding) bool) {
		for left := uint32(s); left != 0; left &= left - 1 {
			if !yield(parquet.Encoding(bits.TrailingZeros32(left))) {
				return
			}
		}
	}
}

// start is where a chunk begins: at its dictionary page if there is one.
func (c *columnChunk) start() int64 {
	if c.listed && c.dictionary > 0 {
		return c.dictionary
	}
	return c.dataStart
}

// dataEncodings returns the encodings of a chunk's data pages; where the footer lists the encodings
// of pages and levels together, all but the encodings of levels alone.
func (c *columnChunk) dataEncodings() encodingSet {
	if c.paged {
		return c.data
	}
	return c.encodings &^ levelEncodings
}

// allDictionary says whether every data page of a chunk surely holds dictionary codes. A writer
// whose dictionary grew too large goes on in plain pages, whose strings have no codes.
func (c *columnChunk) allDictionary() bool {
	encodings := c.dataEncodings()
	return encodings != 0 && encodings&^dictionaryEncodings == 0
}

const (
	footerTailBytes = 8 // the footer's length and the magic

	magicPlain, magicEncrypted = "PAR1", "PARE"
)

// readFooter reads the bytes of a footer.
func readFooter(file io.ReaderAt, size int64, mem *reserve.Allocator) ([]byte, error) {
	var tail [footerTailBytes]byte
	if size < int64(len(tail)) {
		return nil, fmt.Errorf("%d B are too few", size)
	}
	if n, err := file.ReadAt(tail[:], size-footerTailBytes); n < len(tail) {
		return nil, err
	}
	switch magic := string(tail[4:]); magic {
	case magicPlain:
	case magicEncrypted:
		return nil, errors.New("its footer is encrypted")
	default:
		return nil, fmt.Errorf("it ends with %q in place of %s", magic, magicPlain)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-footerTailBytes {
		return nil, fmt.Errorf("%w: of %d B, in a file of %d B", decode.ErrFooter, n, size)
	}
	mem.Hold(decode.FooterCopies * n)
	raw := make([]byte, n)
	if read, err := file.ReadAt(raw, size-footerTailBytes-n); read < len(raw) {
		return nil, err
	}
	return raw, nil
}

// Field numbers of parquet.thrift, by structure.
const (
	fieldRowGroups = 4 // FileMetaData

	fieldColumns, fieldNumRows = 1, 3 // RowGroup

	fieldFilePath                                                = 1 // ColumnChunk
	fieldMetaData, fieldOffsetIndex, fieldOffsetIndexBytes       = 3, 4, 5
	fieldColumnIndex, fieldColumnIndexBytes, fieldCryptoMetadata = 6, 7, 8

	fieldEncodings, fieldCodec, fieldNumValues             = 2, 4, 5 // ColumnMetaData
	fieldUncompressed, fieldTotalCompressed, fieldDataPage = 6, 7, 9
	fieldDictionaryPage, fieldStatistics                   = 11, 12
	fieldEncodingStats, fieldBloomFilter                   = 13, 14
	fieldBloomFilterBytes                                  = 15

	fieldOldMax, fieldOldMin, fieldNullCount, fieldDistinct = 1, 2, 3, 4 // Statistics
	fieldMax, fieldMin, fieldMaxExact, fieldMinExact        = 5, 6, 7, 8

	fieldPageType, fieldPageEncoding = 1, 2 // PageEncodingStats
)

// columnMetaDataRequired are the fields that are read here and that a ColumnMetaData must have.
const columnMetaDataRequired = 1<<fieldEncodings | 1<<fieldCodec | 1<<fieldNumValues |
	1<<fieldUncompressed | 1<<fieldTotalCompressed | 1<<fieldDataPage

// errElsewhere is the error of a file of metadata alone, which some writers put beside the files of
// a directory.
var errElsewhere = errors.New("the rows lie in other files, which are to be named in its place")

// parseFooter decodes a footer: its row groups, and, without them, all else. S3.
func parseFooter(raw []byte) (meta *metadata.FileMetaData, groups []rowGroup, err error) {
	r := footerReader{compactReader{data: raw}}
	from, to := -1, -1 // of the list of row groups
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		if id != fieldRowGroups {
			r.skip(typ, 0)
			continue
		}
		if from >= 0 {
			r.fail(errors.New("two lists of row groups"))
		}
		from = r.at
		r.structs(typ, func(int) { groups = append(groups, r.rowGroup()) })
		to = r.at
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	if from < 0 {
		return nil, nil, errors.New("no list of row groups")
	}
	const noStructs = compactStruct // an empty list of structures
	if meta, err = metadata.NewFileMetaData(slices.Concat(raw[:from], []byte{noStructs}, raw[to:]), nil); err != nil {
		return nil, nil, err
	}
	for i := range groups {
		if n := len(groups[i].chunks); n != meta.Schema.NumColumns() {
			return nil, nil, fmt.Errorf("row group %d has %d columns, the schema %d", i, n, meta.Schema.NumColumns())
		}
	}
	return meta, groups, nil
}

// footerReader reads the structures of a footer.
type footerReader struct{ compactReader }

func (r *footerReader) rowGroup() (g rowGroup) {
	counted := false
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		switch id {
		case fieldColumns:
			r.structs(typ, func(n int) {
				if g.chunks == nil {
					const bytesMin = 16 // more than half of what is required of a chunk
					g.chunks = make([]columnChunk, 0, min(n, (len(r.data)-r.at)/bytesMin+1))
				}
				g.chunks = append(g.chunks, columnChunk{})
				r.columnChunk(&g.chunks[len(g.chunks)-1])
			})
		case fieldNumRows:
			g.rows, counted = r.number(typ), true
		default:
			r.skip(typ, 0)
		}
	}
	if !counted {
		r.fail(errors.New("a row group that does not say how many rows it has"))
	}
	return g
}

func (r *footerReader) columnChunk(c *columnChunk) {
	described, encrypted := false, false
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		switch id {
		case fieldFilePath:
			if path := r.binary(typ); len(path) > 0 {
				r.fail(fmt.Errorf("%w: %q is one of them", errElsewhere, path))
			}
		case fieldMetaData:
			if typ != compactStruct {
				r.fail(fmt.Errorf("a field of type %d in place of a column's metadata", typ))
			}
			r.columnMetaData(c)
			described = true
		case fieldOffsetIndex:
			c.offsetIndex.offset = r.number(typ)
		case fieldOffsetIndexBytes:
			c.offsetIndex.bytes = r.number(typ)
		case fieldColumnIndex:
			c.columnIndex.offset = r.number(typ)
		case fieldColumnIndexBytes:
			c.columnIndex.bytes = r.number(typ)
		case fieldCryptoMetadata:
			encrypted = true
			r.skip(typ, 0)
		default:
			r.skip(typ, 0)
		}
	}
	switch {
	case encrypted:
		*c = columnChunk{encrypted: true}
	case !described:
		r.fail(errors.New("a column chunk without metadata"))
	}
}

func (r *footerReader) columnMetaData(c *columnChunk) {
	seen := 0
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		if id >= 0 && id < bits.UintSize {
			seen |= 1 << id
		}
		switch id {
		case fieldEncodings:
			if typ != compactList {
				r.fail(fmt.Errorf("a field of type %d in place of a list of encodings", typ))
			}
			n, element := r.list()
			for i := 0; i < n && r.err == nil; i++ {
				c.encodings.add(r.number(element))
			}
		case fieldCodec:
			c.codec = compress.Compression(r.number(typ))
		case fieldNumValues:
			c.values = r.number(typ)
		case fieldUncompressed:
			c.unpacked = r.number(typ)
		case fieldTotalCompressed:
			c.bytes = r.number(typ)
		case fieldDataPage:
			c.dataStart = r.number(typ)
		case fieldDictionaryPage:
			c.dictionary, c.listed = r.number(typ), true
		case fieldBloomFilter:
			c.bloom = r.number(typ)
		case fieldBloomFilterBytes:
			if typ <= compactByte || typ > compactInt64 { // earlier writers had another field of this number
				r.skip(typ, 0)
				break
			}
			c.bloomBytes = r.number(typ)
		case fieldStatistics:
			if typ != compactStruct {
				r.fail(fmt.Errorf("a field of type %d in place of statistics", typ))
			}
			r.statistics(&c.stats)
		case fieldEncodingStats:
			r.structs(typ, func(int) {
				var of compactFields
				r.structure(&of, nil)
				c.paged = true
				if kind := pageKind(of[fieldPageType]); kind == pageV1 || kind == pageV2 {
					c.data.add(of[fieldPageEncoding])
				}
			})
		default:
			r.skip(typ, 0)
		}
	}
	if missing := columnMetaDataRequired &^ seen; missing != 0 {
		r.fail(fmt.Errorf("a column's metadata without field %d", bits.TrailingZeros(uint(missing))))
	}
}

func (r *footerReader) statistics(s *chunkStats) {
	*s = chunkStats{known: true, nulls: -1, distinct: -1}
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		switch id {
		case fieldOldMax:
			s.oldMax = r.binary(typ)
		case fieldOldMin:
			s.oldMin = r.binary(typ)
		case fieldNullCount:
			s.nulls = r.number(typ)
		case fieldDistinct:
			s.distinct = r.number(typ)
		case fieldMax:
			s.max = r.binary(typ)
		case fieldMin:
			s.min = r.binary(typ)
		case fieldMaxExact:
			s.maxExact = r.truth(typ)
		case fieldMinExact:
			s.minExact = r.truth(typ)
		default:
			r.skip(typ, 0)
		}
	}
}

// writtenBy reports whether a program of a version wrote the file.
func (p *File) writtenBy(program string, major, minor int) bool {
	w := p.meta.WriterVersion()
	return w.App == program && w.Version.Major == major && w.Version.Minor == minor
}

// packsAll reports whether the writer compressed all pages, and said of some that they are not: Arrow before 3.0, of
// pages of version 2 (ARROW-17100).
func (p *File) packsAll() bool {
	w := p.meta.WriterVersion()
	return w.App == "parquet-cpp" || w.App == "parquet-cpp-arrow" && w.Version.Major < 3
}

// trusted returns the statistics of a chunk, or nil where there are none or the writer is known to
// write wrong ones.
func (p *File) trusted(leaf *schema.Column, chunk *columnChunk) *chunkStats {
	s := &chunk.stats
	if s.nulls == 0 && chunk.start() != chunk.dataStart && p.writtenBy("parquet-cpp-arrow", 4, 0) {
		s.nulls = -1 // ARROW-13024: of columns with a dictionary, NULLs were not counted
	}
	if !s.known || leaf.SortOrder() == schema.SortUNKNOWN {
		return nil
	}
	low, high := s.min, s.max
	if leaf.ColumnOrder() != parquet.ColumnOrders.TypeDefinedOrder {
		low, high = s.oldMin, s.oldMax
	}
	written := metadata.EncodedStatistics{HasMin: low != nil, Min: low, HasMax: high != nil, Max: high}
	writer := p.meta.WriterVersion()
	if !writer.HasCorrectStatistics(leaf.PhysicalType(), leaf.LogicalType(), written, leaf.SortOrder()) {
		return nil
	}
	return s
}
