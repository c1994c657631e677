package scan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// codesValues takes the dictionary codes of strings as its pages have them.
type codesValues struct {
	typ arrow.DataType // of the strings
	mem memory.Allocator

	entries arrow.Array // the chunk's dictionary; nil before the first page. S5
	codes   runs        // of the current page
	rows    int
	out     *memory.Buffer
}

// holdsCodes says whether a column chunk is one that codesValues reads.
func (p *parquetFile) holdsCodes(c int, chunk *metadata.ColumnChunkMetaData) bool {
	leaf := p.meta.Schema.Column(p.leaves[c])
	return isFlat(leaf) && arrow.IsBaseBinary(p.fields.Field(c).Type.ID()) && leaf.PhysicalType() == parquet.Types.ByteArray && allDictionary(chunk)
}

// allDictionary says whether every data page of a chunk surely holds dictionary codes. A writer
// whose dictionary grew too large goes on in plain pages, whose strings have no codes.
func allDictionary(chunk *metadata.ColumnChunkMetaData) bool {
	encodings := dataEncodings(chunk)
	for _, e := range encodings {
		if !dictionaryEncoding(e) {
			return false
		}
	}
	return len(encodings) > 0
}

// dataEncodings returns the encodings of a chunk's data pages; where the chunk lists those of all its
// pages and levels alike, without those that are of levels alone.
func dataEncodings(chunk *metadata.ColumnChunkMetaData) (encodings []parquet.Encoding) {
	stats := chunk.EncodingStats()
	for _, s := range stats {
		if s.PageType == file.PageTypeDataPage || s.PageType == file.PageTypeDataPageV2 {
			encodings = append(encodings, parquet.Encoding(s.Encoding))
		}
	}
	if len(stats) > 0 {
		return encodings
	}
	for _, e := range chunk.Encodings() {
		if e != parquet.Encodings.RLE && e != parquet.Encodings.BitPacked {
			encodings = append(encodings, e)
		}
	}
	return encodings
}

func dictionaryEncoding(e parquet.Encoding) bool {
	return e == parquet.Encodings.RLEDict || e == parquet.Encodings.PlainDict
}

func errEncoding(e parquet.Encoding) error {
	return fmt.Errorf("a page with encoding %s, which its column chunk is said not to have", e)
}

// codesOf says whether a page holds dictionary codes in place of plain values, and returns them.
func codesOf(encoding parquet.Encoding, data []byte) (coded bool, codes runs, err error) {
	switch {
	case encoding == parquet.Encodings.Plain:
		return false, codes, nil
	case !dictionaryEncoding(encoding):
		return false, codes, errEncoding(encoding)
	case len(data) == 0:
		return true, codes, nil // right only where all rows are NULL; reading a code says so
	}
	width := int(data[0])
	if width > runWidthMax {
		return true, codes, fmt.Errorf("codes of %d bits; the limit is %d", width, runWidthMax)
	}
	return true, newRuns(data[1:], width), nil
}

// dictionary keeps the entries in their order, also those that repeat.
func (v *codesValues) dictionary(entries int, data []byte) error {
	strings := newStrings(v.typ, v.mem)
	defer strings.close()
	if entries > len(data)/4 {
		return fmt.Errorf("a dictionary page of %d B with %d entries", len(data), entries)
	}
	strings.begin(entries)
	if err := strings.page(parquet.Encodings.Plain, data); err != nil {
		return err
	}
	if err := strings.read(0, entries, entries, nil); err != nil {
		return err
	}
	v.entries = strings.finish(nil, 0)
	return nil
}

func (v *codesValues) page(encoding parquet.Encoding, data []byte) error {
	coded, codes, err := codesOf(encoding, data)
	if err == nil && !coded {
		err = errEncoding(encoding)
	}
	if err == nil && v.entries == nil { // all rows may be NULL
		err = v.dictionary(0, nil)
	}
	v.codes = codes
	return err
}

func (v *codesValues) begin(rows int) {
	v.rows = rows
	v.out = memory.NewResizableBuffer(v.mem)
	v.out.Resize(arrow.Uint32Traits.BytesRequired(rows))
}

func (v *codesValues) read(from, rows, values int, validity []byte) error {
	out := arrow.Uint32Traits.CastFromBytes(v.out.Bytes())[from : from+rows]
	if err := v.codes.codes(out[:values], v.entries.Len()); err != nil {
		return fmt.Errorf("codes of a page: %w", err)
	}
	spread(out, values, validity, from)
	return nil
}

func (v *codesValues) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer releaseBuffers(&v.out)
	data := array.NewDataWithDictionary(dictionaryOf(v.typ), v.rows, []*memory.Buffer{validity, v.out}, nulls, 0, v.entries.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data)
}

func (v *codesValues) close() {
	releaseBuffers(&v.out)
	if v.entries != nil {
		v.entries.Release()
		v.entries = nil
	}
}
