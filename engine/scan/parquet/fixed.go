package parquet

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
)

// fixedValues decodes values of one width. T is a value as Arrow stores it. The entries of a
// dictionary are converted once, and then gathered.
type fixedValues[T any] struct {
	typ     arrow.DataType // that is delivered
	mem     memory.Allocator
	form    fixedForm
	convert func(out []T, plain []byte)

	// pick is convert for the values alone of the rows in some; row is the row of the first value. It
	// is nil for values that Arrow does not store as a plain page does.
	pick func(some *rowset.Set, row int, out []T, plain []byte)

	dict    scratch
	entries []T // of the dictionary, in dict

	encoding parquet.Encoding // of the current page; depending on it:
	codes    runs
	plain    []byte // from the next value on
	deltas   deltas
	split    splitBytes
	strings  deltaStrings

	out  *memory.Buffer // of the batch; nil between batches
	some *rowset.Set    // rows of the batch that values are needed of, if they are few; nil: all
}

// fixedForm is how a plain page holds values.
type fixedForm struct {
	bytes   int  // of a value
	integer bool // INT32 or INT64
}

var (
	int32Form = fixedForm{4, true}
	int64Form = fixedForm{8, true}
)

func bytesForm(width int) fixedForm { return fixedForm{bytes: width} }

func newFixed[T any](
	typ arrow.DataType, mem memory.Allocator, form fixedForm, convert func(out []T, plain []byte),
) *fixedValues[T] {
	own := scratch{mem: mem}
	strings := deltaStrings{whole: own}
	return &fixedValues[T]{typ: typ, mem: mem, form: form, convert: convert, dict: own, strings: strings}
}

// newCopied decodes values that Arrow stores as a plain page does.
func newCopied[T any](typ arrow.DataType, mem memory.Allocator, form fixedForm) columnValues {
	values := newFixed(typ, mem, form, func(out []T, plain []byte) {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*delivery.SizeOf[T]()), plain)
	})
	values.pick = rowset.Pick[T]
	return values
}

// pickShare is the part of the rows of a batch below which picking values is faster than copying
// all.
const pickShare = 4

// fixedValuesOf returns what decodes a column of a fixed-width type, or nil where the type is not
// known for the physical type.
func fixedValuesOf(typ arrow.DataType, leaf *schema.Column, mem memory.Allocator) columnValues {
	fixed, ok := typ.(arrow.FixedWidthDataType)
	if !ok {
		return nil
	}
	switch leaf.PhysicalType() {
	case parquet.Types.Int32:
		return int32ValuesOf(fixed, mem)
	case parquet.Types.Int64:
		switch {
		case typ.ID() == arrow.DECIMAL128:
			return newFixed(typ, mem, int64Form, func(out []decimal128.Num, plain []byte) {
				eachInteger(out, plain, 8, decimal128.FromI64)
			})
		case typ.ID() == arrow.DECIMAL256:
			return newFixed(typ, mem, int64Form, func(out []decimal256.Num, plain []byte) {
				eachInteger(out, plain, 8, decimal256.FromI64)
			})
		case fixed.Bytes() == 8:
			return newCopied[int64](typ, mem, int64Form)
		}
	case parquet.Types.Float:
		if typ.ID() == arrow.FLOAT32 {
			return newCopied[int32](typ, mem, bytesForm(4))
		}
	case parquet.Types.Double:
		if typ.ID() == arrow.FLOAT64 {
			return newCopied[int64](typ, mem, bytesForm(8))
		}
	case parquet.Types.Int96:
		if t, ok := typ.(*arrow.TimestampType); ok && t.Unit == arrow.Microsecond {
			return newFixed(typ, mem, bytesForm(int96Bytes), int96Micros)
		}
	case parquet.Types.FixedLenByteArray:
		return bytesValuesOf(fixed, leaf.TypeLength(), mem)
	}
	return nil
}

// narrowDecimal returns decimal64 in place of a decimal128 whose values surely have no more than 64
// bits, and no more digits than a decimal64 may have; other types as they are.
func narrowDecimal(typ arrow.DataType, leaf *schema.Column) arrow.DataType {
	wide, ok := typ.(*arrow.Decimal128Type)
	if !ok || wide.Precision > delivery.DecimalDigits[arrow.DECIMAL64] ||
		leaf.PhysicalType() == parquet.Types.FixedLenByteArray && leaf.TypeLength() > 8 {
		return typ
	}
	return &arrow.Decimal64Type{Precision: wide.Precision, Scale: wide.Scale}
}

func int32ValuesOf(typ arrow.FixedWidthDataType, mem memory.Allocator) columnValues {
	switch typ.ID() {
	case arrow.INT8, arrow.UINT8:
		return newFixed(typ, mem, int32Form, func(out []uint8, plain []byte) {
			eachInteger(out, plain, 4, func(n int64) uint8 { return uint8(n) })
		})
	case arrow.INT16, arrow.UINT16:
		return newFixed(typ, mem, int32Form, func(out []uint16, plain []byte) {
			eachInteger(out, plain, 4, func(n int64) uint16 { return uint16(n) })
		})
	case arrow.DATE64:
		return newFixed(typ, mem, int32Form, func(out []int64, plain []byte) {
			eachInteger(out, plain, 4, func(days int64) int64 { return dayMillis * days })
		})
	case arrow.DECIMAL64:
		return newFixed(typ, mem, int32Form, func(out []int64, plain []byte) {
			eachInteger(out, plain, 4, func(n int64) int64 { return n })
		})
	case arrow.DECIMAL128:
		return newFixed(typ, mem, int32Form, func(out []decimal128.Num, plain []byte) {
			eachInteger(out, plain, 4, decimal128.FromI64)
		})
	case arrow.DECIMAL256:
		return newFixed(typ, mem, int32Form, func(out []decimal256.Num, plain []byte) {
			eachInteger(out, plain, 4, decimal256.FromI64)
		})
	}
	if typ.Bytes() == 4 {
		return newCopied[int32](typ, mem, int32Form)
	}
	return nil
}

// eachInteger converts plain integers of width bytes, 4 or 8. The compiler makes a loop of it at
// each call, with convert in it, as long as width is a constant and the loop is this short.
func eachInteger[T any](out []T, plain []byte, width int, convert func(n int64) T) {
	for i := range out {
		if width == 4 {
			out[i] = convert(int64(int32(binary.LittleEndian.Uint32(plain[4*i:]))))
		} else {
			out[i] = convert(int64(binary.LittleEndian.Uint64(plain[8*i:])))
		}
	}
}

// bytesValuesOf returns what decodes FIXED_LEN_BYTE_ARRAY of a width, or nil.
func bytesValuesOf(typ arrow.FixedWidthDataType, width int, mem memory.Allocator) columnValues {
	form := bytesForm(width)
	switch id := typ.ID(); {
	case id == arrow.DECIMAL64 && 1 <= width && width <= 8:
		return newFixed(typ, mem, form, func(out []int64, plain []byte) { decimals64(out, plain, width) })
	case id == arrow.DECIMAL128 && 1 <= width && width <= 16:
		return newFixed(typ, mem, form, func(out []decimal128.Num, plain []byte) { decimals128(out, plain, width) })
	case id == arrow.DECIMAL256 && 1 <= width && width <= 32:
		return newFixed(typ, mem, form, func(out []decimal256.Num, plain []byte) { decimals256(out, plain, width) })
	case id == arrow.INTERVAL_MONTH_DAY_NANO && width == intervalBytes:
		return newFixed(typ, mem, form, intervals)
	case id == arrow.FLOAT16 && width == 2:
		return newCopied[[2]byte](typ, mem, form)
	case id == arrow.FIXED_SIZE_BINARY && typ.Bytes() == width && copiedOfWidth[width] != nil:
		return copiedOfWidth[width](typ, mem, form)
	}
	return nil
}

// copiedOfWidth is newCopied for the widths that many columns have: of UUIDs, digests, intervals,
// addresses, geohashes.
var copiedOfWidth = map[int]func(arrow.DataType, memory.Allocator, fixedForm) columnValues{
	1: newCopied[[1]byte], 2: newCopied[[2]byte], 3: newCopied[[3]byte], 4: newCopied[[4]byte],
	5: newCopied[[5]byte], 6: newCopied[[6]byte], 7: newCopied[[7]byte], 8: newCopied[[8]byte],
	9: newCopied[[9]byte], 10: newCopied[[10]byte], 11: newCopied[[11]byte], 12: newCopied[[12]byte],
	13: newCopied[[13]byte], 14: newCopied[[14]byte], 15: newCopied[[15]byte], 16: newCopied[[16]byte],
	20: newCopied[[20]byte], 24: newCopied[[24]byte], 28: newCopied[[28]byte], 32: newCopied[[32]byte],
	48: newCopied[[48]byte], 64: newCopied[[64]byte],
}

// decimals64 converts big-endian numbers of 1 to 8 bytes.
func decimals64(out []int64, plain []byte, width int) {
	shift, at := 64-8*width, 0
	for i := range out {
		if at+8 > len(plain) {
			out[i] = bigEndian(plain[at:], width)
		} else {
			out[i] = int64(binary.BigEndian.Uint64(plain[at:at+8])) >> (shift & 63)
		}
		at += width
	}
}

// decimals128 converts big-endian numbers of 1 to 16 bytes.
func decimals128(out []decimal128.Num, plain []byte, width int) {
	if width < 8 {
		for i := range out {
			out[i] = decimal128.FromI64(bigEndian(plain[i*width:], width))
		}
		return
	}
	for i := range out {
		p := plain[i*width : i*width+width]
		high := int64(binary.BigEndian.Uint64(p)) >> (128 - 8*width) // all sign for 8 bytes
		out[i] = decimal128.New(high, binary.BigEndian.Uint64(p[width-8:]))
	}
}

// bigEndian reads the number of 1 to 8 bytes that b begins with.
func bigEndian(b []byte, width int) int64 {
	if len(b) >= 8 {
		return int64(binary.BigEndian.Uint64(b)) >> (64 - 8*width)
	}
	var word [8]byte
	copy(word[:], b)
	return int64(binary.BigEndian.Uint64(word[:])) >> (64 - 8*width)
}

// decimals256 converts big-endian numbers of 1 to 32 bytes.
func decimals256(out []decimal256.Num, plain []byte, width int) {
	for i := range out {
		p := plain[i*width : i*width+width]
		var words [4]uint64
		for w := range words { // the lowest first
			from := max(len(p)-8, 0)
			if from < len(p) {
				words[w] = uint64(bigEndian(p[from:], len(p)-from))
			} else {
				words[w] = uint64(int64(words[w-1]) >> 63)
			}
			p = p[:from]
		}
		out[i] = decimal256.New(words[3], words[2], words[1], words[0])
	}
}

func (v *fixedValues[T]) dictionary(entries int, data []byte) error {
	if entries > len(data)/v.form.bytes {
		return fmt.Errorf("a dictionary page of %d B with %d entries of %d B", len(data), entries, v.form.bytes)
	}
	v.entries = delivery.View[T](v.dict.grow(entries*delivery.SizeOf[T](), nil))
	v.convert(v.entries, data[:entries*v.form.bytes])
	return nil
}

func (v *fixedValues[T]) page(encoding parquet.Encoding, data []byte) (err error) {
	v.encoding = encoding
	switch {
	case encoding == parquet.Encodings.Plain:
		v.plain = data
	case dictionaryEncoding(encoding):
		v.codes, err = codesOf(data)
	case len(data) == 0: // right only where all rows are NULL; otherwise read fails
		v.encoding, v.plain = parquet.Encodings.Plain, nil
	case encoding == parquet.Encodings.DeltaBinaryPacked && v.form.integer:
		v.deltas, _, err = newDeltas(data)
	case encoding == parquet.Encodings.ByteStreamSplit:
		v.split, err = newSplitBytes(data, v.form.bytes)
	case encoding == parquet.Encodings.DeltaByteArray && !v.form.integer:
		err = v.strings.page(encoding, data)
	default:
		err = errEncoding(encoding)
	}
	return err
}

func (v *fixedValues[T]) begin(rows int, wanted *rowset.Set) {
	v.some = nil
	if wanted != nil && wanted.Count < rows/pickShare {
		v.some = wanted
	}
	v.out = memory.NewResizableBuffer(v.mem)
	v.out.Resize(rows * delivery.SizeOf[T]())
}

func (v *fixedValues[T]) read(from, rows, values int, validity []byte) (err error) {
	out := delivery.View[T](v.out.Bytes())[from : from+rows]
	switch v.encoding {
	case parquet.Encodings.Plain:
		err = v.readPlain(out[:values], from, values < rows)
	case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.ByteStreamSplit, parquet.Encodings.DeltaByteArray:
		err = v.readBlocks(out[:values])
	default:
		err = gather(&v.codes, out[:values], v.entries)
	}
	if err != nil {
		return fmt.Errorf("a page with encoding %s: %w", v.encoding, err)
	}
	spread(out, values, validity, from)
	return nil
}

// readPlain reads the next values of a plain page. Without nulls, these are the values of the rows
// from the given row on.
func (v *fixedValues[T]) readPlain(out []T, row int, nulls bool) error {
	bytes := len(out) * v.form.bytes
	if bytes > len(v.plain) {
		return fmt.Errorf("%d B more for %d values of %d B", len(v.plain), len(out), v.form.bytes)
	}
	if v.some != nil && v.pick != nil && !nulls {
		v.pick(v.some, row, out, v.plain[:bytes])
	} else {
		v.convert(out, v.plain[:bytes])
	}
	v.plain = v.plain[bytes:]
	return nil
}

// readBlocks reads values that no part of the page has as a plain page would: some values at a time
// are made plain, and converted.
func (v *fixedValues[T]) readBlocks(out []T) (err error) {
	const valuesAtOnce = 256
	var block [valuesAtOnce]uint64 // stays in the L1 cache
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&block)), 8*valuesAtOnce)
	atOnce := len(bytes) / v.form.bytes
	for len(out) > 0 {
		n := min(len(out), atOnce)
		switch {
		case v.encoding == parquet.Encodings.ByteStreamSplit:
			err = v.split.read(bytes, n)
		case v.encoding == parquet.Encodings.DeltaByteArray:
			err = v.strings.readFixed(bytes[:n*v.form.bytes], v.form.bytes)
		case v.form.bytes == 4:
			err = readDeltas(&v.deltas, delivery.View[uint32](bytes)[:n])
		default:
			err = readDeltas(&v.deltas, block[:n])
		}
		if err != nil {
			return err
		}
		v.convert(out[:n], bytes[:n*v.form.bytes])
		out = out[n:]
	}
	return nil
}

func (v *fixedValues[T]) finish(validity *memory.Buffer, nulls int) arrow.Array {
	rows := v.out.Len() / delivery.SizeOf[T]()
	defer releaseBuffers(&v.out)
	return delivery.NewArray(v.typ, rows, nulls, validity, v.out)
}

func (v *fixedValues[T]) close() {
	releaseBuffers(&v.out)
	v.dict.free()
	v.strings.whole.free()
}

func releaseBuffers(buffers ...**memory.Buffer) {
	for _, b := range buffers {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
}
