package order

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/rowdata"
)

// errTooLarge marks rows whose strings do not fit one array.
var errTooLarge = errors.New("strings of more than 2^31-1 bytes do not fit one array")

// gather returns the values of a column at the places that entries name, of arrays of one type.
func gather(mem memory.Allocator, from []arrow.Array, at []entry) (arrow.Array, error) {
	dt := from[0].DataType()
	switch typed := dt.(type) {
	case *arrow.NullType:
		return array.NewNull(len(at)), nil
	case *arrow.BooleanType:
		return gatherFixed(mem, dt, from, at, gatherBits), nil
	case *arrow.StringType, *arrow.BinaryType:
		return gatherText[int32](mem, dt, from, at)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return gatherText[int64](mem, dt, from, at)
	case *arrow.DictionaryType, arrow.ExtensionType:
	case arrow.FixedWidthDataType:
		switch typed.BitWidth() {
		case 8:
			return gatherFixed(mem, dt, from, at, gatherWords[uint8]), nil
		case 16:
			return gatherFixed(mem, dt, from, at, gatherWords[uint16]), nil
		case 32:
			return gatherFixed(mem, dt, from, at, gatherWords[uint32]), nil
		case 64:
			return gatherFixed(mem, dt, from, at, gatherWords[uint64]), nil
		case 128:
			return gatherFixed(mem, dt, from, at, gatherWords[[2]uint64]), nil
		case 256:
			return gatherFixed(mem, dt, from, at, gatherWords[[4]uint64]), nil
		}
	}
	return gatherSlices(mem, from, at)
}

// gatherSlices gathers values of any type, runs of neighbours at a time.
func gatherSlices(mem memory.Allocator, from []arrow.Array, at []entry) (arrow.Array, error) {
	if len(at) == 0 {
		return array.NewSlice(from[0], 0, 0), nil
	}
	var slices []arrow.Array
	defer func() {
		for _, s := range slices {
			s.Release()
		}
	}()
	for i := 0; i < len(at); {
		n := 1
		for i+n < len(at) && at[i+n].batch == at[i].batch && at[i+n].row == at[i].row+uint32(n) {
			n++
		}
		slices = append(slices, array.NewSlice(from[at[i].batch], int64(at[i].row), int64(at[i].row)+int64(n)))
		i += n
	}
	return array.Concatenate(slices, mem)
}

// gatherFixed makes an array of values of one width.
func gatherFixed(mem memory.Allocator, dt arrow.DataType, from []arrow.Array, at []entry, fill func(out []byte, from []arrow.Array, at []entry)) arrow.Array {
	values := newBuffer(mem, (dt.(arrow.FixedWidthDataType).BitWidth()*len(at)+7)/8)
	fill(values.Bytes(), from, at)
	return makeArray(mem, dt, from, at, values)
}

// makeArray puts validity before the buffers of an array, which it takes over.
func makeArray(mem memory.Allocator, dt arrow.DataType, from []arrow.Array, at []entry, buffers ...*memory.Buffer) arrow.Array {
	valid, nulls := gatherValid(mem, from, at)
	buffers = append([]*memory.Buffer{valid}, buffers...)
	data := array.NewData(dt, len(at), buffers, nil, nulls, 0)
	defer data.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

func newBuffer(mem memory.Allocator, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(n)
	return b
}

// gatherValid returns the bits of the values that are not NULL, nil where all are not.
func gatherValid(mem memory.Allocator, from []arrow.Array, at []entry) (*memory.Buffer, int) {
	some := false
	for _, a := range from {
		some = some || a.NullN() > 0
	}
	if !some {
		return nil, 0
	}
	valid := newBuffer(mem, int(bitutil.BytesForBits(int64(len(at)))))
	bits := valid.Bytes()
	clear(bits)
	nulls := 0
	for i := range at {
		if from[at[i].batch].IsNull(int(at[i].row)) {
			nulls++
		} else {
			bitutil.SetBit(bits, i)
		}
	}
	return valid, nulls
}

func gatherWords[T uint8 | uint16 | uint32 | uint64 | [2]uint64 | [4]uint64](out []byte, from []arrow.Array, at []entry) {
	words := make([][]T, len(from))
	for i, a := range from {
		words[i] = valuesOf[T](a)
	}
	to := rowdata.View[T](out)
	for i := range at {
		to[i] = words[at[i].batch][at[i].row]
	}
}

func gatherBits(out []byte, from []arrow.Array, at []entry) {
	clear(out)
	for i := range at {
		if from[at[i].batch].(*array.Boolean).Value(int(at[i].row)) {
			bitutil.SetBit(out, i)
		}
	}
}

// texts are the strings or binaries of an array.
type texts[T int32 | int64] struct {
	offsets []T
	bytes   []byte
}

// gatherText gathers strings and binaries with offsets.
func gatherText[T int32 | int64](mem memory.Allocator, dt arrow.DataType, from []arrow.Array, at []entry) (arrow.Array, error) {
	sources := make([]texts[T], len(from))
	for i, a := range from {
		buffers := a.Data().Buffers()
		if buffers[1] != nil && buffers[1].Len() > 0 {
			sources[i].offsets = rowdata.View[T](buffers[1].Bytes())[a.Data().Offset():]
		}
		if buffers[2] != nil {
			sources[i].bytes = buffers[2].Bytes()
		}
	}
	total := int64(0)
	offsets := newBuffer(mem, int(unsafe.Sizeof(T(0)))*(len(at)+1))
	ends := rowdata.View[T](offsets.Bytes())
	ends[0] = 0
	for i := range at {
		s := &sources[at[i].batch]
		total += int64(s.offsets[at[i].row+1] - s.offsets[at[i].row])
		ends[i+1] = T(total)
	}
	if int64(T(total)) != total || total > math.MaxInt {
		offsets.Release()
		return nil, fmt.Errorf("%w: %d rows have %d", errTooLarge, len(at), total)
	}
	text := newBuffer(mem, int(total))
	out := text.Bytes()
	for i := range at {
		s := &sources[at[i].batch]
		copy(out[ends[i]:], s.bytes[s.offsets[at[i].row]:s.offsets[at[i].row+1]])
	}
	return makeArray(mem, dt, from, at, offsets, text), nil
}
