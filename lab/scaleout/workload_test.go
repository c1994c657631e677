package scaleout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*math.Abs(want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Would catch a formula that is off for few draws, for many, or for the intervals that stand for ranks.
func TestDistinct(t *testing.T) {
	near(t, "one draw", Distinct(1e6, 1, 0), 1, 1e-5)
	near(t, "as many draws as things", Distinct(1e10, 1e10, 0), 1e10*(1-math.Exp(-1)), 1e-9)
	near(t, "many draws", Distinct(100, 1e6, 0), 100, 1e-9)
	near(t, "few draws of many", Distinct(1e18, 1e6, 0), 1e6, 1e-6)
	if Distinct(0, 10, 0) != 0 || Distinct(10, 0, 1.2) != 0 {
		t.Error("nothing shows something")
	}
	for _, exponent := range []float64{0.5, 1, 1.5} {
		near(t, "all ranks", Distinct(50_000, 1e12, exponent), 50_000, 1e-3)
		sum := 0.0
		for i := 1.0; i <= 1e5; i++ {
			sum += math.Pow(i, -exponent)
		}
		near(t, "harmonic", harmonic(1e5, exponent), sum, 1e-4)
		near(t, "drawn", Distinct(1e5, 3e4, exponent), drawn(1e5, 3e4, exponent), 0.04)
	}
}

// drawn draws of a Zipf distribution, and counts what it has seen.
func drawn(n, draws int, exponent float64) float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	sums := make([]float64, n)
	total := 0.0
	for i := range sums {
		total += math.Pow(float64(i+1), -exponent)
		sums[i] = total
	}
	seen := make(map[int]bool)
	for range draws {
		at := rng.Float64() * total
		low, high := 0, n-1
		for low < high {
			if middle := (low + high) / 2; sums[middle] < at {
				low = middle + 1
			} else {
				high = middle
			}
		}
		seen[low] = true
	}
	return float64(len(seen))
}

// Would catch partitions that are taken to have equal numbers of few groups.
func TestFullest(t *testing.T) {
	near(t, "one partition", fullest(100, 1), 100, 0)
	near(t, "many groups", fullest(1e10, 2048), 1e10/2048, 1e-9)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ groups, partitions int }{{100, 64}, {100, 256}, {2, 64}, {5000, 64}} {
		var most []int
		for range 1001 {
			of := make([]int, c.partitions)
			for range c.groups {
				of[rng.IntN(c.partitions)]++
			}
			most = append(most, slices.Max(of))
		}
		slices.Sort(most)
		near(t, "drawn", fullest(float64(c.groups), float64(c.partitions)), float64(most[500]), 0.02)
	}
}

// Would catch a spread that shows more groups than there are, or than rows.
func TestGroupsIn(t *testing.T) {
	for _, w := range []Workload{{Groups: 1000, Spread: All}, {Groups: 1000}, {Groups: 1000, Spread: Zipf, Skew: 1.1}} {
		before := 0.0
		for rows := 1.0; rows < 1e9; rows *= 3 {
			n := w.groupsIn(rows)
			if n < before || n > min(w.Groups, rows)*(1+1e-9) {
				t.Errorf("spread %d: %g groups in %g rows, %g in fewer", w.Spread, n, rows, before)
			}
			before = n
		}
	}
	if hot := (&Workload{Groups: 3, Spread: Zipf, Skew: 1}).hotShare(); math.Abs(hot-6.0/11) > 1e-12 {
		t.Errorf("the first of three has %g", hot)
	}
}
