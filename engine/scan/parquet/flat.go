package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	mathbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// flatColumn reads one chunk of a column that is not repeated, page by page, into the buffers of
// batches: their sizes are known up front, and no value is touched that need not be. It does what
// is done for every type: pages, definition levels, validity. Its columnValues does the rest.
//
// pqarrow, which reads the chunks that readsFlat refuses, passes over NULLs, levels and dictionary
// codes several times, builds strings and decimals one by one, and checks no code.
type flatColumn struct {
	pages    *chunkPages
	values   columnValues
	levelMax int  // the definition level of a value; lower ones are of NULL. 0: pages hold no levels
	coded    bool // there may be a dictionary page
	mem      memory.Allocator

	rows      int64          // of the chunk
	row       int64          // index in the chunk of the row that comes next
	skipped   int64          // rows to pass over before the next row is read
	until     int64          // index in the chunk from which on rows may not be needed
	indexed   *columnChunk   // whose offset index is to be read; nil where it has been, or where that is not worth it
	locations []pageLocation // of the data pages, by the offset index; nil where it is not known
	expected  int64          // rows of the page that comes next, by the offset index; 0 where that is not known

	pagesRead int    // dictionary and data pages
	left      int    // rows of the current page that have not been read
	levels    levels // of the current page, where levelMax is not 0
}

// columnValues decodes a column chunk's values into the buffers of one batch after the other.
type columnValues interface {
	// dictionary takes the entries of the chunk's dictionary page. It keeps no reference to data.
	dictionary(entries int, data []byte) error

	// page begins a data page. data stays valid until the page's last value has been read.
	page(encoding parquet.Encoding, data []byte) error

	// begin makes room for a batch of rows. read may leave the rows without values that are not
	// wanted; nil: all rows are wanted.
	begin(rows int, wanted *rowset.Set)

	// read decodes the page's next values to the rows in [from, from+rows) whose validity bits are
	// set; to all these rows, if there are as many as values. A NULL row gets any legal value. The row
	// of a decode.TextError is counted from the batch's first.
	read(from, rows, values int, validity []byte) error

	// finish returns the array of the batch, which the caller owns.
	finish(validity *memory.Buffer, nulls int) arrow.Array

	// close frees all memory; also in the middle of a batch.
	close()
}

// read implements chunkReader.
func (c *flatColumn) read(_ context.Context, rows int64, wanted *rowset.Set) (arrow.Array, error) {
	if err := c.settle(); err != nil {
		return nil, err
	}
	return c.readRows(int(rows), wanted)
}

func (c *flatColumn) readRows(rows int, wanted *rowset.Set) (arrow.Array, error) {
	if err := c.needPage(); err != nil { // a dictionary may decide how values are read
		return nil, err
	}
	c.values.begin(rows, wanted)
	nullable := nullable{mem: c.mem, rows: rows}
	defer releaseBuffers(&nullable.buffer)
	for done := 0; done < rows; {
		if err := c.needPage(); err != nil {
			return nil, err
		}
		n := min(rows-done, c.left)
		values := n
		if c.levelMax > 0 {
			var err error
			if values, err = nullable.read(&c.levels, done, n); err != nil {
				return nil, fmt.Errorf("%w: definition levels of a page: %w", decode.ErrCorrupt, err)
			}
		}
		if err := c.values.read(done, n, values, nullable.bits()); err != nil {
			if text := (*decode.TextError)(nil); errors.As(err, &text) {
				text.Row += c.row
			}
			return nil, fmt.Errorf("%w: %w", decode.ErrCorrupt, err)
		}
		done += n
		c.left -= n
	}
	c.row += int64(rows)
	return c.values.finish(nullable.buffer, nullable.nulls), nil
}

// needPage makes sure that the current page has rows left.
func (c *flatColumn) needPage() error {
	for c.left == 0 {
		if err := c.nextPage(); err != nil {
			return err
		}
	}
	return nil
}

func (c *flatColumn) nextPage() error {
	next, err := c.pages.next()
	if errors.Is(err, io.EOF) {
		err = errFewRows
	}
	if err == nil {
		err = c.setPage(next)
	}
	return decode.Corrupt(err)
}

var errFewRows = errors.New("the pages hold fewer rows than the row group")

func (c *flatColumn) setPage(p page) (err error) {
	if err := c.checkExpected(p); err != nil {
		return err
	}
	c.pagesRead++
	if p.kind == pageDictionary {
		if c.pagesRead > 1 {
			return errors.New("a second dictionary page, or one behind a data page")
		}
		if p.encoding != parquet.Encodings.Plain && p.encoding != parquet.Encodings.PlainDict {
			return fmt.Errorf("a dictionary page with encoding %s", p.encoding)
		}
		return c.values.dictionary(p.values, p.data)
	}
	encoded, data := p.levels, p.data
	if p.kind == pageV1 && c.levelMax > 0 {
		if encoded, data, err = splitLevels(p); err != nil {
			return err
		}
	}
	c.left, c.levels = p.values, newLevels(encoded, c.levelMax)
	return c.values.page(p.encoding, data)
}

// parquet816Fixed is the first version of parquet-mr whose chunk sizes count the dictionary page's
// header.
var parquet816Fixed = metadata.NewAppVersionExplicit("parquet-mr", 1, 2, 9)

// isFlat says whether a column has one value or NULL for each row: it may be a field of structs.
func isFlat(leaf *schema.Column) bool { return leaf.MaxRepetitionLevel() == 0 }

// readsFlat says whether flatColumn reads a chunk.
func (p *File) readsFlat(c int, chunk *columnChunk) bool {
	leaf := p.meta.Schema.Column(p.leaves[c])
	return isFlat(leaf) && p.decodes(p.flat.Schema.Field(c).Type, leaf, chunk)
}

// decodes says whether this package decodes the values of a type in a chunk.
func (p *File) decodes(typ arrow.DataType, leaf *schema.Column, chunk *columnChunk) bool {
	if expansionMax[chunk.codec] == 0 || p.meta.WriterVersion().LessThan(parquet816Fixed) {
		return false
	}
	if chunk.dataEncodings()&^decodes[leaf.PhysicalType()] != 0 {
		return false
	}
	return valuesOf(typ, leaf, nil) != nil
}

// decodes are the encodings of the pages from which values of each physical type can be read.
var decodes = map[parquet.Type]encodingSet{
	parquet.Types.Int96:   anyValues,
	parquet.Types.Boolean: anyValues | setOf(parquet.Encodings.RLE),
	parquet.Types.Int32: anyValues | setOf(parquet.Encodings.DeltaBinaryPacked,
		parquet.Encodings.ByteStreamSplit),
	parquet.Types.Int64: anyValues | setOf(parquet.Encodings.DeltaBinaryPacked,
		parquet.Encodings.ByteStreamSplit),
	parquet.Types.Float:  anyValues | setOf(parquet.Encodings.ByteStreamSplit),
	parquet.Types.Double: anyValues | setOf(parquet.Encodings.ByteStreamSplit),
	parquet.Types.ByteArray: anyValues | setOf(parquet.Encodings.DeltaLengthByteArray,
		parquet.Encodings.DeltaByteArray),
	parquet.Types.FixedLenByteArray: anyValues | setOf(parquet.Encodings.DeltaByteArray,
		parquet.Encodings.ByteStreamSplit),
}

// anyValues are the encodings that values of all types may have.
var anyValues = dictionaryEncodings | setOf(parquet.Encodings.Plain)

// valuesOf returns what decodes a column of a type, or nil where the type is not known for the
// physical type.
func valuesOf(typ arrow.DataType, leaf *schema.Column, mem memory.Allocator) columnValues {
	switch {
	case leaf.PhysicalType() == parquet.Types.Boolean && typ.ID() == arrow.BOOL:
		return &boolValues{mem: mem}
	case leaf.PhysicalType() == parquet.Types.ByteArray && arrow.IsBaseBinary(typ.ID()):
		return newViews(typ, mem)
	case isUUID(leaf) && typ.ID() == arrow.STRING:
		return newUUIDs(mem)
	}
	return fixedValuesOf(typ, leaf, mem)
}

// newFlatColumn opens a column chunk. It reads nothing yet.
func newFlatColumn(
	file io.ReaderAt, part *groupPart, c *partColumn, typ arrow.DataType, window int, mem *reserve.Allocator,
) *flatColumn {
	chunk := &part.file.groups[part.group].chunks[c.leaf]
	leaf := part.file.meta.Schema.Column(c.leaf)
	column := &flatColumn{levelMax: int(leaf.MaxDefinitionLevel()), mem: mem}
	column.values = valuesOf(typ, leaf, mem)
	switch {
	case c.codes:
		column.values = newStringCodes(typ, mem)
	case delivery.MayHaveNumberCodes(typ.ID()) && chunk.allDictionary():
		column.values = newNumbers(typ, chunk.values, column.values, mem)
	}
	column.rows = part.numRows
	column.until = column.rows
	column.coded = chunk.listed || chunk.dataEncodings()&dictionaryEncodings != 0
	if chunk.offsetIndex.bytes > 0 && chunk.bytes > int64(window) {
		column.indexed = chunk
	}
	start := chunk.start()
	column.pages = newChunkPages(file, start, start+chunk.bytes, chunk.codec, chunk.unpacked, window, mem)
	column.pages.packed = part.file.packsAll()
	if views, ok := column.values.(*viewValues); ok {
		views.pages = column.pages
	}
	return column
}

// splitLevels splits a page of version 1 into definition levels, which begin with their length, and
// values.
func splitLevels(p page) (levels, values []byte, err error) {
	if p.levelEncoding != parquet.Encodings.RLE {
		return nil, nil, fmt.Errorf("definition levels with encoding %s", p.levelEncoding)
	}
	if len(p.data) < 4 {
		return nil, nil, fmt.Errorf("a page of %d B, without definition levels", len(p.data))
	}
	bytes, rest := binary.LittleEndian.Uint32(p.data), p.data[4:]
	if uint64(bytes) > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("definition levels of %d B in a page of %d B", bytes, len(p.data))
	}
	return rest[:bytes], rest[bytes:], nil
}

func (c *flatColumn) close() error {
	c.values.close()
	c.pages.close()
	return nil
}

// nullable collects the validity of a batch's rows. It takes no memory before the first NULL.
type nullable struct {
	mem    memory.Allocator
	rows   int            // of the batch
	nulls  int            // among the rows so far
	buffer *memory.Buffer // nil while there is no NULL
}

// read takes the definition levels of the n rows from a row on, and returns how many rows have
// values.
func (v *nullable) read(page *levels, from, n int) (values int, err error) {
	if v.buffer == nil {
		ones, err := page.ones(n)
		if err != nil || ones == n {
			return ones, err
		}
		v.buffer = memory.NewResizableBuffer(v.mem)
		v.buffer.Resize((v.rows + 7) / 8)
		bitutil.SetBitsTo(v.buffer.Bytes(), 0, int64(from+ones), true)
		values, from, n = ones, from+ones, n-ones
	}
	more, err := page.bits(v.buffer.Bytes(), from, n)
	v.nulls += n - more
	return values + more, err
}

func (v *nullable) bits() []byte {
	if v.buffer == nil {
		return nil
	}
	return v.buffer.Bytes()
}

// spread moves the values that out begins with to the rows whose validity bit is set. The other
// rows get a copy of some value, or the zero value: that needs no branch.
func spread[T any](out []T, values int, validity []byte, from int) {
	row := len(out)
	for 0 < values && values < row { // the values not moved yet are where they belong at values == row
		bit := from + row
		if bit%8 != 0 || row < 64 {
			row--
			bit--
			out[row] = out[values-1]
			values -= int(validity[bit/8] >> (bit % 8) & 1)
			continue
		}
		row -= 64
		word := binary.LittleEndian.Uint64(validity[bit/8-8:])
		if word == math.MaxUint64 {
			values -= 64
			copy(out[row:row+64], out[values:values+64])
			continue
		}
		if block := out[row : row+64]; mathbits.OnesCount64(^word) <= 12 {
			values = spreadSegments(block, out[:values], word)
		} else {
			values = spreadRows(block, out[:values], word)
		}
	}
	if values == 0 {
		clear(out[:row])
	}
}

// spreadRows moves the last of some values to the rows of a block by their bits. It returns how many values are left.
func spreadRows[T any](block, of []T, word uint64) (values int) {
	i := 63
	for values = len(of); i >= 0 && values > 0; i-- {
		block[i] = of[values-1]
		values -= int(word >> i & 1)
	}
	clear(block[:i+1])
	return values
}

// spreadSegments is spreadRows for a block of few rows without a value: the values between two of these move together.
func spreadSegments[T any](block, of []T, word uint64) (values int) {
	values, end := len(of), 64
	for absent := ^word; ; {
		i := 63 - mathbits.LeadingZeros64(absent) // -1 of none
		n := end - i - 1
		copy(block[i+1:end], of[values-n:values])
		values -= n
		if i < 0 {
			return values
		}
		if block[i] = *new(T); values > 0 {
			block[i] = of[values-1]
		}
		end, absent = i, absent&^(1<<i)
	}
}
