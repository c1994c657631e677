package finalize

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// This file finalizes the state of one group whose elements are in sorted runs, since they have
// outgrown the memory. It takes the elements one by one, in order, and holds nothing but the
// result.

// merged finalizes the runs of the only group of s.
func (s *finalStates) merged(ctx context.Context, runs *cpuagg.SortedRuns) (arrow.Array, error) {
	n, bytes, err := s.runSize(ctx, runs)
	if err != nil {
		return nil, err
	}
	elements := &elementReader{states: s, ctx: ctx, runs: runs, n: int(min(n, int64(s.elementsMax()))), bytes: bytes}
	switch s.out.Aggregate.Func {
	case query.MinN, query.MaxN, query.List:
		return elements.list()
	case query.StringAgg:
		return elements.joined()
	case query.CountDistinct:
		return (&vector.Vector{Kind: rowdata.Int64, Words: []uint64{uint64(n)}}).Array(s.Allocator, s.out.Type)
	case query.Median, query.QuantileCont:
		return s.mergedQuantile(ctx, runs, int(n))
	case query.QuantileDisc:
		return s.mergedElement(ctx, runs, discIndex(int(n), s.out.Aggregate.Fraction, s.out.Aggregate.Descending))
	}
	return s.mergedMode(ctx, runs)
}

// mergedQuantile finalizes median and quantile_cont of n elements.
func (s *finalStates) mergedQuantile(ctx context.Context, runs *cpuagg.SortedRuns, n int) (arrow.Array, error) {
	v := s.quantileVector()
	low, d := s.quantileIndex(n)
	scratch := make([]uint64, 2)
	var a uint64
	i := 0
	for element, err := range runs.Elements(ctx) {
		if err != nil {
			return nil, err
		}
		if i == low {
			a = s.element(element, scratch)
		}
		if i == low && d == 0 || i == low+1 {
			v.Words[0] = interpolate(a, s.element(element, scratch), d, v.Kind == rowdata.Int64)
			break
		}
		i++
	}
	return v.Array(s.Allocator, s.out.Type)
}

// mergedElement finalizes quantile_disc.
func (s *finalStates) mergedElement(ctx context.Context, runs *cpuagg.SortedRuns, k int) (arrow.Array, error) {
	i := 0
	for element, err := range runs.Elements(ctx) {
		if err != nil {
			return nil, err
		}
		if i == k {
			return s.chosenElement(element)
		}
		i++
	}
	return nil, fmt.Errorf("element %d of %d is missing: %w", k, runs.Len(), scan.ErrCorrupt)
}

// chosenElement makes an array of one value, in the Ordered encoding.
func (s *finalStates) chosenElement(element []uint64) (arrow.Array, error) {
	kind := s.out.Column.Kind
	v := &vector.Vector{Kind: kind, Words: slices.Clone(element[:kind.Words()])}
	encode.UnorderValue(v.Words, kind)
	return v.Array(s.Allocator, s.out.Type)
}

// mergedMode finalizes mode, as mode does of elements in memory.
func (s *finalStates) mergedMode(ctx context.Context, runs *cpuagg.SortedRuns) (arrow.Array, error) {
	var heap rowdata.Heap // of the best value
	defer heap.Reset()
	w := s.fold.ElementWords
	best := make([]uint64, w) // of no rows
	for e, err := range runs.Elements(ctx) {
		if err != nil {
			return nil, err
		}
		rows, position := e[w-2], e[w-1]
		if rows < best[w-2] || rows == best[w-2] && position > best[w-1] {
			continue
		}
		if s.fold.Long {
			text := rowdata.AsBytes2(best[:2])
			heap.Replace(text, rowdata.AsBytes2(e[:2]))
			copy(best[2:], e[2:])
		} else {
			copy(best, e)
		}
	}
	return s.chosenElement(best)
}

// elementReader makes an array of the first n elements of runs.
type elementReader struct {
	states *finalStates
	ctx    context.Context // of reading
	runs   *cpuagg.SortedRuns
	n      int
	bytes  int64 // of the strings of all elements of runs
}

// each calls a function with the elements, in the natural encoding.
func (r *elementReader) each(f func(element []uint64)) error {
	kind, left := r.states.out.Column.Kind, r.n
	for element, err := range r.runs.Elements(r.ctx) {
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		left--
		if r.states.fold.Kind != rowdata.FoldCollect {
			encode.UnorderValue(element, kind)
		}
		f(element)
	}
	return nil
}

// list makes an array of one list of the elements.
func (r *elementReader) list() (arrow.Array, error) {
	if r.n > math.MaxInt32 {
		return nil, vector.ErrTooLarge
	}
	dt := r.states.out.Type.(*arrow.ListType)
	child, err := r.array(dt.Elem())
	if err != nil {
		return nil, err
	}
	defer child.Release()
	offsets := vector.NewBuffer(r.states.Allocator, 2*4)
	rowdata.View[int32](offsets.Bytes())[1] = int32(r.n)
	return vector.NewArray(dt, 1, []arrow.ArrayData{child.Data()}, nil, offsets), nil
}

// joined makes an array of one string, of all elements.
func (r *elementReader) joined() (arrow.Array, error) {
	separator := r.states.out.Aggregate.Separator
	bytes := r.bytes + int64(r.n-1)*int64(len(separator))
	if bytes > math.MaxInt32 {
		return nil, errStringTooLong
	}
	return mergedOffsets[int32](r, r.states.out.Type, 1, bytes, separator)
}

// array makes an array of the elements.
func (r *elementReader) array(dt arrow.DataType) (arrow.Array, error) {
	s := r.states
	switch dt.ID() {
	case arrow.STRING, arrow.BINARY:
		if r.bytes > math.MaxInt32 {
			return nil, vector.ErrTooLarge
		}
		return mergedOffsets[int32](r, dt, r.n, r.bytes, "")
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return mergedOffsets[int64](r, dt, r.n, r.bytes, "")
	}
	if s.out.Column.Kind != rowdata.Bytes {
		return r.fixed(dt)
	}
	const viewBytes = 16
	if err := s.Room(int64(r.n)*viewBytes + r.bytes); err != nil {
		return nil, err
	}
	b := array.NewBuilder(s.Allocator, dt)
	defer b.Release()
	b.Reserve(r.n)
	if err := r.each(func(element []uint64) { vector.AppendBytes(b, rowdata.AsBytes2(element[:2]).Bytes()) }); err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

// fixed makes an array of a fixed-width type, some elements at a time.
func (r *elementReader) fixed(dt arrow.DataType) (arrow.Array, error) {
	const someElements = 1 << 12 // fill whole bytes of booleans
	s := r.states
	bits := dt.(arrow.FixedWidthDataType).BitWidth()
	bytes := bitutil.BytesForBits(int64(r.n) * int64(bits))
	if err := s.Room(bytes); err != nil {
		return nil, err
	}
	values := vector.NewBuffer(s.Allocator, int(bytes))
	w := s.out.Column.Kind.Words()
	v := &vector.Vector{Kind: s.out.Column.Kind, Words: make([]uint64, 0, someElements*w)}
	at := 0
	flush := func() {
		v.Fill(values.Bytes()[at:], dt.ID())
		at += v.Len() * bits / 8
		v.Words = v.Words[:0]
	}
	err := r.each(func(element []uint64) {
		v.Words = append(v.Words, element[:w]...)
		if len(v.Words) == someElements*w {
			flush()
		}
	})
	if err != nil {
		values.Release()
		return nil, err
	}
	flush()
	return vector.NewArray(dt, r.n, nil, nil, values), nil
}

// mergedOffsets makes an array of n strings, or of one string, with a separator between the
// elements.
func mergedOffsets[T int32 | int64](r *elementReader, dt arrow.DataType, n int, bytes int64, separator string) (
	arrow.Array, error,
) {
	var t T
	offsetBytes := (n + 1) * int(unsafe.Sizeof(t))
	if err := r.states.Room(bytes + int64(offsetBytes)); err != nil {
		return nil, err
	}
	offsets, data := vector.NewBuffer(r.states.Allocator, offsetBytes), vector.NewBuffer(r.states.Allocator, int(bytes))
	ends, out := rowdata.View[T](offsets.Bytes()), data.Bytes()
	at, row := 0, 0
	err := r.each(func(element []uint64) {
		if row > 0 {
			at += copy(out[at:], separator)
		}
		at += copy(out[at:], rowdata.AsBytes2(element[:2]).Bytes())
		row++
		ends[min(row, n)] = T(at)
	})
	if err != nil {
		offsets.Release()
		data.Release()
		return nil, err
	}
	data.Resize(at)
	return vector.NewArray(dt, n, nil, nil, offsets, data), nil
}
