package finalize

import (
	"math"
	"math/big"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// sums finalizes sums to the result's type, exactly.
func (s *finalStates) sums() (*vector.Vector, error) {
	if s.fold.Kind == rowdata.FoldSumFloat {
		return s.words(rowdata.Float64), nil
	}
	kind := rowdata.Int64
	if s.out.Type.ID() == arrow.DECIMAL128 {
		kind = rowdata.Int128
	}
	wrap := s.Bound.Query.Overflow == query.OverflowWrap && s.out.Type.ID() == arrow.INT64 // not a duration
	v := &vector.Vector{Kind: kind, Words: make([]uint64, s.n*kind.Words())}
	if kind == rowdata.Int64 && s.counts == nil && narrowSums(v.Words, s.states[:s.n*s.fold.Words]) {
		return v, nil
	}
	for i := range s.n {
		state := s.state(i)
		switch {
		case s.counts != nil && s.counts[i] == 0:
			v.SetNull(i)
		case kind == rowdata.Int128:
			if !fitsDecimal(state) {
				return nil, &groupOverflow{i, digits.Integer(state)}
			}
			v.Words[2*i], v.Words[2*i+1] = state[0], state[1]
		default:
			if state[1] != uint64(int64(state[0])>>63) && !wrap {
				return nil, &groupOverflow{i, digits.Integer(state)}
			}
			v.Words[i] = state[0]
		}
	}
	return v, nil
}

// narrowSums narrows sums of two words to one, and reports whether all of them fit.
func narrowSums(words, sums []uint64) bool {
	if len(sums) != 2*len(words) {
		return false
	}
	pairs := unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(sums))), len(words))
	var wide uint64
	for i := range pairs {
		words[i] = pairs[i][0]
		wide |= pairs[i][1] ^ uint64(int64(pairs[i][0])>>63)
	}
	return wide == 0
}

// decimalLimit is 10^38: a decimal of 38 digits stays below it.
var decimalLimit = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)

// fitsDecimal reports whether a sum of two or three words has at most 38 digits.
func fitsDecimal(sum []uint64) bool {
	const safe = 1 << 61 // the high word of a number below 2^125, which is below 10^38
	high := sum[1]
	if len(sum) == 2 || sum[2] == uint64(int64(high)>>63) {
		if int64(high) >= -safe && int64(high) < safe {
			return true
		}
	}
	v := digits.Integer(sum)
	return v.CmpAbs(decimalLimit) < 0
}

// average divides a group's exact sum by its count.
func (s *finalStates) average(i int) (float64, bool) {
	if s.counts[i] == 0 {
		return 0, false
	}
	state := s.state(i)
	if s.fold.Kind == rowdata.FoldSumFloat {
		return math.Float64frombits(state[0]) / float64(s.counts[i]), true
	}
	return digits.Mean(state, s.counts[i], s.out.Column.Scale()), true
}
