package measure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mpga/mpga/app/chart"
	"github.com/mpga/mpga/lab/papers"
	"github.com/mpga/mpga/partition"
)

// chenEstimate compares estimators of the number of groups, in the worst of twenty runs each.
func (m *measurer) chenEstimate(_ context.Context, result *papers.Result) error {
	const rows, runs = 1_000_000, 20
	for _, skew := range []float64{0, 1} {
		p := chart.Panel{Title: fmt.Sprintf("Least of %d estimates, 1e6 rows, %s", runs, skewName(skew)),
			X: axisGroups, Y: chart.Axis{Name: "estimate / groups", Log: 10}}
		for groups := int64(10); groups <= rows; groups *= 10 {
			rng := rand.New(rand.NewPCG(uint64(groups), uint64(skew)))
			keys, distinct := randomKeys(rng, rows, groups, skew)
			least := map[string]float64{}
			for range runs {
				for name, estimate := range estimates(rng, keys) {
					least[name] = min(cmp.Or(least[name], math.Inf(1)), estimate/float64(distinct))
				}
			}
			for _, name := range []string{"pairs", "triples", "equal groups of 1% (mpga)", "sketch (mpga)"} {
				p.Add(name, float64(groups), least[name])
			}
		}
		result.Panels = append(result.Panels, p)
	}
	result.Scale = 1
	result.Note("A table of 2.6 slots for each estimated group is too small where an estimate is below 0.385 of the " +
		"groups. mpga's sketch sees all rows of a tile, here all rows; the others see 1% of them.")
	return nil
}

// estimates returns what each estimator says of keys.
func estimates(rng *rand.Rand, keys []uint64) map[string]float64 {
	sketch := make([]uint8, partition.SketchRegisters)
	for _, key := range keys {
		partition.AddHash(sketch, partition.Mix64(key))
	}
	sample := map[uint64]bool{}
	drawn := len(keys) / 100
	for range drawn {
		sample[keys[rng.IntN(len(keys))]] = true
	}
	return map[string]float64{
		"pairs":                     papers.EstimatePairs(rng, keys),
		"triples":                   papers.EstimateTriples(rng, keys),
		"equal groups of 1% (mpga)": float64(partition.EqualGroups(int64(drawn), int64(len(sample)), int64(len(keys)))),
		"sketch (mpga)":             partition.EstimateRegisters(sketch),
	}
}

// randomKeys draws keys, uniform or of a Zipf distribution of exponent 1, and counts the different ones.
func randomKeys(rng *rand.Rand, rows, groups int64, skew float64) (keys []uint64, distinct int64) {
	keys, seen := make([]uint64, rows), make([]bool, groups)
	for i := range keys {
		rank := rng.Int64N(groups)
		if skew > 0 { // the inverse of the distribution function of the density 1/x from 1 to groups + 1
			rank = min(int64(math.Pow(float64(groups+1), rng.Float64()))-1, groups-1)
		}
		if keys[i] = uint64(rank); !seen[rank] {
			seen[rank] = true
			distinct++
		}
	}
	return keys, distinct
}
