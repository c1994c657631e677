package rowset

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/recordreader"
)

// Take returns the rows of an array that are in a set, which the caller owns. Dictionaries, and the
// strings that views point to, stay where they are.
func Take(mem memory.Allocator, a arrow.Array, rows *Set) (arrow.Array, error) {
	if rows.Count == a.Len() {
		a.Retain()
		return a, nil
	}
	switch typed := a.(type) {
	case *array.Null:
		return array.NewNull(rows.Count), nil
	case *array.Boolean:
		out := delivery.NewBuffer(mem, (rows.Count+7)/8)
		defer out.Release()
		rows.takeBits(out.Bytes(), typed.Data().Buffers()[1].Bytes(), a.Data().Offset())
		return taken(mem, a, rows, out)
	case interface{ ValueOffsets() []int32 }:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), a.Data().Buffers()[2])
	case interface{ ValueOffsets() []int64 }:
		return takeStrings(mem, a, rows, typed.ValueOffsets(), a.Data().Buffers()[2])
	case array.ListLike:
		return takeLists(mem, typed, rows)
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
	out := delivery.NewBuffer(mem, width*rows.Count+compressSlack)
	defer out.Release()
	takeFixed(out.Bytes(), a.Data().Buffers()[1].Bytes()[width*a.Data().Offset():], width, rows)
	out.ResizeNoShrink(width * rows.Count)
	return taken(mem, a, rows, append([]*memory.Buffer{out}, a.Data().Buffers()[2:]...)...)
}

// taken returns an array like a of the buffers, which the caller still owns, with the validity of
// the rows of a that are in a set.
func taken(mem memory.Allocator, a arrow.Array, rows *Set, buffers ...*memory.Buffer) (arrow.Array, error) {
	var validity *memory.Buffer
	nulls := 0
	if delivery.NullCount(a) > 0 {
		validity = delivery.NewBuffer(mem, (rows.Count+7)/8)
		defer validity.Release()
		nulls = rows.Count - rows.takeBits(validity.Bytes(), a.NullBitmapBytes(), a.Data().Offset())
	}
	buffers = append([]*memory.Buffer{validity}, buffers...)
	if a, ok := a.(*array.Dictionary); ok {
		dictionary := a.Data().Dictionary().(*array.Data)
		data := array.NewDataWithDictionary(a.DataType(), rows.Count, buffers, nulls, 0, dictionary)
		defer data.Release()
		return array.NewDictionaryData(data), nil
	}
	return delivery.NewArray(a.DataType(), rows.Count, nulls, buffers...), nil
}

// compressSlack is how many bytes behind the last value compressWords may write.
const compressSlack = 64

// takeFixed writes the values of a set's rows. out has room for them, and compressSlack more.
func takeFixed(out, values []byte, width int, rows *Set) {
	words, n := 0, 0
	if rows.Count > rows.Rows/8 { // fewer are faster one by one
		words, n = compressWords(out, values, width, rows.words[:rows.Rows/64])
	}
	out, values = out[n*width:], values[words*64*width:]
	rest := rows.words[words:]
	switch width {
	case 1:
		takeValues[uint8](out, values, rest)
	case 2:
		takeValues[uint16](out, values, rest)
	case 4:
		takeValues[uint32](out, values, rest)
	case 8:
		takeValues[uint64](out, values, rest)
	case 16:
		takeValues[[2]uint64](out, values, rest)
	default:
		at := 0
		rows.eachRun(func(from, to int) {
			at += copy(out[at:], values[from*width:to*width])
		})
	}
}

// takeValues writes the values whose bits are set: neighbours together where runs of them have four
// on average, else each by itself.
func takeValues[T any](out, values []byte, words []uint64) {
	to, from := delivery.View[T](out), delivery.View[T](values)
	n := 0
	for w, m := range words {
		if runs := m &^ (m << 1); 4*bits.OnesCount64(runs) <= bits.OnesCount64(m) {
			for m != 0 {
				first := bits.TrailingZeros64(m)
				end := first + bits.TrailingZeros64(^(m >> first))
				n += copy(to[n:], from[w*64+first:w*64+end])
				m &= ^uint64(0) << end
			}
			continue
		}
		for ; m != 0; m &= m - 1 {
			to[n] = from[w*64+bits.TrailingZeros64(m)]
			n++
		}
	}
}

// takeStrings copies the strings of a set's rows, whose ends are offsets into data.
func takeStrings[T int32 | int64](
	mem memory.Allocator, a arrow.Array, rows *Set, offsets []T, data *memory.Buffer,
) (arrow.Array, error) {
	size := T(0)
	rows.eachRun(func(from, to int) { size += offsets[to] - offsets[from] })
	ends := delivery.NewBuffer(mem, (rows.Count+1)*delivery.SizeOf[T]())
	defer ends.Release()
	out := delivery.NewBuffer(mem, int(size))
	defer out.Release()
	to := delivery.View[T](ends.Bytes())
	to[0] = 0
	n, at := 1, T(0)
	rows.eachRun(func(first, end int) {
		if offsets[first] < offsets[end] { // there may be no data where all strings are empty
			copy(out.Bytes()[at:], data.Bytes()[offsets[first]:offsets[end]])
		}
		for _, offset := range offsets[first+1 : end+1] {
			to[n] = at + offset - offsets[first]
			n++
		}
		at = to[n-1]
	})
	return taken(mem, a, rows, ends, out)
}

// takeLists copies the lists of a set's rows and their elements.
func takeLists(mem memory.Allocator, lists array.ListLike, rows *Set) (arrow.Array, error) {
	var elements Set
	elements.Reset(lists.ListValues().Len())
	ends := delivery.NewBuffer(mem, (rows.Count+1)*delivery.SizeOf[int64]())
	defer ends.Release()
	to := delivery.View[int64](ends.Bytes())
	to[0] = 0
	n := 1
	rows.eachRun(func(first, end int) {
		from, _ := lists.ValueOffsets(first)
		for row := first; row < end; row++ {
			_, until := lists.ValueOffsets(row)
			to[n] = int64(elements.Count) + until - from
			n++
		}
		_, until := lists.ValueOffsets(end - 1)
		elements.Add(int(from), int(until))
	})
	values, err := Take(mem, lists.ListValues(), &elements)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	var buffers []*memory.Buffer
	switch lists.DataType().ID() {
	case arrow.LIST: // which has as many elements as the lists before
		delivery.Narrow(delivery.View[int32](ends.Bytes())[:n], to[:n])
		buffers = []*memory.Buffer{ends}
	case arrow.LARGE_LIST:
		buffers = []*memory.Buffer{ends}
	case arrow.FIXED_SIZE_LIST:
	default:
		return nil, fmt.Errorf("a filter over a column of type %s", lists.DataType())
	}
	var validity *memory.Buffer
	nulls := 0
	if delivery.NullCount(lists) > 0 {
		validity = delivery.NewBuffer(mem, (rows.Count+7)/8)
		defer validity.Release()
		nulls = rows.Count - rows.takeBits(validity.Bytes(), lists.NullBitmapBytes(), lists.Data().Offset())
	}
	buffers = append([]*memory.Buffer{validity}, buffers...)
	data := array.NewData(lists.DataType(), rows.Count, buffers, []arrow.ArrayData{values.Data()}, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// TakeBatch returns the rows of some columns of a batch that are in a set, which the caller owns.
func TakeBatch(mem memory.Allocator, b arrow.RecordBatch, columns []int, rows *Set) (arrow.RecordBatch, error) {
	arrays := make([]arrow.Array, len(columns))
	defer recordreader.ReleaseAll(arrays)
	for i, c := range columns {
		var err error
		if arrays[i], err = Take(mem, b.Column(c), rows); err != nil {
			return nil, fmt.Errorf("column %q: %w", b.ColumnName(c), err)
		}
	}
	return array.NewRecordBatch(recordreader.Columns(b.Schema(), columns), arrays, int64(rows.Count)), nil
}
