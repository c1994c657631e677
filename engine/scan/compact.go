package scan

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// appendSelected adds the numbers of the set bits from from to to, counted from from on.
func appendSelected(rows []int32, selected []byte, from, to int) []int32 {
	for i := from; i < to; {
		if i%8 == 0 && i+8 <= to {
			for b := selected[i/8]; b != 0; b &= b - 1 {
				rows = append(rows, int32(i-from+bits.TrailingZeros8(b)))
			}
			i += 8
			continue
		}
		if bitutil.BitIsSet(selected, i) {
			rows = append(rows, int32(i-from))
		}
		i++
	}
	return rows
}

// take returns the given rows of an array, in their order, which the caller owns. Dictionaries, and the
// strings that views point to, stay where they are.
func take(mem memory.Allocator, a arrow.Array, rows []int32) (arrow.Array, error) {
	if len(rows) == a.Len() {
		a.Retain()
		return a, nil
	}
	switch typed := a.(type) {
	case *array.Null:
		return array.NewNull(len(rows)), nil
	case *array.Boolean:
		out := newBuffer(mem, (len(rows)+7)/8)
		defer out.Release()
		takeBits(out.Bytes(), typed.Data().Buffers()[1].Bytes(), a.Data().Offset(), rows)
		return taken(mem, a, rows, out)
	case *array.String:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), typed.Data().Buffers()[2])
	case *array.Binary:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), typed.Data().Buffers()[2])
	case *array.LargeString:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), typed.Data().Buffers()[2])
	case *array.LargeBinary:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), typed.Data().Buffers()[2])
	}
	width := 0
	switch t := a.DataType().(type) {
	case *arrow.DictionaryType:
		width = t.Bytes()
	case arrow.BinaryViewDataType:
		width = arrow.ViewHeaderSizeBytes
	case arrow.FixedWidthDataType:
		width = t.Bytes()
	default:
		return nil, fmt.Errorf("a filter over a column of type %s", a.DataType())
	}
	out := newBuffer(mem, width*len(rows))
	defer out.Release()
	takeFixed(out.Bytes(), a.Data().Buffers()[1].Bytes()[width*a.Data().Offset():], width, rows)
	return taken(mem, a, rows, append([]*memory.Buffer{out}, a.Data().Buffers()[2:]...)...)
}

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(size)
	return b
}

// taken returns an array like a of the buffers, which the caller still owns, with the validity of the
// given rows of a.
func taken(mem memory.Allocator, a arrow.Array, rows []int32, buffers ...*memory.Buffer) (arrow.Array, error) {
	var validity *memory.Buffer
	nulls := 0
	if NullCount(a) > 0 {
		validity = newBuffer(mem, (len(rows)+7)/8)
		defer validity.Release()
		nulls = len(rows) - takeBits(validity.Bytes(), a.NullBitmapBytes(), a.Data().Offset(), rows)
	}
	buffers = append([]*memory.Buffer{validity}, buffers...)
	if a, ok := a.(*array.Dictionary); ok {
		data := array.NewDataWithDictionary(a.DataType(), len(rows), buffers, nulls, 0, a.Data().Dictionary().(*array.Data))
		defer data.Release()
		return array.NewDictionaryData(data), nil
	}
	return newArray(a.DataType(), len(rows), nulls, buffers...), nil
}

// takeBits writes the bits of the given rows, whose first is at from, and returns how many are set.
func takeBits(out, bits []byte, from int, rows []int32) (set int) {
	clear(out)
	for i, row := range rows {
		bit := bits[(from+int(row))/8] >> ((from + int(row)) % 8) & 1
		out[i/8] |= bit << (i % 8)
		set += int(bit)
	}
	return set
}

func takeFixed(out, values []byte, width int, rows []int32) {
	switch width {
	case 1:
		takeValues[uint8](out, values, rows)
	case 2:
		takeValues[uint16](out, values, rows)
	case 4:
		takeValues[uint32](out, values, rows)
	case 8:
		takeValues[uint64](out, values, rows)
	case 16:
		takeValues[[2]uint64](out, values, rows)
	default:
		for i, row := range rows {
			copy(out[i*width:(i+1)*width], values[int(row)*width:])
		}
	}
}

func takeValues[T any](out, values []byte, rows []int32) {
	to, from := view[T](out), view[T](values)
	to = to[:len(rows)]
	for i, row := range rows {
		to[i] = from[row]
	}
}

// takeStrings copies the strings of the given rows, whose ends are offsets into data.
func takeStrings[T int32 | int64](mem memory.Allocator, a arrow.Array, rows []int32, offsets []T, data *memory.Buffer) (arrow.Array, error) {
	size := T(0)
	for _, row := range rows {
		size += offsets[row+1] - offsets[row]
	}
	ends := newBuffer(mem, (len(rows)+1)*sizeOf[T]())
	defer ends.Release()
	out := newBuffer(mem, int(size))
	defer out.Release()
	to, at := view[T](ends.Bytes()), 0
	to[0] = 0
	for i, row := range rows {
		if offsets[row] < offsets[row+1] { // there may be no data where all strings are empty
			at += copy(out.Bytes()[at:], data.Bytes()[offsets[row]:offsets[row+1]])
		}
		to[i+1] = T(at)
	}
	return taken(mem, a, rows, ends, out)
}

// takeBatch returns the given rows of some columns of a batch, which the caller owns.
func takeBatch(mem memory.Allocator, b arrow.RecordBatch, columns []int, rows []int32) (arrow.RecordBatch, error) {
	fields := make([]arrow.Field, len(columns))
	arrays := make([]arrow.Array, 0, len(columns))
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for i, c := range columns {
		fields[i] = b.Schema().Field(c)
		a, err := take(mem, b.Column(c), rows)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", fields[i].Name, err)
		}
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(len(rows))), nil
}
