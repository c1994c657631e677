package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// stringPages finds the strings of a chunk's pages.
type stringPages struct {
	dict     scratch          // the dictionary page
	entries  []stringSpan     // of dict
	encoding parquet.Encoding // of the current page; of these, one:
	codes    runs
	plain    []byte
	deltas   deltaStrings

	at int // of plain, where the next value is
}

func newStringPages(mem memory.Allocator) stringPages {
	return stringPages{dict: scratch{mem: mem}, deltas: deltaStrings{whole: scratch{mem: mem}}}
}

// stringValues decodes strings and binaries into offsets, of type O, and bytes.
type stringValues[O int32 | int64] struct {
	stringPages
	typ arrow.DataType
	mem memory.Allocator

	rows    int
	bytes   int // of data, written
	offsets *memory.Buffer
	data    *memory.Buffer
}

// stringSpan is where a string is in a page.
type stringSpan struct{ at, bytes uint32 }

// spansAtOnce strings are found, then copied: their lengths follow each other through the page, each
// to be loaded before the next is found, and the copies need not wait for that. The spans take 4 KiB.
const spansAtOnce = 512

func newStrings(typ arrow.DataType, mem memory.Allocator) columnValues {
	if typ.ID() == arrow.LARGE_STRING || typ.ID() == arrow.LARGE_BINARY {
		return newStringValues[int64](typ, mem)
	}
	return newStringValues[int32](typ, mem)
}

func newStringValues[O int32 | int64](typ arrow.DataType, mem memory.Allocator) columnValues {
	return &stringValues[O]{typ: typ, mem: mem, stringPages: newStringPages(mem)}
}

// findStrings fills spans with the next strings of a page, each behind its length, from a byte on.
// It returns where the next one is, and how many bytes the strings have.
func findStrings(spans []stringSpan, plain []byte, from int) (next, bytes int, err error) {
	at := from
	for i := range spans {
		if len(plain)-at < 4 {
			return 0, 0, fmt.Errorf("a page of %d B that ends before its last string", len(plain))
		}
		n := binary.LittleEndian.Uint32(plain[at:])
		at += 4
		if uint64(n) > uint64(len(plain)-at) {
			return 0, 0, fmt.Errorf("a string of %d B in a page that has %d B more", n, len(plain)-at)
		}
		spans[i] = stringSpan{at: uint32(at), bytes: n} // a page has less than 2^31 B
		at += int(n)
	}
	return at, at - from - 4*len(spans), nil
}

func (v *stringPages) dictionary(entries int, data []byte) error {
	if entries > len(data)/4 {
		return fmt.Errorf("a dictionary page of %d B with %d entries", len(data), entries)
	}
	v.entries = make([]stringSpan, entries)
	copy(v.dict.grow(len(data), nil), data)
	_, _, err := findStrings(v.entries, data, 0)
	return err
}

func (v *stringPages) page(encoding parquet.Encoding, data []byte) (err error) {
	v.encoding = encoding
	switch {
	case encoding == parquet.Encodings.Plain:
		v.plain, v.at = data, 0
	case dictionaryEncoding(encoding):
		v.codes, err = codesOf(data)
	case len(data) == 0: // right only where all rows are NULL; reading a string says so
		v.encoding, v.plain, v.at = parquet.Encodings.Plain, nil, 0
	case encoding == parquet.Encodings.DeltaLengthByteArray, encoding == parquet.Encodings.DeltaByteArray:
		err = v.deltas.page(encoding, data)
	default:
		err = errEncoding(encoding)
	}
	return err
}

func (v *stringValues[O]) begin(rows int) {
	v.rows, v.bytes = rows, 0
	v.offsets, v.data = memory.NewResizableBuffer(v.mem), memory.NewResizableBuffer(v.mem)
	v.offsets.Resize((rows + 1) * delivery.SizeOf[O]())
	delivery.View[O](v.offsets.Bytes())[0] = 0
}

func (v *stringValues[O]) read(from, rows, values int, validity []byte) error {
	ends := delivery.View[O](v.offsets.Bytes())[from : from+rows+1]
	var spans [spansAtOnce]stringSpan
	for done := 0; done < values; {
		some := spans[:min(spansAtOnce, values-done)]
		source, bytes, err := v.find(some)
		if err != nil {
			return err
		}
		if err := v.reserve(bytes, from+done+len(some)); err != nil {
			return err
		}
		v.append(ends[done+1:done+1+len(some)], some, source)
		done += len(some)
	}
	// A row's string ends where that of the last row with a value does.
	for row := rows; values < row; row-- {
		bit := from + row - 1
		ends[row] = ends[values]
		values -= int(validity[bit/8] >> (bit % 8) & 1)
	}
	return nil
}

// find fills spans with the next strings. It returns what they lie in, and how many bytes they have.
func (v *stringPages) find(spans []stringSpan) (source []byte, bytes int, err error) {
	switch v.encoding {
	case parquet.Encodings.Plain:
		v.at, bytes, err = findStrings(spans, v.plain, v.at)
		return v.plain, bytes, err
	case parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
		return v.deltas.find(spans)
	}
	if err := gather(&v.codes, spans, v.entries); err != nil {
		return nil, 0, fmt.Errorf("codes of a page: %w", err)
	}
	for _, s := range spans {
		bytes += int(s.bytes)
	}
	return v.dict.buf, bytes, nil
}

// stringTail is how many bytes of any value a copy may write behind a string.
const stringTail = 16

// append copies strings to the batch, and notes where each ends.
// Requires: there is room for them, and stringTail behind.
func (v *stringValues[O]) append(ends []O, spans []stringSpan, source []byte) {
	data, at := v.data.Bytes(), v.bytes
	ends = ends[:len(spans)]
	for i, s := range spans {
		from, bytes := int(s.at), int(s.bytes)
		if bytes <= stringTail && from+stringTail <= len(source) {
			*(*[stringTail]byte)(data[at:]) = [stringTail]byte(source[from:])
		} else {
			copy(data[at:], source[from:from+bytes])
		}
		at += bytes
		ends[i] = O(at)
	}
	v.bytes = at
}

const (
	// stringsGuessMax bounds what is taken by a guess from a batch's first strings.
	stringsGuessMax = 1 << 20

	stringBytesMax = math.MaxInt32 // of a batch, where O is int32
)

// reserve makes room for more bytes, by which the batch has rows; and for the rest of the batch, if its
// strings are as long as those so far.
func (v *stringValues[O]) reserve(more, rows int) error {
	needed := v.bytes + more
	if needed > stringBytesMax && delivery.SizeOf[O]() == 4 {
		return fmt.Errorf("more than %d B of strings in a batch of %d rows; ask for fewer rows (OpenOptions.BatchRows)", stringBytesMax, v.rows)
	}
	if needed+stringTail <= v.data.Len() {
		return nil
	}
	v.data.ResizeNoShrink(guessBytes(needed, rows, v.rows) + stringTail)
	return nil
}

// guessBytes returns room for a batch whose first rows have so many bytes of strings.
func guessBytes(needed, rows, allRows int) int {
	if rows >= allRows {
		return needed
	}
	more := max(stringsGuessMax-needed, needed)
	if needed > reserve.LargeBytes { // copying it takes less than not having the memory
		more = needed / 4
	}
	guess := int(float64(needed) / float64(rows) * float64(allRows) * 1.1)
	return max(needed, min(guess, needed+more))
}

func (v *stringValues[O]) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer releaseBuffers(&v.offsets, &v.data)
	v.data.ResizeNoShrink(v.bytes)
	return delivery.NewArray(v.typ, v.rows, nulls, validity, v.offsets, v.data)
}

func (v *stringValues[O]) close() {
	releaseBuffers(&v.offsets, &v.data)
	v.stringPages.close()
}

func (v *stringPages) close() {
	v.dict.free()
	v.deltas.whole.free()
	v.entries = nil
}
