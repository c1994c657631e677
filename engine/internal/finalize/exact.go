package finalize

import (
	"math"
	"math/bits"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/rowdata"
)

// Results of exact folds. Each is a quotient of integers, times a power of two, that is rounded
// once, to the nearest double, ties to even. For stddev, skewness and corr the quotient is the
// square of the result, which is the root of the rounded quotient. So results depend on the values
// only. F1. A sum of zeros of either sign is 0.

// exact finalizes an aggregate from a state of an exact fold.
func (s *finalStates) exact(i int) (v float64, ok bool) {
	state := s.state(i)
	switch f := s.out.Aggregate.Func; f {
	case query.Sum:
		if s.counts != nil && s.counts[i] == 0 {
			return 0, false
		}
		return exactQuotient(state, 1), true
	case query.Avg:
		if s.counts[i] == 0 {
			return 0, false
		}
		return exactQuotient(state, s.counts[i]), true
	case query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop:
		return s.integers.variance(f, state)
	case query.Skewness, query.Kurtosis:
		return s.integers.shape(f, state)
	default:
		return s.integers.comoment(f, state)
	}
}

// exactQuotient divides the sum of a FoldExactSum by n.
func exactQuotient(state []uint64, n uint64) float64 {
	switch state[0] & rowdata.ExactSpecial {
	case 0:
	case rowdata.ExactPlus:
		return math.Inf(1)
	case rowdata.ExactMinus:
		return math.Inf(-1)
	default:
		return math.NaN()
	}
	sum, exponent := rowdata.FoldExactSum.ExactSum(state, 0)
	var buf [40]uint64
	// Two more words give a quotient of at least 64 bits.
	quotient := buf[:len(sum)+2]
	negative := int64(sum[len(sum)-1]) < 0
	borrow := uint64(0)
	for i, w := range sum {
		if negative {
			w, borrow = bits.Sub64(0, w, borrow)
		}
		quotient[i+2] = w
	}
	var remainder uint64
	if n > 1 {
		for i := len(quotient) - 1; i >= 0; i-- {
			quotient[i], remainder = bits.Div64(remainder, quotient[i], n)
		}
	}
	v := roundWords(quotient, exponent-128, remainder != 0)
	if negative {
		return -v
	}
	return v
}

// roundWords returns the double nearest to an unsigned integer times 2^exponent, ties to even. more
// says that the number is a little larger than the integer, which then has at least 64 bits.
func roundWords(words []uint64, exponent int, more bool) float64 {
	top := len(words) - 1
	for top >= 0 && words[top] == 0 {
		top--
	}
	if top < 0 {
		return 0
	}
	shift := bits.LeadingZeros64(words[top])
	lead := words[top] << shift
	if top > 0 {
		lead |= words[top-1] >> 1 >> (63 - shift)
		more = more || words[top-1]<<shift != 0
	}
	for i := 0; i < top-1 && !more; i++ {
		more = words[i] != 0
	}
	return digits.RoundLead(lead, exponent+64*top-shift, more)
}
