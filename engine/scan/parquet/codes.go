package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// codesValues delivers the dictionary codes of a chunk as the codes of a dictionary array.
type codesValues struct {
	typ    arrow.DataType // of the dictionary's entries
	mem    memory.Allocator
	decode func(entries int, data []byte) (arrow.Array, error) // makes the array of a dictionary page

	entries arrow.Array // the chunk's dictionary; nil before the first page. S5
	invalid invalidEntries
	codes   runs // of the current page
	rows    int  // of the batch
	out     *memory.Buffer
}

// holdsCodes says whether a chunk is of strings or binaries that codesValues reads.
func (p *File) holdsCodes(c int, chunk *columnChunk) bool {
	leaf := p.meta.Schema.Column(p.leaves[c])
	return isFlat(leaf) && leaf.PhysicalType() == parquet.Types.ByteArray &&
		arrow.IsBaseBinary(p.flat.Schema.Field(c).Type.ID()) && chunk.allDictionary()
}

// newStringCodes returns what reads the codes of strings or binaries.
func newStringCodes(typ arrow.DataType, mem memory.Allocator) *codesValues {
	entriesOf := stringEntries[int32]
	if typ.ID() == arrow.LARGE_STRING || typ.ID() == arrow.LARGE_BINARY {
		entriesOf = stringEntries[int64]
	}
	codes := &codesValues{typ: typ, mem: mem}
	codes.decode = func(entries int, data []byte) (arrow.Array, error) {
		spans := make([]stringSpan, entries)
		end, err := findStrings(spans, data, 0)
		if err != nil {
			return nil, err
		}
		if isText(typ) {
			codes.invalid = invalidEntriesOf(data, spans)
		}
		return entriesOf(typ, mem, spans, data, end), nil
	}
	return codes
}

func dictionaryEncoding(e parquet.Encoding) bool {
	return e == parquet.Encodings.RLEDict || e == parquet.Encodings.PlainDict
}

func errEncoding(e parquet.Encoding) error {
	return fmt.Errorf("a page with encoding %s, which its column chunk is said not to have", e)
}

// codesOf returns the dictionary codes that a page holds, behind a byte with their width.
func codesOf(data []byte) (codes runs, err error) {
	if len(data) == 0 {
		return codes, nil // right only where all rows are NULL; otherwise read fails
	}
	width := int(data[0])
	if width > runWidthMax {
		return codes, fmt.Errorf("codes of %d bits; the limit is %d", width, runWidthMax)
	}
	return newRuns(data[1:], width), nil
}

// dictionary keeps the entries in their order, also entries that repeat.
func (v *codesValues) dictionary(entries int, data []byte) (err error) {
	if entries > len(data) {
		return fmt.Errorf("a dictionary page of %d B with %d entries", len(data), entries)
	}
	v.entries, err = v.decode(entries, data)
	return err
}

func (v *codesValues) page(encoding parquet.Encoding, data []byte) (err error) {
	if !dictionaryEncoding(encoding) {
		return errEncoding(encoding)
	}
	if v.entries == nil { // all rows may be NULL
		if err := v.dictionary(0, nil); err != nil {
			return err
		}
	}
	v.codes, err = codesOf(data)
	return err
}

func (v *codesValues) begin(rows int, _ *rowset.Set) {
	v.rows = rows
	v.out = memory.NewResizableBuffer(v.mem)
	v.out.Resize(arrow.Uint32Traits.BytesRequired(rows))
}

func (v *codesValues) read(from, rows, values int, validity []byte) error {
	out := arrow.Uint32Traits.CastFromBytes(v.out.Bytes())[from : from+rows]
	if at, code, found := v.invalid.firstIn(v.codes, values); found {
		value := v.entries.(array.StringLike).Value(int(code))
		return decode.NewTextError(rowOf(at, from, validity), []byte(value))
	}
	if err := v.codes.codes(out[:values], v.entries.Len()); err != nil {
		return fmt.Errorf("codes of a page: %w", err)
	}
	spread(out, values, validity, from)
	return nil
}

func (v *codesValues) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer releaseBuffers(&v.out)
	data := array.NewData(delivery.DictionaryOf(v.typ), v.rows, []*memory.Buffer{validity, v.out}, nil, nulls, 0)
	data.SetDictionary(v.entries.Data())
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

// numbersValues delivers the codes of numbers where the dictionary is small beside the chunk's
// rows: what a consumer does to values is then done to few of them. Otherwise it delivers the
// numbers.
type numbersValues struct {
	columnValues // delivers the numbers, or is codes
	codes        *codesValues
	rows         int64 // of the chunk
}

// numbersPerEntry is how many rows of the chunk there must be for each entry of its dictionary.
const numbersPerEntry = 4

// newNumbers returns what reads a chunk that holds nothing but codes; plain decodes its values.
func newNumbers(typ arrow.DataType, rows int64, plain columnValues, mem memory.Allocator) columnValues {
	codes := &codesValues{typ: typ, mem: mem, decode: func(entries int, data []byte) (arrow.Array, error) {
		return decodePlain(plain, entries, data, nil, 0)
	}}
	return &numbersValues{columnValues: plain, codes: codes, rows: rows}
}

// decodePlain decodes a plain page to one array, and closes values. The page has a value for each
// row, also where the row is NULL.
func decodePlain(values columnValues, rows int, data []byte, validity *memory.Buffer, nulls int) (arrow.Array, error) {
	defer values.close()
	values.begin(rows, nil)
	if err := values.page(parquet.Encodings.Plain, data); err != nil {
		return nil, err
	}
	if err := values.read(0, rows, rows, nil); err != nil {
		return nil, err
	}
	return values.finish(validity, nulls), nil
}

func (v *numbersValues) dictionary(entries int, data []byte) error {
	if int64(entries) <= v.rows/numbersPerEntry {
		v.columnValues = v.codes
	}
	return v.columnValues.dictionary(entries, data)
}
