package encode

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
)

// columnReader turns one column of the record batches into words, a tile at a time.
type columnReader struct {
	col      *rowdata.Column
	interner *Interner // nil but for a key column that is interned

	// Of the batch.
	arr   arrow.Array
	data  arrow.ArrayData
	nulls bool           // arr has NULLs
	typ   arrow.DataType // of the values; of a decimal it may be narrower than the schema's
	views bool           // arr is views of strings, where the schema has strings
	dict  *dictionary    // nil where arr has no dictionary

	// Scratch, of the tile.
	words  []uint64 // where words cannot be shared with the batch
	valids []uint8
	index  []uint32 // into dict
	asking asking

	// Memory of the words and the codes of dict, used again for the next dictionary.
	dictWords, dictCodes []uint64
	shared               *sharedDictionary // the last, of a column that is interned
}

// reset turns the reader to a batch's column.
func (r *columnReader) reset(arr arrow.Array) error {
	r.arr, r.data = arr, arr.Data()
	values := arr
	if d, ok := arr.(*array.Dictionary); ok {
		values = d.Dictionary()
		if err := r.setDictionary(values); err != nil {
			return err
		}
	} else {
		r.dict = nil
	}
	r.typ = values.DataType()
	r.views = scan.IsViewOf(r.typ, r.col.Type)
	if !r.views && !scan.IsNarrowOf(r.typ, r.col.Type) && !arrow.TypeEqual(r.typ, r.col.Type) {
		return fmt.Errorf("column %q: a batch has type %s, the schema says %s", r.col.Name, r.typ, r.col.Type)
	}
	r.nulls = scan.NullCount(arr) > 0
	if !r.col.Nullable && (r.nulls || r.dict != nil && r.dict.valid != nil) {
		return fmt.Errorf("column %q has NULLs, though its statistics say it has none: "+
			"the file contradicts itself", r.col.Name)
	}
	return nil
}

// valid returns which of n rows are not NULL, or nil when all are.
func (r *columnReader) valid(from, n int) ([]uint8, error) {
	if !r.nulls && (r.dict == nil || r.dict.valid == nil) {
		return nil, nil
	}
	r.valids = rowdata.Grow(r.valids, n)
	if !r.nulls {
		for i := range r.valids {
			r.valids[i] = 1
		}
	} else if expandBits(r.valids, r.arr.NullBitmapBytes(), r.data.Offset()+from) && r.dict == nil {
		return nil, nil
	}
	if r.dict != nil && r.dict.valid != nil {
		indexes, err := r.indexes(from, n)
		if err != nil {
			return nil, err
		}
		for row, index := range indexes {
			if int(index) < r.dict.len {
				r.valids[row] &= r.dict.valid[index]
			}
		}
	}
	return r.valids, nil
}

// expandBits writes bits of a bitmap, from a bit on, as bytes 1 and 0, and reports whether all bits
// are set.
func expandBits(out []uint8, bitmap []byte, from int) bool {
	i, unset := 0, byte(0)
	one := func() {
		out[i] = bitmap[(from+i)/8] >> ((from + i) % 8) & 1
		unset |= out[i] ^ 1
		i++
	}
	for i < len(out) && (from+i)%8 != 0 {
		one()
	}
	if n := (len(out) - i) / 8; n > 0 {
		for _, bits := range bitmap[(from+i)/8 : (from+i)/8+n] {
			// Byte j keeps bit j of the eight; adding 0x7F carries it to the byte's highest bit.
			spread := uint64(bits) * 0x0101010101010101 & 0x8040201008040201
			binary.LittleEndian.PutUint64(out[i:], (spread+0x7F7F7F7F7F7F7F7F)>>7&0x0101010101010101)
			unset |= ^bits
			i += 8
		}
	}
	for i < len(out) {
		one()
	}
	return unset == 0
}

// natural returns the words of n rows from a row on, in the kind's natural encoding. They may be
// the batch's own memory. The words of a NULL are arbitrary, but refer to no memory.
func (r *columnReader) natural(from, n int) ([]uint64, error) {
	words := n * r.col.Kind.Words()
	if n == 0 {
		return nil, nil
	}
	if r.dict != nil {
		r.words = rowdata.Grow(r.words, words)
		return r.words, r.decode(from, n)
	}
	if r.views {
		return r.viewWords(from, n)
	}
	switch arr := r.arr.(type) {
	case *array.Boolean:
		r.words = rowdata.Grow(r.words, words)
		bits, offset := r.data.Buffers()[1].Bytes(), r.data.Offset()+from
		for i := range r.words {
			r.words[i] = 0
			if bitutil.BitIsSet(bits, offset+i) {
				r.words[i] = 1
			}
		}
		return r.words, nil
	case *array.String, *array.Binary, *array.LargeString, *array.LargeBinary,
		*array.StringView, *array.BinaryView, *array.FixedSizeBinary:
		r.words = rowdata.Grow(r.words, words)
		return r.words, r.bytes(arr, from, n)
	}
	return r.fixed(from, n)
}

// fixed is natural for numbers, dates and times.
func (r *columnReader) fixed(from, n int) ([]uint64, error) {
	dt := r.typ.(arrow.FixedWidthDataType)
	raw, err := fixedBytes(r.data, dt.Bytes(), from, n)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", r.col.Name, err)
	}
	if dt.Bytes() == 8 || r.col.Kind == rowdata.Int128 {
		if shared, ok := shareWords(raw); ok {
			return shared, nil
		}
	}
	r.words = rowdata.Grow(r.words, n*r.col.Kind.Words())
	switch dt.ID() {
	case arrow.INT8:
		widen[int8](r.words, raw)
	case arrow.INT16:
		widen[int16](r.words, raw)
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		widen[int32](r.words, raw)
	case arrow.UINT8:
		widen[uint8](r.words, raw)
	case arrow.UINT16:
		widen[uint16](r.words, raw)
	case arrow.UINT32:
		widen[uint32](r.words, raw)
	case arrow.FLOAT32:
		for i, v := range rowdata.View[float32](raw)[:n] {
			r.words[i] = math.Float64bits(float64(v))
		}
	case arrow.FLOAT16:
		for i, v := range rowdata.View[uint16](raw)[:n] {
			r.words[i] = math.Float64bits(float64(rowdata.FromHalf(v)))
		}
	case arrow.DECIMAL128:
		if r.col.Kind == rowdata.Int64 {
			return r.words, r.narrowDecimals(raw, from)
		}
		fallthrough
	default:
		for i := range r.words {
			r.words[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
	}
	return r.words, nil
}

// narrowDecimals writes decimals of at most 18 digits: their high word is the sign of the low word.
func (r *columnReader) narrowDecimals(raw []byte, from int) error {
	for i := range r.words {
		low, high := binary.LittleEndian.Uint64(raw[16*i:]), binary.LittleEndian.Uint64(raw[16*i+8:])
		if high != uint64(int64(low)>>63) && r.arr.IsValid(from+i) {
			return fmt.Errorf("column %q: a value has more digits than %s: %w", r.col.Name, r.col.Type, scan.ErrCorrupt)
		}
		r.words[i] = low
	}
	return nil
}

// fixedBytes returns the values of n rows of a fixed-width array.
func fixedBytes(data arrow.ArrayData, width, from, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	var raw []byte
	if b := data.Buffers()[1]; b != nil {
		raw = b.Bytes()
	}
	lo, hi := (data.Offset()+from)*width, (data.Offset()+from+n)*width
	if hi > len(raw) {
		return nil, fmt.Errorf("%d rows need %d B, the batch has %d: %w", data.Offset()+from+n, hi, len(raw), scan.ErrCorrupt)
	}
	return raw[lo:hi], nil
}

// shareWords views bytes as words, if they are aligned.
func shareWords(raw []byte) ([]uint64, bool) {
	if len(raw) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(raw)))%8 != 0 {
		return nil, false
	}
	return rowdata.View[uint64](raw), true
}

func widen[T int8 | int16 | int32 | uint8 | uint16 | uint32](words []uint64, raw []byte) {
	for i, v := range rowdata.View[T](raw)[:len(words)] {
		words[i] = uint64(v)
	}
}

// bytes writes the words of n strings.
func (r *columnReader) bytes(arr arrow.Array, from, n int) error {
	out := unsafe.Slice((*rowdata.Bytes2)(unsafe.Pointer(unsafe.SliceData(r.words))), n)
	switch arr := arr.(type) {
	case offsetArray[int32]:
		return bytesByOffset(r, out, arr.ValueOffsets(), arr.ValueBytes(), from)
	case offsetArray[int64]:
		return bytesByOffset(r, out, arr.ValueOffsets(), arr.ValueBytes(), from)
	case *array.FixedSizeBinary:
		width := arr.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
		raw, err := fixedBytes(r.data, width, from, n)
		for i := range out {
			if err == nil {
				out[i].Set(raw[i*width : (i+1)*width])
			}
		}
		return err
	case array.ViewLike:
		for i := range out {
			out[i] = rowdata.Bytes2{}
			if arr.IsNull(from + i) {
				continue
			}
			header := arr.ValueHeader(from + i)
			if header.IsInline() {
				out[i].Set(header.InlineBytes())
				continue
			}
			buffer := r.data.Buffers()[2+header.BufferIndex()].Bytes()
			at := int(header.BufferOffset())
			out[i].Set(buffer[at : at+header.Len()])
		}
	}
	return nil
}

// viewWords is natural for views that a scan has made: the views of short strings are words as they
// are.
func (r *columnReader) viewWords(from, n int) ([]uint64, error) {
	raw, err := fixedBytes(r.data, 16, from, n)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", r.col.Name, err)
	}
	buffers := r.data.Buffers()
	if len(buffers) == 2 && !r.nulls {
		if shared, ok := shareWords(raw); ok {
			return shared, nil
		}
	}
	r.words = rowdata.Grow(r.words, 2*n)
	for i := range n {
		out, header := rowdata.AsBytes2(r.words[2*i:2*i+2]), raw[16*i:16*i+16]
		out[0], out[1] = binary.LittleEndian.Uint64(header), binary.LittleEndian.Uint64(header[8:])
		switch {
		case r.nulls && r.arr.IsNull(from+i):
			out[0], out[1] = 0, 0
		case out.Long():
			at := int(out[1] >> 32)
			out.Refer(buffers[2+uint32(out[1])].Bytes()[at : at+out.Len()])
		}
	}
	return r.words, nil
}

// offsetArray is an array of strings or binaries, or of large ones, whose offsets are int64.
type offsetArray[T int32 | int64] interface {
	ValueOffsets() []T
	ValueBytes() []byte
}

// bytesByOffset writes the words of strings that lie one after the other in data, which begins at
// the first row's string.
func bytesByOffset[T int32 | int64](r *columnReader, out []rowdata.Bytes2, offsets []T, data []byte, from int) error {
	if len(out) == 0 {
		return nil
	}
	if len(offsets) <= from+len(out) {
		return fmt.Errorf("column %q: %d offsets for %d strings: %w",
			r.col.Name, len(offsets), from+len(out), scan.ErrCorrupt)
	}
	rowdata.PutBytes2(out, data, offsets[from:from+len(out)+1], offsets[0])
	return nil
}

// plain returns the bytes of n values from a row on, if none is NULL and the batch has each value
// in width bytes; or nil.
func (r *columnReader) plain(width, from, n int) []byte {
	if r.nulls || r.dict != nil || r.views {
		return nil
	}
	dt, ok := r.typ.(arrow.FixedWidthDataType)
	if !ok || dt.BitWidth() != 8*width || r.typ.ID() == arrow.FIXED_SIZE_BINARY {
		return nil
	}
	if kind := r.col.Kind; kind != rowdata.Int64 && kind != rowdata.Uint64 && (kind != rowdata.Float64 || width != 8) {
		return nil
	}
	raw, err := fixedBytes(r.data, width, from, n)
	if err != nil {
		return nil // natural returns the error
	}
	return raw
}
