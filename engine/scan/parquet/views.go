package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/wellformed"
)

// viewValues decodes strings and binaries into views: two words each, which hold a string of at
// most 12 bytes, or say where a longer string is. Most keys are that short. They are read once and
// written once, and a consumer compares their words. Longer strings stay in the page, which the
// batch then refers to.
type viewValues struct {
	typ   arrow.DataType // string_view or binary_view
	text  bool           // string_view: the strings must be UTF-8
	mem   memory.Allocator
	pages *chunkPages // that lend their pages; nil where strings are copied

	dict    scratch      // the dictionary page
	ofDict  origin       // dict
	entries []stringSpan // of dict
	short   [][2]uint64  // views of entries, in kept; nil where an entry is long, or there is no dictionary
	kept    scratch
	invalid invalidEntries

	encoding parquet.Encoding // of the current page; depending on it:
	codes    runs             // dictionary codes that are not read yet
	plain    []byte           // the page
	ofPage   origin           // plain
	at       int              // of plain, where the next string is
	deltas   deltaStrings

	rows    int              // of the batch
	wanted  *rowset.Set      // that views are needed of; nil: all
	views   *memory.Buffer   // of the batch, [2]uint64 each
	buffers []*memory.Buffer // of the batch, with long strings; owned
	data    int              // index in buffers of copied strings; -1 before the first of the batch
	bytes   int              // that have been written to data
}

// origin is where strings come from that views may refer to.
type origin struct {
	buffer *memory.Buffer // owned; nil before the first long string, and where strings must be copied
	asked  bool           // for buffer
	from   int            // index in buffer of the first byte of the strings
	index  int            // of buffer among the buffers of the batch; -1 before a view refers to it
}

func (o *origin) release() {
	releaseBuffers(&o.buffer)
	*o = origin{index: -1}
}

// viewInlineMax is the longest string that a view holds.
const viewInlineMax = 12

// viewMasks say, by the length of a string, which bits of its bytes 0-3, and of its bytes 4-11, a
// view has: bytes behind the string are loaded with it.
var viewMasks = func() (masks [viewInlineMax + 1][2]uint64) {
	for n := range masks {
		masks[n][0] = (uint64(1)<<(8*min(n, 4)) - 1) << 32
		masks[n][1] = uint64(1)<<(8*max(n-4, 0)) - 1
	}
	return masks
}()

func newViews(typ arrow.DataType, mem memory.Allocator) columnValues {
	own := scratch{mem: mem}
	return &viewValues{
		typ: delivery.ViewType(typ), text: isText(typ), mem: mem, dict: own, kept: own,
		deltas: deltaStrings{whole: own}, data: -1,
	}
}

// dictionary finds the entries, and makes their views where all of these are short.
func (v *viewValues) dictionary(entries int, data []byte) error {
	if entries > len(data)/4 {
		return fmt.Errorf("a dictionary page of %d B with %d entries", len(data), entries)
	}
	v.entries = make([]stringSpan, entries)
	copy(v.dict.grow(len(data), nil), data)
	if _, err := findStrings(v.entries, data, 0); err != nil {
		return err
	}
	if v.text {
		v.invalid = invalidEntriesOf(v.dict.buf[:len(data)], v.entries)
	}
	for _, e := range v.entries {
		if e.bytes > viewInlineMax {
			v.ofDict = origin{buffer: v.dict.lend(), asked: true, index: -1}
			return nil
		}
	}
	v.short = delivery.View[[2]uint64](v.kept.grow(entries*delivery.SizeOf[[2]uint64](), nil))
	return v.put(v.short, v.entries, v.dict.buf, nil, 0, nil)
}

func (v *viewValues) page(encoding parquet.Encoding, data []byte) (err error) {
	v.encoding = encoding
	v.ofPage.release()
	switch {
	case encoding == parquet.Encodings.Plain:
		v.plain, v.at = data, 0
	case dictionaryEncoding(encoding):
		v.codes, err = codesOf(data)
	case len(data) == 0: // right only where all rows are NULL; otherwise read fails
		v.encoding, v.plain, v.at = parquet.Encodings.Plain, nil, 0
	case encoding == parquet.Encodings.DeltaLengthByteArray, encoding == parquet.Encodings.DeltaByteArray:
		err = v.deltas.page(encoding, data)
	default:
		err = errEncoding(encoding)
	}
	return err
}

func (v *viewValues) begin(rows int, wanted *rowset.Set) {
	v.wanted = wanted
	v.rows, v.bytes, v.data, v.ofDict.index, v.ofPage.index = rows, 0, -1, -1, -1
	v.views = memory.NewResizableBuffer(v.mem)
	v.views.Resize(rows * delivery.SizeOf[[2]uint64]())
	if invariants.Enabled && wanted != nil {
		delivery.Fill(delivery.View[uint64](v.views.Bytes()), math.MaxUint64) // a view of no string
	}
}

func (v *viewValues) read(from, rows, values int, validity []byte) error {
	out := delivery.View[[2]uint64](v.views.Bytes())[from : from+rows]
	if err := v.checkCodes(from, values, validity); err != nil {
		return err
	}
	if v.short != nil && dictionaryEncoding(v.encoding) {
		if err := gather(&v.codes, out[:values], v.short); err != nil {
			return fmt.Errorf("codes of a page: %w", err)
		}
		spread(out, values, validity, from)
		return nil
	}
	wanted := v.wanted
	if values < rows { // row and value are counted apart
		wanted = nil
	}
	var spans [spansAtOnce]stringSpan
	for done := 0; done < values; {
		if v.encoding == parquet.Encodings.Plain {
			n, bytes := putAlike(out[done:values], v.plain[v.at:])
			if v.text && !wellformed.UTF8(v.plain[v.at:v.at+bytes]) { // the lengths are ASCII
				n = 0 // find reads the strings again, and check finds which of them it is
			} else {
				v.at += bytes
			}
			if done += n; n >= alikeMin {
				continue
			}
		}
		some := spans[:min(spansAtOnce, values-done)]
		source, of, err := v.find(some)
		if err != nil {
			return err
		}
		if bad := v.firstInvalid(source, some, from+done, wanted); bad >= 0 {
			value := source[some[bad].at:][:some[bad].bytes]
			return decode.NewTextError(rowOf(done+bad, from, validity), value)
		}
		if err := v.put(out[done:done+len(some)], some, source, of, from+done, wanted); err != nil {
			return err
		}
		done += len(some)
	}
	spread(out, values, validity, from)
	return nil
}

// find fills at most spansAtOnce spans with the next strings of the page. source has the strings
// until the next call; of is nil where it changes then.
func (v *viewValues) find(spans []stringSpan) (source []byte, of *origin, err error) {
	switch v.encoding {
	case parquet.Encodings.Plain:
		v.at, err = findStrings(spans, v.plain, v.at)
		return v.plain, &v.ofPage, err
	case parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
		source, err = v.deltas.find(spans)
		return source, nil, err
	}
	if err := gather(&v.codes, spans, v.entries); err != nil {
		return nil, nil, fmt.Errorf("codes of a page: %w", err)
	}
	return v.dict.buf, &v.ofDict, nil
}

// checkCodes looks for codes of entries that are not UTF-8 among the codes of the next values.
func (v *viewValues) checkCodes(from, values int, validity []byte) error {
	if !dictionaryEncoding(v.encoding) {
		return nil
	}
	at, code, found := v.invalid.firstIn(v.codes, values)
	if !found {
		return nil
	}
	entry := v.entries[code]
	return decode.NewTextError(rowOf(at, from, validity), v.dict.buf[entry.at:][:entry.bytes])
}

// fewWanted is the part of a batch's rows below which only the strings are checked that are wanted.
const fewWanted = 8

// firstInvalid returns the index of the first of the strings that find has found that is not UTF-8,
// as the strings of the column must be, or -1. checkCodes has checked the entries of a dictionary. The
// first string is of the row'th row of the batch; where few rows are wanted, no others are looked at.
func (v *viewValues) firstInvalid(source []byte, spans []stringSpan, row int, wanted *rowset.Set) int {
	switch {
	case !v.text || dictionaryEncoding(v.encoding):
		return -1
	case wanted != nil && wanted.Count < wanted.Rows/fewWanted:
		for i := wanted.Next(row) - row; i < len(spans); i = wanted.Next(row+i+1) - row {
			if !wellformed.UTF8(source[spans[i].at:][:spans[i].bytes]) {
				return i
			}
		}
		return -1
	case v.encoding == parquet.Encodings.Plain:
		return invalidPlain(source, spans)
	}
	return invalidJoined(source, spans)
}

// alikeMin is how many strings of one length pay for a wrong guess of the next length.
const alikeMin = 16

// putAlike writes views of the strings that plain begins with, each behind its length, while they
// are short and have one length. The place of the next string then does not wait until a length is
// loaded: it is guessed. putAlike returns the number of these strings, and their bytes in the page.
func putAlike(out [][2]uint64, plain []byte) (n, bytes int) {
	if len(plain) < 16 {
		return 0, 0
	}
	length := binary.LittleEndian.Uint32(plain)
	if length > viewInlineMax {
		return 0, 0
	}
	step, mask := int(length)+4, viewMasks[length]
	mask[0] |= math.MaxUint32
	for n < len(out) && len(plain)-bytes >= 16 {
		s := plain[bytes : bytes+16]
		first := binary.LittleEndian.Uint64(s)
		if uint32(first) != length {
			break
		}
		out[n] = [2]uint64{first & mask[0], binary.LittleEndian.Uint64(s[8:]) & mask[1]}
		n, bytes = n+1, bytes+step
	}
	return n, bytes
}

// put writes views of strings of a source, the first of which is of the row'th row of the batch,
// unless these rows are not wanted. Long strings are copied where of is nil, or not lent.
func (v *viewValues) put(
	out [][2]uint64, spans []stringSpan, source []byte, of *origin, row int, wanted *rowset.Set,
) error {
	out = out[:len(spans)]
	for i := 0; ; i++ {
		if wanted != nil {
			i = wanted.Next(row+i) - row
		}
		if i >= len(spans) {
			return nil
		}
		at, n := int(spans[i].at), int(spans[i].bytes)
		switch {
		case n > viewInlineMax && v.lent(of):
			if of.index < 0 {
				of.index = v.attach(of.buffer)
			}
			prefix := binary.LittleEndian.Uint32(source[at:])
			out[i] = [2]uint64{uint64(n) | uint64(prefix)<<32, uint64(of.index) | uint64(of.from+at)<<32}
		case n > viewInlineMax:
			if err := v.keep(&out[i], source[at:at+n], row+i); err != nil {
				return err
			}
		case len(source)-at >= viewInlineMax:
			b := source[at : at+viewInlineMax]
			mask := &viewMasks[n]
			out[i][0] = uint64(n) | uint64(binary.LittleEndian.Uint32(b))<<32&mask[0]
			out[i][1] = binary.LittleEndian.Uint64(b[4:]) & mask[1]
		default:
			var b [viewInlineMax]byte
			copy(b[:], source[at:at+n])
			out[i][0] = uint64(n) | uint64(binary.LittleEndian.Uint32(b[:]))<<32
			out[i][1] = binary.LittleEndian.Uint64(b[4:])
		}
	}
}

// lent says whether views may refer to the strings of an origin. A page is lent at its first long
// string: most pages of short strings have none.
func (v *viewValues) lent(of *origin) bool {
	if of == nil {
		return false
	}
	if !of.asked && v.pages != nil {
		of.buffer, of.from = v.pages.lend(v.plain)
	}
	of.asked = true
	return of.buffer != nil
}

// attach makes the batch refer to a buffer, and returns the buffer's index.
func (v *viewValues) attach(b *memory.Buffer) (index int) {
	b.Retain()
	v.buffers = append(v.buffers, b)
	return len(v.buffers) - 1
}

// keep copies a long string to data, and writes its view.
func (v *viewValues) keep(out *[2]uint64, s []byte, row int) error {
	needed := v.bytes + len(s)
	if needed > stringBytesMax {
		return fmt.Errorf("more than %d B of strings in a batch of %d rows; ask for fewer rows (OpenOptions.BatchRows)",
			stringBytesMax, v.rows)
	}
	if v.data < 0 {
		v.data = len(v.buffers)
		v.buffers = append(v.buffers, memory.NewResizableBuffer(v.mem))
	}
	data := v.buffers[v.data]
	if needed > data.Len() {
		data.ResizeNoShrink(guessBytes(needed, row+1, v.rows))
	}
	copy(data.Bytes()[v.bytes:], s)
	*out = [2]uint64{uint64(len(s)) | uint64(binary.LittleEndian.Uint32(s))<<32, uint64(v.data) | uint64(v.bytes)<<32}
	v.bytes = needed
	return nil
}

func (v *viewValues) finish(validity *memory.Buffer, nulls int) arrow.Array {
	defer v.endBatch()
	if v.data >= 0 {
		v.buffers[v.data].ResizeNoShrink(v.bytes)
	}
	return delivery.NewArray(v.typ, v.rows, nulls, append([]*memory.Buffer{validity, v.views}, v.buffers...)...)
}

// endBatch releases the buffers of the batch.
func (v *viewValues) endBatch() {
	releaseBuffers(&v.views)
	for i := range v.buffers {
		releaseBuffers(&v.buffers[i])
	}
	v.buffers, v.wanted = v.buffers[:0], nil
}

func (v *viewValues) close() {
	v.endBatch()
	v.ofPage.release()
	v.ofDict.release()
	v.dict.free()
	v.kept.free()
	v.deltas.whole.free()
	v.entries, v.short, v.invalid = nil, nil, nil
}
