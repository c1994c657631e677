package scan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// codesColumn reads a column chunk of strings as dictionary codes, as its pages have them.
//
// pqarrow passes over each code eight times, drops entries that repeat in a dictionary page, so that
// codes mean other values than in the file, and checks no code.
type codesColumn struct {
	pages    file.PageReader
	typ      arrow.DataType // of the values
	optional bool           // pages hold definition levels: 1 for a value, 0 for NULL
	mem      memory.Allocator

	dictionary arrow.Array // the chunk's only one; nil before the first page. S5
	left       int         // rows of the current page
	levels     runs        // of the current page, where optional
	codes      runs        // of the current page's values that are not NULL
}

// holdsCodes says whether a column chunk is one that codesColumn reads.
func (p *parquetFile) holdsCodes(c int, chunk *metadata.ColumnChunkMetaData) bool {
	leaf := p.meta.Schema.Column(p.leaves[c])
	return arrow.IsBaseBinary(p.fields.Field(c).Type.ID()) && leaf.PhysicalType() == parquet.Types.ByteArray &&
		leaf.MaxDefinitionLevel() <= 1 && leaf.MaxRepetitionLevel() == 0 && allDictionary(chunk)
}

func newCodesColumn(r *file.Reader, group, leaf int, typ arrow.DataType, mem memory.Allocator) (*codesColumn, error) {
	pages, err := r.RowGroup(group).GetColumnPageReader(leaf)
	if err != nil {
		if pages != nil {
			err = errors.Join(err, pages.Close())
		}
		return nil, err
	}
	optional := r.MetaData().Schema.Column(leaf).MaxDefinitionLevel() > 0
	return &codesColumn{pages: pages, typ: typ, optional: optional, mem: mem}, nil
}

// read returns the next rows of the column, which the caller owns.
func (c *codesColumn) read(_ context.Context, rows int64) (arrow.Array, error) {
	codes := memory.NewResizableBuffer(c.mem)
	defer codes.Release()
	codes.Resize(arrow.Uint32Traits.BytesRequired(int(rows)))
	out := arrow.Uint32Traits.CastFromBytes(codes.Bytes())

	validity := memory.NewResizableBuffer(c.mem)
	defer validity.Release()
	if c.optional {
		validity.Resize(int(rows+7) / 8)
	}
	nulls := 0
	for done := 0; done < len(out); {
		if err := c.needPage(); err != nil {
			return nil, err
		}
		n := min(len(out)-done, c.left)
		pageNulls, err := c.decode(out[done:done+n], validity.Bytes(), done)
		if err != nil {
			return nil, err
		}
		nulls += pageNulls
		done += n
		c.left -= n
	}
	buffers := []*memory.Buffer{validity, codes}
	if nulls == 0 {
		buffers[0] = nil
	}
	data := array.NewDataWithDictionary(dictionaryOf(c.typ), len(out), buffers, nulls, 0, c.dictionary.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data), nil
}

// decode reads rows of the current page: their codes, and their validity bits from a bit on. It
// returns how many are NULL, whose code is 0.
func (c *codesColumn) decode(out []uint32, validity []byte, from int) (nulls int, err error) {
	values := len(out)
	if c.optional {
		if values, err = c.levels.bits(validity, from, len(out)); err != nil {
			return 0, fmt.Errorf("corrupt data: definition levels of a page: %w", err)
		}
	}
	if err := c.codes.codes(out[:values], c.dictionary.Len()); err != nil {
		return 0, fmt.Errorf("corrupt data: codes of a page: %w", err)
	}
	spread(out, values, validity, from)
	return len(out) - values, nil
}

// spread moves the first codes, as many as values, to the rows whose bit is set, and clears the others.
func spread(out []uint32, values int, validity []byte, from int) {
	row := len(out) - 1
	for ; 0 < values && values <= row; row-- { // the codes not moved yet are where they belong at values == row+1
		bit := from + row
		set := uint32(validity[bit/8] >> (bit % 8) & 1)
		out[row] = out[values-1] & -set
		values -= int(set)
	}
	if values == 0 {
		clear(out[:row+1])
	}
}

// needPage makes sure that the current page has rows left.
func (c *codesColumn) needPage() error {
	for c.left == 0 {
		if !c.pages.Next() {
			if err := c.pages.Err(); err != nil {
				return err
			}
			return errors.New("corrupt data: the pages hold fewer rows than the row group")
		}
		if err := c.setPage(c.pages.Page()); err != nil {
			return fmt.Errorf("corrupt data: %w", err)
		}
	}
	return nil
}

func (c *codesColumn) setPage(page file.Page) (err error) {
	var levels, values []byte
	switch page := page.(type) {
	case *file.DictionaryPage:
		if c.dictionary != nil {
			return errors.New("a second dictionary page, or one behind a data page")
		}
		c.dictionary, err = newDictionary(c.mem, c.typ, page)
		return err
	case *file.DataPageV1:
		levels, values, err = c.splitV1(page)
	case *file.DataPageV2:
		levels, values, err = splitV2(page)
	}
	if err != nil {
		return err
	}
	if encoding := parquet.Encoding(page.Encoding()); !dictionaryEncoding(encoding) {
		return fmt.Errorf("a page with encoding %s in a chunk that is said to hold dictionary codes only", encoding)
	}
	if c.dictionary == nil { // all rows may be NULL
		if c.dictionary, err = stringsArray(c.mem, c.typ, nil, 0); err != nil {
			return err
		}
	}
	c.left, c.levels, c.codes = int(page.NumValues()), newRuns(levels, 1), runs{}
	if len(values) == 0 {
		return nil // right only where all rows are NULL; reading a code says so
	}
	width := int(values[0])
	if width > runWidthMax {
		return fmt.Errorf("codes of %d bits; the limit is %d", width, runWidthMax)
	}
	c.codes = newRuns(values[1:], width)
	return nil
}

// splitV1 splits a page into definition levels, which begin with their length, and values.
func (c *codesColumn) splitV1(page *file.DataPageV1) (levels, values []byte, err error) {
	data := page.Data()
	if !c.optional {
		return nil, data, nil
	}
	if e := page.DefinitionLevelEncoding(); e != parquet.Encodings.RLE {
		return nil, nil, fmt.Errorf("definition levels with encoding %s, which is not read; %s is", e, parquet.Encodings.RLE)
	}
	if len(data) < 4 {
		return nil, nil, fmt.Errorf("a page of %d B, without definition levels", len(data))
	}
	bytes := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(bytes) > uint64(len(data)) {
		return nil, nil, fmt.Errorf("definition levels of %d B where the page has %d B left", bytes, len(data))
	}
	return data[:bytes], data[bytes:], nil
}

// splitV2 splits a page, whose header has the lengths of the levels.
func splitV2(page *file.DataPageV2) (levels, values []byte, err error) {
	data := page.Data()
	repetition, definition := int64(page.RepetitionLevelByteLen()), int64(page.DefinitionLevelByteLen())
	if repetition < 0 || definition < 0 || repetition+definition > int64(len(data)) {
		return nil, nil, fmt.Errorf("levels of %d B and %d B in a page of %d B", repetition, definition, len(data))
	}
	data = data[repetition:] // of a flat column, empty
	return data[:definition], data[definition:], nil
}

// newDictionary makes an array of a dictionary page's entries, in their order: entries may repeat.
func newDictionary(mem memory.Allocator, typ arrow.DataType, page *file.DictionaryPage) (arrow.Array, error) {
	if encoding := parquet.Encoding(page.Encoding()); encoding != parquet.Encodings.Plain && encoding != parquet.Encodings.PlainDict {
		return nil, fmt.Errorf("a dictionary page with encoding %s", encoding)
	}
	data, entries := page.Data(), int(page.NumValues())
	if entries < 0 || entries > len(data)/4 {
		return nil, fmt.Errorf("a dictionary page of %d B with %d entries", len(data), entries)
	}
	return stringsArray(mem, typ, data, entries)
}

// stringsArray makes an array of plain strings, each behind its length.
// Requires: 4 B of data for each entry.
func stringsArray(mem memory.Allocator, typ arrow.DataType, data []byte, entries int) (arrow.Array, error) {
	offsets, values := memory.NewResizableBuffer(mem), memory.NewResizableBuffer(mem)
	defer offsets.Release()
	defer values.Release()
	values.Resize(len(data) - 4*entries)
	var err error
	if typ.ID() == arrow.LARGE_STRING || typ.ID() == arrow.LARGE_BINARY {
		err = joinStrings[int64](offsets, values.Bytes(), data, entries)
	} else {
		err = joinStrings[int32](offsets, values.Bytes(), data, entries) // a page has at most 2^31-1 B
	}
	if err != nil {
		return nil, err
	}
	strings := array.NewData(typ, entries, []*memory.Buffer{nil, offsets, values}, nil, 0, 0)
	defer strings.Release()
	return array.MakeFromData(strings), nil
}

// joinStrings writes the bytes of strings to values, which has room for them, and where each begins.
func joinStrings[T int32 | int64](offsets *memory.Buffer, values, data []byte, entries int) error {
	offsets.Resize((entries + 1) * int(unsafe.Sizeof(T(0))))
	ends := arrow.GetData[T](offsets.Bytes())
	ends[0] = 0
	at := 0
	for i := range entries {
		if len(data) < 4 {
			return fmt.Errorf("a dictionary page that ends before entry %d of %d", i, entries)
		}
		bytes := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(bytes) > uint64(len(data)) {
			return fmt.Errorf("entry %d of a dictionary page has %d B, the page %d B more", i, bytes, len(data))
		}
		at += copy(values[at:], data[:bytes])
		data = data[bytes:]
		ends[i+1] = T(at)
	}
	return nil
}

func (c *codesColumn) close() error {
	if c.dictionary != nil {
		c.dictionary.Release()
		c.dictionary = nil
	}
	return c.pages.Close()
}
