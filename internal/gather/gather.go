// Package gather makes columns of rows that lie in several batches.
package gather

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// ErrTooLarge marks rows whose strings do not fit one array.
var ErrTooLarge = errors.New("strings of more than 2^31-1 bytes do not fit one array")

// Row is a row of one of several batches.
type Row struct{ Batch, Row uint32 }

// Column returns the values that a column of several batches has in some rows. The arrays are of one type.
// ErrTooLarge says that they do not fit an array.
func Column(mem memory.Allocator, from []arrow.Array, rows []Row) (arrow.Array, error) {
	return (&gathering{mem, from, rows}).array()
}

// AreNeighbours says whether rows are one of a batch, the next, and so on.
func AreNeighbours(rows []Row) bool {
	for i, r := range rows {
		if r.Batch != rows[0].Batch || r.Row != rows[0].Row+uint32(i) {
			return false
		}
	}
	return len(rows) > 0
}

// Share makes an array ready for several goroutines that gather values of it at once: an array counts its NULLs when it
// is asked first.
func Share(from arrow.Array) {
	from.NullN()
	if list, ok := from.(array.ListLike); ok {
		Share(list.ListValues())
	}
}

// gathering makes an array of the values of one column in some rows.
type gathering struct {
	mem  memory.Allocator
	from []arrow.Array // by batch of a row, all of one type
	at   []Row
}

// array returns the values in the order of the rows.
func (g *gathering) array() (arrow.Array, error) {
	switch dt := g.from[0].DataType().(type) {
	case *arrow.NullType:
		return array.NewNull(len(g.at)), nil
	case *arrow.BooleanType:
		return g.fixed(1, gatherBits), nil
	case *arrow.StringType, *arrow.BinaryType, *nested.Type:
		return gatherText[int32](g)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return gatherText[int64](g)
	case *arrow.ListType:
		if elements, few := g.fewElements(); few {
			return g.lists(elements)
		}
	case *arrow.DictionaryType, arrow.ExtensionType:
	case arrow.BinaryViewDataType:
		if len(g.from) == 1 {
			return g.views(), nil
		}
	case arrow.FixedWidthDataType:
		switch width := dt.BitWidth(); width {
		case 8:
			return g.fixed(width, gatherWords[uint8]), nil
		case 16:
			return g.fixed(width, gatherWords[uint16]), nil
		case 32:
			return g.fixed(width, gatherWords[uint32]), nil
		case 64:
			return g.fixed(width, gatherWords[uint64]), nil
		case 128:
			return g.fixed(width, gatherWords[[2]uint64]), nil
		case 256:
			return g.fixed(width, gatherWords[[4]uint64]), nil
		}
	}
	return g.slices()
}

// elementsPerList is how many elements lists have on average, at most, that are gathered one by one: longer lists are
// copied as slices.
const elementsPerList = 8

// fewElements counts the elements of the lists that rows name, and says whether the lists are short.
func (g *gathering) fewElements() (elements int, few bool) {
	for _, e := range g.at {
		if list := g.from[e.Batch].(*array.List); list.IsValid(int(e.Row)) {
			from, to := list.ValueOffsets(int(e.Row))
			elements += int(to - from)
		}
	}
	return elements, elements <= elementsPerList*len(g.at)
}

// lists gathers lists that have a number of elements.
func (g *gathering) lists(elements int) (arrow.Array, error) {
	values := gathering{mem: g.mem, from: make([]arrow.Array, len(g.from)), at: make([]Row, 0, elements)}
	for i, a := range g.from {
		values.from[i] = a.(*array.List).ListValues()
	}
	ends := newBuffer(g.mem, arrow.Int32Traits.BytesRequired(len(g.at)+1))
	defer ends.Release()
	offsets := arrow.Int32Traits.CastFromBytes(ends.Bytes())
	offsets[0] = 0
	for i, e := range g.at {
		if list := g.from[e.Batch].(*array.List); list.IsValid(int(e.Row)) {
			from, to := list.ValueOffsets(int(e.Row))
			for row := from; row < to; row++ {
				values.at = append(values.at, Row{e.Batch, uint32(row)})
			}
		}
		offsets[i+1] = int32(len(values.at))
	}
	of, err := values.array()
	if err != nil {
		return nil, err
	}
	defer of.Release()
	valid, nulls := g.valid()
	if valid != nil {
		defer valid.Release()
	}
	buffers := []*memory.Buffer{valid, ends}
	data := array.NewData(g.from[0].DataType(), len(g.at), buffers, []arrow.ArrayData{of.Data()}, nulls, 0)
	defer data.Release()
	return array.NewListData(data), nil
}

// slices gathers values of any type, runs of neighbours at a time.
func (g *gathering) slices() (arrow.Array, error) {
	if len(g.at) == 0 {
		return array.NewSlice(g.from[0], 0, 0), nil
	}
	var parts []arrow.Array
	defer func() { recordreader.ReleaseAll(parts) }()
	for at := g.at; len(at) > 0; {
		first, n := at[0], 1
		for n < len(at) && at[n].Batch == first.Batch && at[n].Row == first.Row+uint32(n) {
			n++
		}
		parts = append(parts, array.NewSlice(g.from[first.Batch], int64(first.Row), int64(first.Row)+int64(n)))
		at = at[n:]
	}
	return array.Concatenate(parts, g.mem)
}

// fixed gathers values of `bits` bits each by a function that writes them to out.
func (g *gathering) fixed(bits int, fill func(g *gathering, out []byte)) arrow.Array {
	values := newBuffer(g.mem, (bits*len(g.at)+7)/8)
	fill(g, values.Bytes())
	return g.finish(values)
}

// views gathers views of the strings of the only array, which stay where they are.
func (g *gathering) views() arrow.Array {
	views := newBuffer(g.mem, arrow.ViewHeaderTraits.BytesRequired(len(g.at)))
	gatherWords[[2]uint64](g, views.Bytes())
	buffers := []*memory.Buffer{views}
	for _, strings := range g.from[0].Data().Buffers()[2:] {
		strings.Retain()
		buffers = append(buffers, strings)
	}
	return g.finish(buffers...)
}

// finish makes an array of buffers, which it takes over, and of the validity of the values.
func (g *gathering) finish(buffers ...*memory.Buffer) arrow.Array {
	valid, nulls := g.valid()
	buffers = append([]*memory.Buffer{valid}, buffers...)
	data := array.NewData(g.from[0].DataType(), len(g.at), buffers, nil, nulls, 0)
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

// valid returns the bits of the values that are not NULL, and the number of NULLs; no bits where
// there are none.
func (g *gathering) valid() (valid *memory.Buffer, nulls int) {
	if !slices.ContainsFunc(g.from, func(a arrow.Array) bool { return a.NullN() > 0 }) {
		return nil, 0
	}
	valid = newBuffer(g.mem, int(bitutil.BytesForBits(int64(len(g.at)))))
	bits := valid.Bytes()
	clear(bits)
	for i, e := range g.at {
		if g.from[e.Batch].IsNull(int(e.Row)) {
			nulls++
		} else {
			bitutil.SetBit(bits, i)
		}
	}
	return valid, nulls
}

func gatherWords[T uint8 | uint16 | uint32 | uint64 | [2]uint64 | [4]uint64](g *gathering, out []byte) {
	words := make([][]T, len(g.from))
	for i, a := range g.from {
		words[i] = rowdata.Values[T](a)
	}
	at, to := g.at, rowdata.View[T](out)
	for i := range at {
		to[i] = words[at[i].Batch][at[i].Row]
	}
}

func gatherBits(g *gathering, out []byte) {
	clear(out)
	for i, e := range g.at {
		if g.from[e.Batch].(*array.Boolean).Value(int(e.Row)) {
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
func gatherText[T int32 | int64](g *gathering) (arrow.Array, error) {
	sources := make([]texts[T], len(g.from))
	for i, a := range g.from {
		buffers := a.Data().Buffers()
		if buffers[1] != nil && buffers[1].Len() > 0 {
			sources[i].offsets = rowdata.View[T](buffers[1].Bytes())[a.Data().Offset():]
		}
		if buffers[2] != nil {
			sources[i].bytes = buffers[2].Bytes()
		}
	}
	at, total := g.at, int64(0)
	offsets := newBuffer(g.mem, int(unsafe.Sizeof(T(0)))*(len(at)+1))
	ends := rowdata.View[T](offsets.Bytes())
	ends[0] = 0
	for i := range at {
		s := &sources[at[i].Batch]
		total += int64(s.offsets[at[i].Row+1] - s.offsets[at[i].Row])
		ends[i+1] = T(total)
	}
	if int64(T(total)) != total || total > math.MaxInt {
		offsets.Release()
		return nil, fmt.Errorf("%w: %d rows have %d", ErrTooLarge, len(at), total)
	}
	text := newBuffer(g.mem, int(total))
	out := text.Bytes()
	for i := range at {
		s := &sources[at[i].Batch]
		from, end := int(s.offsets[at[i].Row]), int(s.offsets[at[i].Row+1])
		to := out[ends[i]:]
		if end-from <= textBlock && len(to) >= textBlock && len(s.bytes)-from >= textBlock {
			*(*[textBlock]byte)(to) = *(*[textBlock]byte)(s.bytes[from:]) // the next string replaces what is too much
			continue
		}
		copy(to, s.bytes[from:end])
	}
	return g.finish(offsets, text), nil
}

// textBlock is how many bytes of a short string are copied at once, whatever its length: that takes no call.
const textBlock = 16
