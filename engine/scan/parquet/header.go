package parquet

import (
	"fmt"
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

// pageHeader stands before each page of a column chunk. arrow-go's decoder of headers is not
// exported.
type pageHeader struct {
	kind       pageKind
	bytes      int    // of the page, decompressed
	fileBytes  int    // of the page in the file
	crc        uint32 // of the bytes in the file, where checked
	checked    bool   // the header has a crc
	values     int    // NULLs included
	encoding   parquet.Encoding
	levels     parquet.Encoding // of the definition levels, version 1
	repetition int              // bytes of repetition levels, version 2
	definition int              // bytes of definition levels, version 2
	stored     bool             // version 2: not compressed, whatever the chunk's codec is
}

// pageHeaderBytesMax bounds a header, which may hold the page's smallest and largest value.
const pageHeaderBytesMax = 16 << 20

// Field numbers of parquet.thrift: of PageHeader, then of the structures in a PageHeader.
const (
	fieldKind, fieldBytes, fieldFileBytes, fieldCRC = 1, 2, 3, 4
	fieldV1, fieldDict, fieldV2                     = 5, 7, 8

	fieldValues, fieldEncoding, fieldLevels                            = 1, 2, 3
	fieldEncodingV2, fieldDefinition, fieldRepetition, fieldCompressed = 4, 5, 6, 7
)

// parsePageHeader reads the header that data begins with, and returns how many bytes the header
// takes. The error is io.ErrUnexpectedEOF where data ends within the header.
func parsePageHeader(data []byte) (h pageHeader, size int, err error) {
	const absent = math.MinInt64
	r := compactReader{data: data}
	outer := compactFields{fieldKind: absent, fieldCRC: absent}
	inner, holder := compactFields{}, 0 // the structure of the page's kind, and the field that has it
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

// check bounds the figures that are used as lengths.
func (h *pageHeader) check() error {
	for _, n := range []int{h.bytes, h.fileBytes, h.values, h.definition, h.repetition} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("a page header with %d B, %d B in the file, %d values, levels of %d B and %d B",
				h.bytes, h.fileBytes, h.values, h.repetition, h.definition)
		}
	}
	if h.repetition+h.definition > min(h.bytes, h.fileBytes) {
		return fmt.Errorf("levels of %d B and %d B in a page of %d B, %d B in the file",
			h.repetition, h.definition, h.bytes, h.fileBytes)
	}
	return nil
}
