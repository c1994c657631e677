package finalize

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/rowdata"
)

// This file finalizes aggregates of distinct values whose result is made by a fold over the
// elements of a set. A set has its values in no order: they are sorted first, so that the same
// values give the same bits.

// setBatch is how many elements of a set are folded at a time.
const setBatch = 1 << 10

// setFold folds the elements of sets into states of the fold that the function has of rows.
type setFold struct {
	of     *rowdata.SetFold
	column *rowdata.Column // of the elements
	pairs  bool            // the elements are pairs of doubles
	refold *cpuagg.Refold  // the states, by group
	counts []uint64        // elements, by group

	values, others []uint64    // of a batch, in the natural encoding; of pairs the first and the second values
	bufs           [3][]uint64 // of a batch: values in the encodings of of
}

func (s *finalStates) newSetFold() *setFold {
	return &setFold{of: s.out.Of, column: &s.out.Column, pairs: s.out.Aggregate.Func.Args() == 2,
		refold: cpuagg.NewRefold(&s.out.Of.Fold, s.n), counts: make([]uint64, s.n)}
}

// add folds elements, of w words each, into a group's state.
func (f *setFold) add(group int, elements []uint64, w int) {
	for batch := range slices.Chunk(elements, setBatch*w) {
		n := len(batch) / w
		f.counts[group] += uint64(n)
		if f.pairs {
			f.decodePairs(batch)
			f.refold.Add(group, n, [3][]uint64{f.values, f.others})
			continue
		}
		f.values = append(f.values[:0], batch...)
		for at := 0; at < len(f.values); at += w {
			encode.UnorderValue(f.values[at:at+w], f.column.Kind)
		}
		var inputs [3][]uint64
		for i, encoding := range f.of.Encodings {
			inputs[i] = encode.Values(f.values, n, encoding, f.column, &f.bufs[i])
		}
		f.refold.Add(group, n, inputs)
	}
}

// decodePairs writes the doubles of pairs to values and others.
func (f *setFold) decodePairs(pairs []uint64) {
	f.values, f.others = f.values[:0], f.others[:0]
	for at := 0; at < len(pairs); at += 2 {
		f.values = append(f.values, encode.Unorder(pairs[at+1], rowdata.Float64))
		f.others = append(f.others, encode.Unorder(pairs[at], rowdata.Float64))
	}
}

// finalize makes the column of the states.
func (f *setFold) finalize(s *finalStates) (arrow.Array, error) {
	plain, out := *s, *s.out
	out.Of, out.Aggregate.Distinct = nil, false
	plain.out, plain.fold, plain.states, plain.counts = &out, &f.of.Fold, f.refold.States(), f.counts
	v, err := plain.vector()
	if err != nil {
		return nil, err
	}
	return v.Array(s.Allocator, s.out.Type)
}

// ofSets finalizes an aggregate over sets in memory.
func (s *finalStates) ofSets() (arrow.Array, error) {
	f := s.newSetFold()
	defer f.refold.Release()
	for i := range s.n {
		elements := s.fold.Elements(s.state(i))
		sortTop(s.fold, elements)
		f.add(i, elements, s.fold.ElementWords)
	}
	return f.finalize(s)
}

// mergedSet finalizes an aggregate over the only set of s, which is in runs.
func (s *finalStates) mergedSet(ctx context.Context, runs *cpuagg.SortedRuns) (arrow.Array, error) {
	f := s.newSetFold()
	defer f.refold.Release()
	w := s.fold.ElementWords
	batch := make([]uint64, 0, setBatch*w)
	for element, err := range runs.Elements(ctx) {
		if err != nil {
			return nil, err
		}
		if batch = append(batch, element[:w]...); len(batch) == cap(batch) {
			f.add(0, batch, w)
			batch = batch[:0]
		}
	}
	f.add(0, batch, w)
	return f.finalize(s)
}

// runSize returns how many elements runs have, and how many bytes their strings. Two runs of a set
// may share elements, which are read to be counted.
func (s *finalStates) runSize(ctx context.Context, runs *cpuagg.SortedRuns) (elements, bytes int64, err error) {
	if s.fold.Kind != rowdata.FoldDistinct {
		return runs.Len(), runs.Bytes(), nil
	}
	for element, err := range runs.Elements(ctx) {
		if err != nil {
			return 0, 0, err
		}
		if elements++; s.fold.Long {
			bytes += int64(rowdata.AsBytes2(element[:2]).Len())
		}
	}
	return elements, bytes, nil
}
