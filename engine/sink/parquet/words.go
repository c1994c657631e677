package parquet

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/mpga/mpga/internal/rowdata"
)

// wordKind says what the words of a column's values are.
type wordKind uint8

const (
	kindSigned  wordKind = iota // 32 or 64 bits, extended; decimals of at most 18 digits, too
	kindNatural                 // unsigned
	kindFloat32                 // its bits
	kindFloat64
	kindBytes   // rowdata.Bytes2
	kindDecimal // 128 bits, the lower word first
)

// signed says whether the values are ordered as signed numbers, which is what the first statistics
// meant.
func (k wordKind) signed() bool { return k != kindNatural && k != kindBytes }

// wordForm says how the values of a type become words, and words what Parquet calls plain.
type wordForm struct {
	kind  wordKind
	words int // of a value
	bytes int // of a plain value; 0 of strings
	id    arrow.Type
	unit  arrow.TimeUnit // of timestamps
}

// wordFormOf returns the form of a type of the adapted schema in a column of a file.
func wordFormOf(t arrow.DataType, column *schema.Column) (f wordForm, ok bool) {
	f = wordForm{words: 1, bytes: 8, id: t.ID()}
	if t, ok := t.(*arrow.TimestampType); ok {
		f.unit = t.Unit
	}
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.DATE32:
		f.bytes = 4
	case arrow.INT64, arrow.TIME64, arrow.TIMESTAMP:
	case arrow.UINT8, arrow.UINT16, arrow.UINT32:
		f.kind, f.bytes = kindNatural, 4
	case arrow.UINT64:
		f.kind = kindNatural
	case arrow.FLOAT32:
		f.kind, f.bytes = kindFloat32, 4
	case arrow.FLOAT64:
		f.kind = kindFloat64
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		f.kind, f.words, f.bytes = kindBytes, 2, 0
	case arrow.DECIMAL128:
		switch column.PhysicalType() {
		case parquet.Types.Int32:
			f.bytes = 4
		case parquet.Types.Int64:
		default:
			f.kind, f.words, f.bytes = kindDecimal, 2, column.TypeLength()
		}
	default:
		return f, false
	}
	return f, true
}

// reads says whether readWords takes an array as it is.
func (f *wordForm) reads(arr arrow.Array) bool {
	if t, ok := arr.DataType().(*arrow.TimestampType); ok && t.Unit != f.unit { // seconds, which become milliseconds
		return false
	}
	id := arr.DataType().ID()
	return id == f.id || f.kind == kindBytes && (id == arrow.STRING_VIEW || id == arrow.BINARY_VIEW)
}

// readWords fills words with the values of an array from row from on; a value takes each words. The
// words of a NULL are arbitrary, but refer to nothing that is not the array's.
func readWords(words []uint64, each int, arr arrow.Array, from int) {
	switch arr.DataType().ID() {
	case arrow.INT8:
		extend[int8](words, arr, from)
	case arrow.INT16:
		extend[int16](words, arr, from)
	case arrow.INT32, arrow.DATE32:
		extend[int32](words, arr, from)
	case arrow.UINT8:
		extend[uint8](words, arr, from)
	case arrow.UINT16:
		extend[uint16](words, arr, from)
	case arrow.UINT32, arrow.FLOAT32:
		extend[uint32](words, arr, from)
	case arrow.INT64, arrow.TIME64, arrow.TIMESTAMP, arrow.UINT64, arrow.FLOAT64:
		copy(words, arrow.GetValues[uint64](arr.Data(), 1)[from:])
	}
	switch arr := arr.(type) {
	case *array.Decimal128:
		for i, v := range arr.Values()[from : from+len(words)/each] {
			if words[i*each] = v.LowBits(); each == 2 {
				words[2*i+1] = uint64(v.HighBits())
			}
		}
	case *array.String:
		readStrings(words, arr.ValueBytes(), arr.ValueOffsets(), from)
	case *array.Binary:
		readStrings(words, arr.ValueBytes(), arr.ValueOffsets(), from)
	case *array.LargeString:
		readStrings(words, arr.ValueBytes(), arr.ValueOffsets(), from)
	case *array.LargeBinary:
		readStrings(words, arr.ValueBytes(), arr.ValueOffsets(), from)
	case *array.StringView:
		readViews(words, arr, from, func(i int) []byte {
			v := arr.Value(i)
			return unsafe.Slice(unsafe.StringData(v), len(v))
		})
	case *array.BinaryView:
		readViews(words, arr, from, arr.Value)
	}
}

// extend writes the values of a type of fixed width that has the memory of T.
func extend[T int8 | int16 | int32 | uint8 | uint16 | uint32](words []uint64, arr arrow.Array, from int) {
	for i, v := range arrow.GetValues[T](arr.Data(), 1)[from:][:len(words)] {
		words[i] = uint64(v)
	}
}

func readStrings[T int32 | int64](words []uint64, data []byte, offsets []T, from int) {
	out := asStrings(words)
	if len(out) > 0 {
		rowdata.PutBytes2(out, data, offsets[from:from+len(out)+1], offsets[0])
	}
}

func readViews(words []uint64, arr arrow.Array, from int, value func(int) []byte) {
	for i, out := 0, asStrings(words); i < len(out); i++ {
		out[i] = rowdata.Bytes2{}
		if arr.IsValid(from + i) {
			out[i].Set(value(from + i))
		}
	}
}

// asStrings views words as strings.
func asStrings(words []uint64) []rowdata.Bytes2 {
	return unsafe.Slice((*rowdata.Bytes2)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/2)
}

// plain appends values as Parquet's plain encoding has them.
func (f *wordForm) plain(dst []byte, words []uint64) []byte {
	switch {
	case f.kind == kindBytes:
		return appendStrings(dst, asStrings(words))
	case f.kind == kindDecimal:
		return appendDecimals(dst, words, f.bytes)
	case f.bytes == 4:
		at := len(dst)
		dst = extendBytes(dst, 4*len(words))
		for i, w := range words {
			binary.LittleEndian.PutUint32(dst[at+4*i:], uint32(w))
		}
		return dst
	}
	at := len(dst)
	dst = extendBytes(dst, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(dst[at+8*i:], w)
	}
	return dst
}

func appendStrings(dst []byte, values []rowdata.Bytes2) []byte {
	for i := range values {
		v := &values[i]
		if v.Long() {
			dst = append(binary.LittleEndian.AppendUint32(dst, uint32(v.Len())), v.Bytes()...)
			continue
		}
		// The words are the length and the bytes, as they are to be written.
		at := len(dst)
		dst = extendBytes(dst, 16)
		binary.LittleEndian.PutUint64(dst[at:], v[0])
		binary.LittleEndian.PutUint64(dst[at+8:], v[1])
		dst = dst[:at+4+v.Len()]
	}
	return dst
}

// appendDecimals appends numbers of 128 bits by their last bytes, the highest first.
func appendDecimals(dst []byte, words []uint64, width int) []byte {
	for i := 0; i < len(words); i += 2 {
		var number [16]byte
		binary.BigEndian.PutUint64(number[:], words[i+1])
		binary.BigEndian.PutUint64(number[8:], words[i])
		dst = append(dst, number[16-width:]...)
	}
	return dst
}

// extendBytes returns dst with n more bytes, whatever they are.
func extendBytes(dst []byte, n int) []byte {
	if cap(dst)-len(dst) < n {
		dst = append(make([]byte, 0, 2*cap(dst)+n), dst...)
	}
	return dst[:len(dst)+n]
}
