package partition

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int64
		limit int64
		want  [][]int
	}{
		{"no partitions", nil, 10, nil},
		{"only empty ones", []int64{0, 0, 0}, 10, nil},
		{"one", []int64{7}, 10, [][]int{{0}}},
		{"one at the limit", []int64{10}, 10, [][]int{{0}}},
		{"one above the limit", []int64{11}, 10, [][]int{{0}}},
		{"two that fit exactly", []int64{4, 6}, 10, [][]int{{0, 1}}},
		{"two that do not", []int64{4, 7}, 10, [][]int{{0}, {1}}},
		{"all in one set", []int64{1, 2, 3, 4}, 10, [][]int{{0, 1, 2, 3}}},
		{"empty ones between", []int64{0, 5, 0, 5, 0}, 10, [][]int{{1, 3}}},
		{"a large one beside small ones", []int64{1, 100, 1}, 10, [][]int{{0, 2}, {1}}},
		{"equal sizes", []int64{4, 4, 4, 4}, 8, [][]int{{0, 1}, {2, 3}}},
		{"no room at all", []int64{1, 2}, 0, [][]int{{0}, {1}}},
		{"sums beyond int64", []int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64, [][]int{{0}, {1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Merge(c.sizes, c.limit)
			if !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
				t.Errorf("Merge(%v, %d) = %v, want %v", c.sizes, c.limit, got, c.want)
			}
		})
	}
}

// Sets of neighbours have each partition once, in order, none above the limit but a single partition, and no two that
// follow each other would fit together.
func TestMergeNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 120), 0, 300).Draw(t, "sizes")
		limit := rapid.Int64Range(1, 400).Draw(t, "limit")
		var all []int
		before := int64(math.MaxInt64 / 2)
		for _, set := range MergeNeighbours(sizes, limit) {
			sum := int64(0)
			for _, i := range set {
				sum += sizes[i]
			}
			if sum > limit && len(set) > 1 {
				t.Fatalf("set %v has size %d", set, sum)
			}
			if before+sizes[set[0]] <= limit {
				t.Fatalf("%d and partition %d of %d fit together", before, set[0], sizes[set[0]])
			}
			all, before = append(all, set...), sum
		}
		var want []int
		for i, size := range sizes {
			if size > 0 {
				want = append(want, i)
			}
		}
		if !slices.Equal(all, want) {
			t.Fatalf("partitions %v, want %v", all, want)
		}
	})
	equal := slices.Repeat([]int64{100, 103, 98, 101}, 64)
	if near, any := MergeNeighbours(equal, 520), Merge(equal, 520); len(near) > len(any) {
		t.Errorf("%d sets of neighbours, %d of any", len(near), len(any))
	}
}

// TestMergeSets proves what Merge promises of any sizes: each partition once, no set above the
// limit but a single partition, and no two sets that would fit together.
func TestMergeSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 120), 0, 300).Draw(t, "sizes")
		limit := rapid.Int64Range(1, 400).Draw(t, "limit")
		seen := make([]bool, len(sizes))
		smallest, second := int64(math.MaxInt64), int64(math.MaxInt64)
		for _, set := range Merge(sizes, limit) {
			sum := int64(0)
			for _, i := range set {
				if seen[i] {
					t.Fatalf("partition %d is in two sets", i)
				}
				seen[i] = true
				sum += sizes[i]
			}
			if sum > limit && len(set) > 1 {
				t.Fatalf("set %v has size %d", set, sum)
			}
			if sum < smallest {
				smallest, second = sum, smallest
			} else {
				second = min(second, sum)
			}
		}
		if second < math.MaxInt64 && smallest+second <= limit {
			t.Fatalf("sets of %d and %d fit together", smallest, second)
		}
		for i, size := range sizes {
			if seen[i] != (size > 0) {
				t.Fatalf("partition %d of size %d: in a set: %t", i, size, seen[i])
			}
		}
	})
}

// TestMergeTwiceOptimum proves Theorem 2 against an exhaustive search.
func TestMergeTwiceOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 40).Draw(t, "limit")
		sizes := rapid.SliceOfN(rapid.Int64Range(1, limit), 1, 9).Draw(t, "sizes")
		got, best := len(Merge(sizes, limit)), fewestSets(sizes, limit, nil, len(sizes))
		if got >= 2*best {
			t.Fatalf("%d sets, the optimum is %d", got, best)
		}
	})
}

// fewestSets tries every way to add sizes to sets, given the sums of the sets so far, and
// returns the fewest sets, or best if that is not above it.
func fewestSets(sizes []int64, limit int64, sums []int64, best int) int {
	if len(sums) >= best {
		return best
	}
	if len(sizes) == 0 {
		return len(sums)
	}
	for i := range sums {
		if sums[i]+sizes[0] <= limit {
			sums[i] += sizes[0]
			best = fewestSets(sizes[1:], limit, sums, best)
			sums[i] -= sizes[0]
		}
	}
	return fewestSets(sizes[1:], limit, append(sums, sizes[0]), best)
}

func BenchmarkMerge(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	sizes := make([]int64, FanOutMax)
	for i := range sizes {
		sizes[i] = rng.Int64N(1000)
	}
	for b.Loop() {
		Merge(sizes, 5000)
	}
}
