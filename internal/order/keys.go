package order

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/rowdata"
)

// The key of a row is the encodings of its columns, one behind the other. Of no two rows is one key
// the beginning of the other, so that keys compare by their first byte that differs. O1.
//
//	column that may be NULL    1 byte for NULL or a value, in the order that the key asks for
//	integer, date, time        big-endian, the sign flipped
//	float                      big-endian; negative ones inverted, others with the sign set
//	decimal                    as an integer of 16 or 32 bytes
//	string, binary             its bytes, 00 as 00 FF, ended by 00 00
//	descending                 the same, every byte inverted

// appender appends the encoding of a row's value to a key. The value is not NULL.
type appender func(key []byte, row int) []byte

// entry is a row in a sort. Its place breaks ties. O2.
type entry struct {
	head  [2]uint64 // the first 16 bytes of the key, zeros behind its end
	batch uint32
	row   uint32
}

// headBytes is how many bytes of a key an entry holds.
const headBytes = 16

// entryBytes is the memory of an entry, of its copy while entries are sorted, and of its mark.
const entryBytes = 2*24 + 1

// longKeys are the keys of a batch's rows, where some keys do not fit their entries.
type longKeys struct {
	bytes []byte // of all keys, one behind the other
	ends  []int  // by row: the end of its key; nil where all keys fit their entries

	prefixes []uint32 // by row: the bytes of its first keys; nil where nobody asks for them
}

func (k *longKeys) at(row uint32) []byte {
	start := 0
	if row > 0 {
		start = k.ends[row-1]
	}
	return k.bytes[start:k.ends[row]]
}

func (k *longKeys) size() int64 { return int64(cap(k.bytes) + 8*cap(k.ends) + 4*cap(k.prefixes)) }

// keyEncoder makes the keys of rows.
type keyEncoder struct {
	keys   []Key
	short  bool // every key fits its entry
	prefix int  // how many first keys' bytes are counted; -1 where nobody asks for them
}

func newKeyEncoder(schema *arrow.Schema, keys []Key) *keyEncoder {
	width := 0
	for _, k := range keys {
		f := schema.Field(k.Column)
		if f.Nullable {
			width++
		}
		width += widthOf(f.Type)
	}
	return &keyEncoder{keys: keys, short: width <= headBytes, prefix: -1}
}

// widthOf returns the bytes of an encoded value: more than an entry has where they vary.
func widthOf(dt arrow.DataType) int {
	switch dt := dt.(type) {
	case *arrow.NullType:
		return 0
	case *arrow.Float16Type:
		return 4 // encoded as 32 bits
	case arrow.FixedWidthDataType:
		return (dt.BitWidth() + 7) / 8
	}
	return headBytes + 1
}

// longBytes returns about how many bytes the keys of a batch take beside their entries.
func (e *keyEncoder) longBytes(batch arrow.RecordBatch) (bytes int64) {
	if e.short {
		return 0
	}
	rows := batch.NumRows()
	for _, k := range e.keys {
		if column := batch.Column(k.Column); widthOf(column.DataType()) <= headBytes {
			bytes += rows * int64(1+widthOf(column.DataType()))
		} else {
			bytes += 2*rows + rowdata.ArrayBytes(column)
		}
	}
	return bytes + 8*rows
}

// encode appends an entry for every row of a batch to the entries.
func (e *keyEncoder) encode(entries []entry, batch arrow.RecordBatch, number int) ([]entry, longKeys) {
	columns := make([]keyColumn, len(e.keys))
	for i, k := range e.keys {
		columns[i] = newKeyColumn(batch.Column(k.Column), k, batch.Schema().Field(k.Column).Nullable)
	}
	rows := int(batch.NumRows())
	var long longKeys
	if !e.short {
		long.ends = make([]int, rows)
	}
	if e.prefix >= 0 {
		long.prefixes = make([]uint32, rows)
	}
	var key []byte
	for row := range rows {
		if e.short {
			key = key[:0]
		}
		start := len(key)
		for i := range columns {
			key = columns[i].append(key, row)
			if i+1 == e.prefix {
				long.prefixes[row] = uint32(len(key) - start)
			}
		}
		entries = append(entries, entry{head: headOf(key[start:]), batch: uint32(number), row: uint32(row)})
		if !e.short {
			long.ends[row] = len(key)
		}
	}
	if !e.short {
		long.bytes = key
	}
	return entries, long
}

func headOf(key []byte) [2]uint64 {
	var b [headBytes]byte
	copy(b[:], key)
	return [2]uint64{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// compareHeads compares the first bytes of two keys, which their entries hold.
func compareHeads(a, b *entry) int {
	if a.head[0] != b.head[0] {
		return cmp.Compare(a.head[0], b.head[0])
	}
	return cmp.Compare(a.head[1], b.head[1])
}

// compareLong compares two keys whose heads are equal.
func compareLong(a, b []byte) int {
	if len(a) <= headBytes || len(b) <= headBytes {
		return 0
	}
	return bytes.Compare(a[headBytes:], b[headBytes:])
}

// keyColumn encodes the values of one column of a batch.
type keyColumn struct {
	value      appender
	nulls      arrow.Array // nil where the batch has none
	marked     bool        // a byte says whether a value is NULL
	null, some byte        // that byte, of NULL and of a value
	invert     bool        // the order is descending
}

func newKeyColumn(values arrow.Array, k Key, nullable bool) keyColumn {
	c := keyColumn{value: newAppender(values), marked: nullable, null: 1, invert: k.Descending}
	if k.NullsFirst {
		c.null, c.some = 0, 1
	}
	if values.NullN() > 0 {
		c.nulls = values
	}
	return c
}

func (c *keyColumn) append(key []byte, row int) []byte {
	if c.marked {
		if c.nulls != nil && c.nulls.IsNull(row) {
			return append(key, c.null)
		}
		key = append(key, c.some)
	}
	start := len(key)
	key = c.value(key, row)
	if c.invert {
		for i := start; i < len(key); i++ {
			key[i] = ^key[i]
		}
	}
	return key
}

// newAppender returns the encoder of a column's values.
// Requires: its type is Sortable.
func newAppender(values arrow.Array) appender {
	words := make([]uint64, values.Len())
	switch orderedWords(words, values) {
	case 1:
		return func(key []byte, row int) []byte { return append(key, uint8(words[row])) }
	case 2:
		return func(key []byte, row int) []byte { return binary.BigEndian.AppendUint16(key, uint16(words[row])) }
	case 4:
		return func(key []byte, row int) []byte { return binary.BigEndian.AppendUint32(key, uint32(words[row])) }
	case 8:
		return func(key []byte, row int) []byte { return binary.BigEndian.AppendUint64(key, words[row]) }
	}
	switch values := values.(type) {
	case *array.Null:
		return func(key []byte, _ int) []byte { return key }
	case *array.Decimal128:
		return func(key []byte, row int) []byte {
			v := values.Value(row)
			key = binary.BigEndian.AppendUint64(key, uint64(v.HighBits())^1<<63)
			return binary.BigEndian.AppendUint64(key, v.LowBits())
		}
	case *array.Decimal256:
		return func(key []byte, row int) []byte {
			words := values.Value(row).Array() // the lowest first
			words[3] ^= 1 << 63
			for i := len(words) - 1; i >= 0; i-- {
				key = binary.BigEndian.AppendUint64(key, words[i])
			}
			return key
		}
	case *array.FixedSizeBinary:
		return func(key []byte, row int) []byte { return append(key, values.Value(row)...) }
	case interface{ Value(int) string }: // strings, of all lengths, and views
		return func(key []byte, row int) []byte { return appendText(key, values.Value(row)) }
	case interface{ Value(int) []byte }: // binaries
		return func(key []byte, row int) []byte { return appendText(key, values.Value(row)) }
	}
	panic(fmt.Sprintf("order: no keys of type %s", values.DataType()))
}

// orderedWords writes values as words that compare as the values do, anything for NULL, and returns
// how many bytes of each word a key has: the lowest. It returns 0 where the type has more than a
// word. O1.
func orderedWords(words []uint64, values arrow.Array) (bytes int) {
	switch values.DataType().ID() {
	case arrow.BOOL:
		for i := range words {
			words[i] = 0
			if values.(*array.Boolean).Value(i) {
				words[i] = 1
			}
		}
		return 1
	case arrow.INT8:
		return fillWords[uint8](words, values, 1<<7)
	case arrow.UINT8:
		return fillWords[uint8](words, values, 0)
	case arrow.INT16:
		return fillWords[uint16](words, values, 1<<15)
	case arrow.UINT16:
		return fillWords[uint16](words, values, 0)
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		return fillWords[uint32](words, values, 1<<31)
	case arrow.UINT32:
		return fillWords[uint32](words, values, 0)
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION, arrow.DECIMAL64:
		return fillWords[uint64](words, values, 1<<63)
	case arrow.UINT64:
		return fillWords[uint64](words, values, 0)
	case arrow.FLOAT16:
		for i, bits := range rowdata.Values[uint16](values) {
			v := rowdata.FromHalf(bits)
			words[i] = uint64(orderedFloat(v, math.Float32bits(v)))
		}
		return 4
	case arrow.FLOAT32:
		for i, v := range rowdata.Values[float32](values) {
			words[i] = uint64(orderedFloat(v, math.Float32bits(v)))
		}
		return 4
	case arrow.FLOAT64:
		for i, v := range rowdata.Values[float64](values) {
			words[i] = orderedFloat(v, math.Float64bits(v))
		}
		return 8
	}
	return 0
}

// fillWords writes integers as words, their sign flipped.
func fillWords[T uint8 | uint16 | uint32 | uint64](words []uint64, values arrow.Array, sign T) (bytes int) {
	for i, v := range rowdata.Values[T](values)[:len(words)] {
		words[i] = uint64(v ^ sign)
	}
	return int(unsafe.Sizeof(sign))
}

// orderedFloat returns, of a number and its bits, bits that compare as numbers do. O1.
func orderedFloat[F float32 | float64, B uint32 | uint64](v F, bits B) B {
	sign := ^(^B(0) >> 1)
	switch {
	case v != v:
		return ^B(0)
	case v == 0:
		return sign // of 0.0 and of -0.0
	case bits&sign != 0:
		return ^bits
	}
	return bits | sign
}

func appendText[T string | []byte](key []byte, text T) []byte {
	for i := range len(text) {
		key = append(key, text[i])
		if text[i] == 0 {
			key = append(key, 0xFF)
		}
	}
	return append(key, 0, 0)
}
