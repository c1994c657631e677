package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestSizeKnown holds both bounds against numbers computed apart: Theorem 1 by its formula,
// the tail by summing the binomial distribution, which a bound may exceed by a hair.
func TestSizeKnown(t *testing.T) {
	for _, c := range []struct {
		groups, k      int64
		p              float64
		theorem, exact int64
	}{
		{100, 10, 1e-2, 66, 40},
		{1000, 100, 1e-3, 31, 15},
		{1000, 999, 1e-2, 3, 2},
		{1000, 1000, 1e-2, 3, 2},
		{1e6, 1e3, 1e-6, 2779, 1218},
		{1e6, 2, 1e-2, 184_726_402_473_266, 49_999_949_319_254},
		{1e9, 1e6, 1e-6, 2719, 1007},
		{1e9, 1e4, 1e-9, 272_734, 108_073},
		{1e10, 1e8, 1e-6, 272, 101},
		{1e12, 1e9, 1e-6, 2719, 1001},
	} {
		s, err := Size(c.groups, c.k, c.p)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0e groups, k = %.0e, p = %.0e: theorem %d, tail %d, exact %d",
			float64(c.groups), float64(c.k), c.p, s.Theorem, s.Tail, c.exact)
		if relative := math.Abs(float64(s.Theorem)/float64(c.theorem) - 1); relative > 1e-12 {
			t.Errorf("theorem %d, want %d", s.Theorem, c.theorem)
		}
		if s.Tail < c.exact || float64(s.Tail) > 1.005*float64(c.exact)+1 {
			t.Errorf("tail %d, want at least %d and hardly more", s.Tail, c.exact)
		}
		if s.Partitions != s.Tail {
			t.Errorf("partitions %d, want %d", s.Partitions, s.Tail)
		}
	}
}

func TestSizeEdges(t *testing.T) {
	for _, c := range []struct {
		groups, k int64
		want      Sizing
	}{
		{0, 2, Sizing{1, 1, 1}},
		{1, 2, Sizing{1, 1, 1}},
		{9, 10, Sizing{1, 1, 1}},
		{math.MaxInt64 - 1, math.MaxInt64, Sizing{1, 1, 1}},
		{2, 2, Sizing{739, 100, 100}}, // e^2 / p, and 1 / p
		{math.MaxInt64, 2, Sizing{math.MaxInt64, math.MaxInt64, math.MaxInt64}},
	} {
		if got, err := Size(c.groups, c.k, 0.01); err != nil || got != c.want {
			t.Errorf("Size(%d, %d) = %+v, %v, want %+v", c.groups, c.k, got, err, c.want)
		}
	}
	for _, c := range []struct {
		k int64
		p float64
	}{{1, 0.5}, {0, 0.5}, {-5, 0.5}, {10, 0}, {10, 1}, {10, -1}, {10, math.NaN()}} {
		if _, err := Size(100, c.k, c.p); err == nil {
			t.Errorf("k = %d, p = %g: no error", c.k, c.p)
		}
	}
}

func TestSizingRadix(t *testing.T) {
	for partitions, want := range map[int64]Radix{
		0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 1024: 10, 1025: 11, 2048: 11,
		2049: RadixBitsMax, math.MaxInt64: RadixBitsMax,
	} {
		if got := (Sizing{Partitions: partitions}).Radix(); got != want {
			t.Errorf("%d partitions: radix %d, want %d", partitions, got, want)
		}
	}
}

// TestSizeHolds would catch a bound that promises too much: the exact probability that one
// partition reaches k, times their number, is at most p; and it would catch one that wastes
// more than two and a tenth of them.
func TestSizeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(2, 3000).Draw(t, "groups")
		k := rapid.Int64Range(2, n).Draw(t, "k")
		p := math.Pow(10, -rapid.Float64Range(0.3, 12).Draw(t, "-log10 p"))
		s, err := Size(n, k, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(s.Tail) * binomialTail(n, k, s.Tail); got > p*(1+1e-9) {
			t.Fatalf("%d partitions fail with probability %g, more than %g", s.Tail, got, p)
		}
		if s.Tail > s.Theorem {
			t.Fatalf("tail %d is above theorem %d", s.Tail, s.Theorem)
		}
		if fewer := s.Tail - s.Tail/10 - 2; fewer > 1 && float64(fewer)*binomialTail(n, k, fewer) <= p {
			t.Fatalf("%d partitions, where %d are enough", s.Tail, fewer)
		}
	})
}

// binomialTail is Pr[Bin(n, 1/m) >= k], summed.
func binomialTail(n, k, m int64) float64 {
	if m == 1 {
		return 1
	}
	logQ, logRest := -math.Log(float64(m)), math.Log1p(-1/float64(m))
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += math.Exp(logChoose(n, i) + float64(i)*logQ + float64(n-i)*logRest)
	}
	return sum
}

func logChoose(n, k int64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func TestSizeIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(2, 1e15).Draw(t, "groups")
		k := rapid.Int64Range(3, 1e12).Draw(t, "k")
		p := math.Pow(10, -rapid.Float64Range(0.5, 12).Draw(t, "-log10 p"))
		size := func(n, k int64, p float64) Sizing {
			s, err := Size(n, k, p)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := size(n, k, p)
		for name, more := range map[string]Sizing{
			"more groups":        size(n+n/7+1, k, p),
			"a smaller bound":    size(n, k-k/7-1+k%2, p),
			"a smaller chance":   size(n, k, p/3),
			"groups beyond 2^53": size(n+1<<60, k, p),
		} {
			if more.Tail < s.Tail || more.Theorem < s.Theorem {
				t.Errorf("%s: %+v, after %+v", name, more, s)
			}
		}
		if s.Tail > s.Theorem || s.Tail < n/k {
			t.Errorf("%+v for %d groups below %d", s, n, k)
		}
	})
}

// TestSizeAgainstTrials throws balls into bins. It would catch a misreading of k: a partition
// fails with k groups, not with k+1.
func TestSizeAgainstTrials(t *testing.T) {
	const trials, p = 4000, 0.05
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct{ groups, k int64 }{{50, 3}, {200, 20}, {1000, 100}, {2000, 50}} {
		s, err := Size(c.groups, c.k, p)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for range trials {
			if largestBin(rng, c.groups, s.Partitions) >= c.k {
				failed++
			}
		}
		t.Logf("%d groups in %d partitions: %d of %d trials reach %d", c.groups, s.Partitions, failed, trials, c.k)
		if limit := trials*p + 4*math.Sqrt(trials*p*(1-p)); float64(failed) > limit {
			t.Errorf("more than %.0f", limit)
		}
		if failed == 0 {
			t.Errorf("none: the bound is far from tight")
		}
	}
}

func largestBin(rng *rand.Rand, balls, bins int64) int64 {
	counts := make([]int64, bins)
	largest := int64(0)
	for range balls {
		bin := rng.Int64N(bins)
		counts[bin]++
		largest = max(largest, counts[bin])
	}
	return largest
}
