package partition

import (
	"fmt"
	"math"
	"math/bits"
)

// Sizing says how many partitions a number of groups needs, by two bounds. Both see the groups
// as balls that a hash throws into bins, one bin per partition. A bound beyond int64 is
// math.MaxInt64.
type Sizing struct {
	Theorem    int64 // Theorem 1 of Wang, Shen and Lei, Applied Sciences 2025, section 4.2.1
	Tail       int64 // by the tail of the binomial distribution
	Partitions int64 // the smaller of the two
}

// Size returns how many partitions keep every partition below k groups with probability 1-p at
// least. It fails if k is below 2, which leaves no room for a group, or if p is not in (0, 1).
func Size(groups, k int64, p float64) (Sizing, error) {
	if k < 2 {
		return Sizing{}, fmt.Errorf("bound of groups per partition (%d) must be at least 2", k)
	}
	if !(p > 0 && p < 1) {
		return Sizing{}, fmt.Errorf("probability of too large a partition (%g) must be in (0, 1)", p)
	}
	if groups < k {
		return Sizing{Theorem: 1, Tail: 1, Partitions: 1}, nil
	}
	s := Sizing{Theorem: theoremBound(groups, k, p), Tail: tailBound(groups, k, p)}
	s.Partitions = min(s.Theorem, s.Tail)
	return s, nil
}

// Radix returns the smallest fan-out that is not below Partitions, or the largest fan-out of a
// pass: then partitions will have to be split again.
func (s Sizing) Radix() Radix {
	return Radix(min(bits.Len64(uint64(max(s.Partitions, 1)-1)), RadixBitsMax))
}

// theoremBound is m0 of Theorem 1. For large k it is about e n / k, as the factorial of k is
// bounded by Stirling and the bins that overflow by a union over all subsets of k balls.
//
// Requires: 2 <= k <= groups, and p in (0, 1).
func theoremBound(groups, k int64, p float64) int64 {
	n, kf := float64(groups), float64(k)
	m0 := math.Exp((kf*(math.Log(n/kf)+1) - math.Log(p)) / (kf - 1))
	if m0 >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Ceil(m0))
}

// tailBound is the smallest m for which m times a bound of Pr[Bin(n, 1/m) >= k] is at most p.
// It is never above Theorem 1, whose proof is a union over the same m events with a weaker
// bound of each, and tends to n / k as k grows.
//
// Requires: 2 <= k <= groups, and p in (0, 1).
func tailBound(groups, k int64, p float64) int64 {
	n, kf, logP := float64(groups), float64(k), math.Log(p)
	enough := func(m int64) bool {
		return math.Log(float64(m))+logTail(n, kf, float64(m)) <= logP
	}
	// At n / k partitions the mean is k, which is too few. The product falls from there on.
	low := groups / k
	high := low
	for !enough(high) {
		if high > math.MaxInt64/2 {
			return math.MaxInt64
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// logTail bounds the logarithm of Pr[Bin(n, 1/m) >= k] from above, by
//
//	exp(-n D) sqrt(n / (2 pi k (n-k))) exp(1/(12n) - 1/(12k+1) - 1/(12(n-k)+1)) / (1 - r)
//
// where D is the Kullback-Leibler divergence of k/n from 1/m. All but the last factor bound the
// probability of k itself, with Robbins' form of Stirling's formula. The probability of k+1 is
// r times that of k, and the ratios fall from there: a geometric series bounds their sum. The
// first factor alone is Chernoff's bound, which is the better one for k next to the mean.
// Where the mean n/m reaches k, the bound is 1.
func logTail(n, k, m float64) float64 {
	// Of k over the mean n/m, times m; rounded once, for the two are close when k is large.
	excess := math.FMA(k, m, -n)
	if excess <= 0 {
		return 0
	}
	if k == n {
		return -n * math.Log(m)
	}
	chernoff := -k*math.Log1p(excess/n) - (n-k)*math.Log1p(-excess/(n*(m-1)))
	stirling := 1/(12*n) - 1/(12*k+1) - 1/(12*(n-k)+1) - math.Log(2*math.Pi*k*(1-k/n))/2
	r := (n - k) / ((k + 1) * (m - 1))
	return chernoff + min(stirling-math.Log1p(-r), 0)
}
