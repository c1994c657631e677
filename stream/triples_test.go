package stream

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Would catch a formula that has another root, and triples without a pair that are taken for one group.
func TestTripleGroups(t *testing.T) {
	const triples = 1 << 24
	for _, n := range []float64{2, 3, 10, 100, 1000, 10_000} {
		pairs := int64(math.Round(triples * 3 * (n - 1) / (n * n)))
		same := int64(triples / (n * n))
		if got := float64(tripleGroups(triples, same, pairs)); math.Abs(got-n) > .01*n {
			t.Errorf("%g groups: %g", n, got)
		}
	}
	for _, c := range []struct{ triples, same, pairs, want int64 }{
		{1000, 1000, 0, 1}, {1000, 0, 0, math.MaxInt64}, {1000, 0, 900, 2}, {1000, 400, 600, 4},
	} {
		if got := tripleGroups(c.triples, c.same, c.pairs); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 { // any counts make a number of groups
		of := 1 + rng.Int64N(1000)
		same := rng.Int64N(of + 1)
		pairs := rng.Int64N(of - same + 1)
		if got := tripleGroups(of, same, pairs); got < 1 || pairs > 0 && got > 3*of {
			t.Errorf("%d triples: %d groups", of, got)
		}
	}
}

// Would catch a table that is begun again with as few slots, or with more than there are rows for.
func TestMoreGroups(t *testing.T) {
	for _, c := range []struct {
		groups, overflow      uint64
		expected, rows, wants int64
	}{
		{100, 900, 40, 1000, 1000}, {100, 500, 40, 1000, 200}, {100, 0, 40, 1000, 100}, {90, 10, 60, 1000, 120}, {0, 1000, 10, 1000, 20},
	} {
		s := kernels.GroupsStatus{Groups: c.groups, Overflow: c.overflow}
		if got := moreGroups(s, c.expected, c.rows); got != c.wants {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Would catch a table that is used though it is too full, or begun again though it is not.
func TestChenFull(t *testing.T) {
	plan := kernels.Plan{Slots: 100}
	for _, c := range []struct {
		status kernels.GroupsStatus
		want   bool
	}{
		{kernels.GroupsStatus{Groups: 75}, false}, {kernels.GroupsStatus{Groups: 76}, true},
		{kernels.GroupsStatus{Groups: 10, Overflow: 1}, true},
	} {
		if got := isChenFull(c.status, plan); got != c.want {
			t.Errorf("%+v: %t", c.status, got)
		}
	}
}
