package papers

import (
	"math/rand/v2"
	"slices"

	"github.com/mpga/mpga/partition"
)

// Bins is what random hashing did to some partitions.
type Bins struct {
	Over    float64 // share of the trials in which a partition reached the bound
	Fullest float64 // groups of the fullest partition of all trials, by the bound
}

// Throw throws groups into partitions at random, and tells how often a partition got bound groups or
// more (Wang, Shen, Lei, 2025, section 4.2.1: at most a share p of the times, by Theorem 1).
func Throw(rng *rand.Rand, groups, partitions, bound int64, trials int) (b Bins) {
	counts := make([]int64, partitions)
	for range trials {
		clear(counts)
		for range groups {
			counts[rng.Int64N(partitions)]++
		}
		most := slices.Max(counts)
		if most >= bound {
			b.Over += 1 / float64(trials)
		}
		b.Fullest = max(b.Fullest, float64(most)/float64(bound))
	}
	return b
}

// MergeQuality returns how many sets the greedy merge and the merge of neighbours make of partitions,
// by the fewest that there can be: their rows by the limit, rounded up. Theorem 2 (there, section
// 4.2.3) promises less than 2.
//
// Requires: no size is above limit, and some size is not 0.
func MergeQuality(sizes []int64, limit int64) (greedy, neighbours float64) {
	sum := int64(0)
	for _, size := range sizes {
		sum += size
	}
	fewest := float64((sum + limit - 1) / limit)
	return float64(len(partition.Merge(sizes, limit))) / fewest,
		float64(len(partition.MergeNeighbours(sizes, limit))) / fewest
}
