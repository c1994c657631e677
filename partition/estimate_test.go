package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestEstimateGroupsEdges(t *testing.T) {
	for _, c := range []struct {
		name                            string
		rows, groups, singletons, total int64
		wantEstimate, wantLow, wantHigh int64
	}{
		{"no rows", 0, 0, 0, 0, 0, 0, 0},
		{"no sample of one row", 0, 0, 0, 1, 1, 1, 1},
		{"no sample", 0, 0, 0, 10_000, 100, 1, 10_000},
		{"all rows", 1000, 10, 5, 1000, 10, 10, 10},
		{"one group", 1000, 1, 0, 1e9, 1, 1, 1},
		{"all distinct", 100, 100, 100, 10_000, 1000, 100, 10_000},
		{"some of both", 100, 60, 40, 10_000, 420, 60, 4020},
		{"rows beyond 2^53", 1, 1, 1, math.MaxInt64, 3_037_000_499, 1, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			estimate, low, high := EstimateGroups(c.rows, c.groups, c.singletons, c.total)
			if estimate != c.wantEstimate || low != c.wantLow || high != c.wantHigh {
				t.Errorf("%d in [%d, %d], want %d in [%d, %d]",
					estimate, low, high, c.wantEstimate, c.wantLow, c.wantHigh)
			}
		})
	}
}

// TestEstimateGroupsOrder proves that whatever the sample, the estimate is between its bounds and
// these between the groups seen and one more for each row unseen.
func TestEstimateGroupsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, math.MaxInt64).Draw(t, "total")
		rows := rapid.Int64Range(0, total).Draw(t, "rows")
		groups := rapid.Int64Range(min(rows, 1), rows).Draw(t, "groups")
		singletons := rapid.Int64Range(0, groups).Draw(t, "singletons")
		estimate, low, high := EstimateGroups(rows, groups, singletons, total)
		if low < groups || estimate < low || high < estimate || high > max(groups+total-rows, 0) {
			t.Fatalf("%d in [%d, %d]", estimate, low, high)
		}
	})
}

// TestEstimateGroupsOfSamples draws 1% of a million rows. It would catch an estimate that
// is worse than the ratio that GEE guarantees, or bounds that the truth leaves.
func TestEstimateGroupsOfSamples(t *testing.T) {
	const total, sample = 1_000_000, 10_000
	rng := rand.New(rand.NewPCG(17, 18))
	zipf := func(s float64, groups uint64) func(int) uint64 {
		z := rand.NewZipf(rng, s, 1, groups-1)
		return func(int) uint64 { return z.Uint64() }
	}
	uniform := func(groups uint64) func(int) uint64 {
		return func(int) uint64 { return rng.Uint64N(groups) }
	}
	for _, c := range []struct {
		name string
		key  func(row int) uint64
	}{
		{"one group", uniform(1)},
		{"uniform 100", uniform(100)},
		{"uniform 1e4", uniform(1e4)},
		{"uniform 1e6", uniform(1e6)},
		{"all distinct", func(row int) uint64 { return uint64(row) }},
		{"zipf 1.1", zipf(1.1, 1e6)},
		{"zipf 2", zipf(2, 1e6)},
		{"half one group, half distinct", func(row int) uint64 { return uint64(row%2) * uint64(row) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := make([]uint64, total)
			truth := map[uint64]int{}
			for i := range keys {
				keys[i] = c.key(i)
				truth[keys[i]]++
			}
			rng.Shuffle(total, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			seen := map[uint64]int{}
			for _, k := range keys[:sample] {
				seen[k]++
			}
			singletons := 0
			for _, n := range seen {
				if n == 1 {
					singletons++
				}
			}
			estimate, low, high := EstimateGroups(sample, int64(len(seen)), int64(singletons), total)
			groups := float64(len(truth))
			t.Logf("%.0f groups: estimate %d in [%d, %d]", groups, estimate, low, high)
			ratio := max(float64(estimate)/groups, groups/float64(estimate))
			if ratio > math.Sqrt(total/sample)*1.05 {
				t.Errorf("wrong by a factor of %.1f", ratio)
			}
			if groups < float64(low) || groups > 1.05*float64(high) {
				t.Errorf("the truth is not between the bounds")
			}
		})
	}
}

// Would catch an estimate that is off where groups have equal sizes, or that leaves its bounds.
func TestEqualGroups(t *testing.T) {
	for _, groups := range []int64{1, 10, 1000, 100_000, 1_000_000} {
		const rows, total = 20_000, 10_000_000
		rng := rand.New(rand.NewPCG(1, uint64(groups)))
		seen := map[int64]bool{}
		for range rows {
			seen[rng.Int64N(groups)] = true
		}
		got := EqualGroups(rows, int64(len(seen)), total)
		if ratio := float64(got) / float64(groups); ratio < 0.7 || ratio > 1.4 {
			t.Errorf("%d groups: estimated %d", groups, got)
		}
	}
	if got := EqualGroups(500, 500, 9000); got != 9000 {
		t.Errorf("no group twice: estimated %d of 9000 rows", got)
	}
	if got := EqualGroups(0, 0, 0); got != 1 {
		t.Errorf("nothing: estimated %d", got)
	}
}
