package papers

import (
	"math"
	"math/rand/v2"
)

// Of the estimators of Chen, Cui, Kiran, Patterson (2019, section 3).
const (
	pairsEqualEnough = 10  // equal pairs, after which drawing ends
	drawnPart        = 100 // at most a row in so many is drawn for
	// tablePerEstimate is the slots of their table for each estimated group.
	tablePerEstimate = 2.6
)

// EstimatePairs estimates the groups of rows by random pairs of them, which have equal keys with a
// probability of 1 / groups if all groups are as large as each other: their estimator on the CPU. It
// draws until ten pairs were equal, or one pair for every hundred rows; if none was, the estimate is the
// number of pairs.
func EstimatePairs(rng *rand.Rand, keys []uint64) float64 {
	pairs, equal := 0, 0
	for most := max(len(keys)/drawnPart, 1); pairs < most && equal < pairsEqualEnough; pairs++ {
		if keys[rng.IntN(len(keys))] == keys[rng.IntN(len(keys))] {
			equal++
		}
	}
	return float64(pairs) / float64(max(equal, 1))
}

// EstimateTriples estimates the groups of rows by random triples, which have two different keys with a
// probability of 3 (n-1) / n^2 for n equal groups: their estimator on the GPU. It draws a triple for
// every hundred rows. Of the two n that a share p of such triples has, (3 + sqrt(9 - 12 p)) / (2 p)
// is taken; without a triple of two keys it is 1, if most triples were of one key, or else the
// number of triples.
func EstimateTriples(rng *rand.Rand, keys []uint64) float64 {
	triples := max(len(keys)/drawnPart, 1)
	two, one := 0, 0
	for range triples {
		a, b, c := keys[rng.IntN(len(keys))], keys[rng.IntN(len(keys))], keys[rng.IntN(len(keys))]
		switch {
		case a == b && b == c:
			one++
		case a == b || b == c || a == c:
			two++
		}
	}
	if two == 0 && 2*one > triples {
		return 1
	}
	return groupsOfTriples(float64(max(two, 1)) / float64(triples))
}

// groupsOfTriples returns the larger n for which 3 (n-1) / n^2 is a share; no share is above 3/4.
func groupsOfTriples(share float64) float64 {
	return (3 + math.Sqrt(max(9-12*share, 0))) / (2 * share)
}
