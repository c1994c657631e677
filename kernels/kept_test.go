package kernels

import (
	"math/rand/v2"
	"testing"
)

// Would catch a block that two have, one that nobody has, and more memory than is to be kept.
func TestKeptMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	k := keptMemory{limit: 40 * keptMin, wasteLimit: 5 * keptMin}
	taken, asked, kept := map[uint64]int64{}, map[uint64]int64{}, map[uint64]int64{}
	next, reused := uint64(0), 0
	goes := func(gone []keptBlock) {
		for _, b := range gone {
			if kept[b.at] != b.bytes {
				t.Fatalf("%+v goes, and was not kept", b)
			}
			delete(kept, b.at)
		}
	}
	for range 20_000 {
		switch {
		case rng.IntN(200) == 0:
			goes(k.drop())
			if len(kept) > 0 {
				t.Fatalf("%v are lost", kept)
			}
		case len(taken) < 30 && rng.IntN(2) == 0:
			n := rng.Int64N(20 * keptMin)
			b, ok := k.take(n)
			if !ok {
				next++
				b = keptBlock{next, n}
			} else if reused++; kept[b.at] != b.bytes || b.bytes < n || b.bytes > n+n/keptWaste {
				t.Fatalf("%+v for %d B", b, n)
			}
			delete(kept, b.at)
			taken[b.at], asked[b.at] = b.bytes, n
		default:
			for at, n := range taken {
				delete(taken, at)
				kept[at] = n
				k.reclaim(keptBlock{at, n}, asked[at])
				goes(k.put(keptBlock{at, n}))
				break
			}
		}
		sum := int64(0)
		for _, n := range kept {
			sum += n
		}
		if sum != k.size() || sum > k.limit {
			t.Fatalf("%d B are kept, %d B by itself", sum, k.size())
		}
		waste := int64(0)
		for at, n := range taken {
			waste += n - asked[at]
		}
		if waste != k.waste() || waste > k.wasteLimit {
			t.Fatalf("%d B are wasted, %d B by itself", waste, k.waste())
		}
	}
	if reused < 1000 {
		t.Errorf("%d blocks were taken again", reused)
	}
}
