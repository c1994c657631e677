package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
)

// pageKind is what a page holds, by its number in a page header.
type pageKind int64

const (
	pageV1         pageKind = 0
	pageIndex      pageKind = 1 // reserved by the format
	pageDictionary pageKind = 2
	pageV2         pageKind = 3
)

// pageHeader stands before each page of a column chunk. arrow-go keeps its own out of reach.
type pageHeader struct {
	kind       pageKind
	bytes      int // of the page, decompressed
	fileBytes  int // of the page as it is in the file
	crc        uint32
	checked    bool // whether there is a crc: of the bytes in the file
	values     int  // NULLs included
	encoding   parquet.Encoding
	levels     parquet.Encoding // of the definition levels, version 1
	repetition int              // bytes of repetition levels, version 2
	definition int              // bytes of definition levels, version 2
	stored     bool             // version 2: not compressed, whatever the chunk's codec is
}

// pageHeaderBytesMax bounds a header, which may hold the smallest and the largest value of its page.
const pageHeaderBytesMax = 16 << 20

// Field numbers of parquet.thrift: of PageHeader, then of the structures in it.
const (
	fieldKind, fieldBytes, fieldFileBytes, fieldCRC = 1, 2, 3, 4
	fieldV1, fieldDict, fieldV2                     = 5, 7, 8

	fieldValues, fieldEncoding, fieldLevels                            = 1, 2, 3
	fieldEncodingV2, fieldDefinition, fieldRepetition, fieldCompressed = 4, 5, 6, 7
)

// parsePageHeader reads the header that data begins with, and returns how many bytes it takes: with
// io.ErrUnexpectedEOF, more than data has.
func parsePageHeader(data []byte) (h pageHeader, size int, err error) {
	const absent = math.MinInt64
	r := compactReader{data: data}
	outer := compactFields{fieldKind: absent, fieldCRC: absent}
	inner, holder := compactFields{}, 0 // the structure of the page's kind, and its field
	r.structure(&outer, func(id int) {
		fields := compactFields{fieldCompressed: 1}
		r.structure(&fields, nil)
		if id == fieldV1 || id == fieldDict || id == fieldV2 {
			inner, holder = fields, id
		}
	})
	if r.err != nil {
		return h, 0, r.err
	}
	h = pageHeader{
		kind:      pageKind(outer[fieldKind]),
		bytes:     int(outer[fieldBytes]),
		fileBytes: int(outer[fieldFileBytes]),
		values:    int(inner[fieldValues]),
		encoding:  parquet.Encoding(inner[fieldEncoding]),
	}
	if crc := outer[fieldCRC]; crc != absent {
		h.crc, h.checked = uint32(crc), true
	}
	switch {
	case h.kind == pageV1 && holder == fieldV1:
		h.levels = parquet.Encoding(inner[fieldLevels])
	case h.kind == pageDictionary && holder == fieldDict, h.kind == pageIndex:
	case h.kind == pageV2 && holder == fieldV2:
		h.encoding, h.stored = parquet.Encoding(inner[fieldEncodingV2]), inner[fieldCompressed] == 0
		h.definition, h.repetition = int(inner[fieldDefinition]), int(inner[fieldRepetition])
	default:
		return h, 0, fmt.Errorf("a page header of kind %d with structure %d", h.kind, holder)
	}
	return h, r.at, h.check()
}

// check bounds what is used as a length.
func (h *pageHeader) check() error {
	for _, n := range []int{h.bytes, h.fileBytes, h.values, h.definition, h.repetition} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("a page header with %d B, %d B in the file, %d values, levels of %d B and %d B",
				h.bytes, h.fileBytes, h.values, h.repetition, h.definition)
		}
	}
	if h.repetition+h.definition > min(h.bytes, h.fileBytes) {
		return fmt.Errorf("levels of %d B and %d B in a page of %d B, %d B in the file", h.repetition, h.definition, h.bytes, h.fileBytes)
	}
	return nil
}

// compactReader reads structures of Thrift's compact protocol. After an error it reads zeros.
type compactReader struct {
	data []byte
	at   int
	err  error
}

// compactFields are the integers and truth values of a structure, by field number.
type compactFields [9]int64

// The types of fields.
const (
	compactStop   = 0
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactInt64  = 6 // 4 and 5 are shorter integers, written alike
	compactDouble = 7
	compactBinary = 8
	compactStruct = 12
)

// compactDepthMax is more than a page header nests.
const compactDepthMax = 8

// structure reads a structure's fields. inner reads a structure in it, and is nil to skip those.
func (r *compactReader) structure(fields *compactFields, inner func(id int)) {
	id := 0
	for r.err == nil {
		header := int(r.byte())
		typ := header & 15
		if typ == compactStop {
			return
		}
		if delta := header >> 4; delta != 0 {
			id += delta
		} else {
			id = int(r.integer())
		}
		known := id >= 0 && id < len(fields)
		switch {
		case known && typ > compactByte && typ <= compactInt64:
			fields[id] = r.integer()
		case known && (typ == compactTrue || typ == compactFalse):
			fields[id] = int64(compactFalse - typ)
		case typ == compactStruct && inner != nil:
			inner(id)
		default:
			r.skip(typ, 0)
		}
	}
}

// skip passes over a value.
func (r *compactReader) skip(typ, depth int) {
	if depth > compactDepthMax {
		r.fail(errors.New("a page header that nests too deeply"))
	}
	if r.err != nil {
		return
	}
	switch typ {
	case compactTrue, compactFalse:
	case compactByte:
		r.byte()
	case compactByte + 1, compactByte + 2, compactInt64:
		r.integer()
	case compactDouble:
		r.bytes(8)
	case compactBinary:
		r.bytes(r.uvarint())
	case compactStruct:
		for r.err == nil {
			header := int(r.byte())
			if header&15 == compactStop {
				return
			}
			if header>>4 == 0 {
				r.integer()
			}
			r.skip(header&15, depth+1)
		}
	default: // no list, set or map stands in a page header
		r.fail(fmt.Errorf("a page header with a field of type %d", typ))
	}
}

func (r *compactReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *compactReader) bytes(n uint64) {
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err == nil {
		r.at += int(n)
	}
}

func (r *compactReader) byte() byte {
	r.bytes(1)
	if r.err != nil {
		return 0
	}
	return r.data[r.at-1]
}

func (r *compactReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	switch {
	case n == 0:
		r.err = io.ErrUnexpectedEOF
	case n < 0:
		r.err = errors.New("a page header with a number of more than 64 bits")
	default:
		r.at += n
	}
	return v
}

// integer reads a number whose sign is its lowest bit.
func (r *compactReader) integer() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
