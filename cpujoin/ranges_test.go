package cpujoin_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/internal/rowdata"
)

// rangedRow is a row of a build side: a key, a value, a reach, and what orders rows of equal values.
type rangedRow struct{ key, value, reach, fine uint64 }

// Would catch a row that a search in the sorted rows of a key, or in the tree of reaches, leaves out or adds, a best
// partner that is not the first, and memory that is not given back: rows of random ranges have the partners of a loop.
func TestRanges(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 2))
		layout := &rowdata.KeyLayout{Words: rng.IntN(3)}
		if layout.Bits = 64 * layout.Words; layout.Words == 1 { // few bits make keys places of a list
			layout.Bits = []int{64, 10, 20}[rng.IntN(3)]
		}
		keys := uint64(1 + rng.IntN(20))
		if layout.Words == 0 {
			keys = 1
		}
		rows := make([]rangedRow, rng.IntN(6000))
		span := uint64(1 + rng.IntN(1000))
		for i := range rows {
			value := rng.Uint64N(span)
			rows[i] = rangedRow{rng.Uint64N(keys), value, value + rng.Uint64N(20), rng.Uint64N(4)}
			if rng.IntN(300) == 0 {
				rows[i].reach += 200
			}
		}
		ranges := cpujoin.Ranges{Words: 1 + rng.IntN(2)}
		isBest := ranges.Words == 1 && rng.IntN(2) == 0
		ranges.Best = isBest
		if isBest && rng.IntN(2) == 0 {
			ranges.Compare = func(a, b uint64) int { return cmp.Compare(rows[a].fine, rows[b].fine) }
		}
		mem := &counted{Memory: rowdata.GoMemory}
		b := cpujoin.NewBuild(mem, layout, ranges, 2)
		addRanged(b, layout, ranges.Words, rows)
		if err := b.Finish(t.Context(), each); err != nil {
			t.Fatal(err)
		}
		isFirst := rng.IntN(3) == 0
		p := b.NewProber(isFirst)
		for range 3 {
			tile, bounds, asked := askRanged(rng, layout, keys, span, ranges)
			p.Begin(tile, len(asked), bounds)
			got := readRanged(p, rng, len(asked), ranges.Best && !isFirst)
			for i, a := range asked {
				want := partnersOf(rows, a, bounds, i, ranges)
				if isFirst && !isBest && len(want) > 0 {
					if len(got[i]) != 1 || !slices.Contains(want, got[i][0]) {
						t.Fatalf("seed %d: rows %v, want one of %v", seed, got[i], want)
					}
					continue
				}
				if isBest && isFirst {
					want = want[:min(1, len(want))]
				} else if !isBest {
					slices.Sort(want)
					slices.Sort(got[i])
				}
				if !slices.Equal(got[i], want) {
					t.Fatalf("seed %d, row %d of %d keys, ranges %+v: rows %v, want %v", seed, i, keys, ranges, got[i], want)
				}
			}
		}
		b.Release()
		if mem.words != 0 {
			t.Fatalf("seed %d: %d words are not given back", seed, mem.words)
		}
	}
}

// addRanged adds rows by two workers.
func addRanged(b *cpujoin.Build, layout *rowdata.KeyLayout, words int, rows []rangedRow) {
	workers := []*cpujoin.Worker{b.NewWorker(), b.NewWorker()}
	for first := 0; first < len(rows); first += 300 {
		some := rows[first:min(first+300, len(rows))]
		var tile []uint64
		values := make([][]uint64, words)
		for _, r := range some {
			for range layout.Words {
				tile = append(tile, r.key)
			}
			for j := range values {
				values[j] = append(values[j], []uint64{r.value, r.reach}[j])
			}
		}
		workers[first/300%2].Add(tile, len(some), uint64(first), nil, values)
	}
}

// askRanged returns the keys of some rows as a tile, their bounds, and the keys.
func askRanged(rng *rand.Rand, layout *rowdata.KeyLayout, keys, span uint64, ranges cpujoin.Ranges,
) (tile []uint64, bounds *cpujoin.Bounds, asked []uint64) {
	bounds = new(cpujoin.Bounds)
	for range 300 {
		key := rng.Uint64N(keys + 1)
		if layout.Words == 0 {
			key = 0
		}
		for range layout.Words {
			tile = append(tile, key)
		}
		asked = append(asked, key)
		low, high := rng.Uint64N(span+2), rng.Uint64N(span+2)
		switch rng.IntN(4) {
		case 0:
			low = 0
		case 1:
			high = ^uint64(0)
		}
		bounds.Low, bounds.High = append(bounds.Low, low), append(bounds.High, high)
		if ranges.Words > 1 {
			bounds.Reach = append(bounds.Reach, rng.Uint64N(span+30))
		}
	}
	return tile, bounds, asked
}

// readRanged returns the partners of each of n rows. byStep asks for the best ones first.
func readRanged(p *cpujoin.Prober, rng *rand.Rand, n int, byStep bool) [][]uint64 {
	got := make([][]uint64, n)
	var done func(row uint32) bool
	if byStep {
		done = func(uint32) bool { return false }
	}
	for more := true; more; {
		var pairs cpujoin.Pairs
		more = p.Next(&pairs, 0, 1+rng.IntN(3000), done)
		for i, row := range pairs.Probe {
			got[row] = append(got[row], pairs.Build[i])
		}
	}
	return got
}

// partnersOf returns the rows of a key that are within the bounds of row i, of Ranges.Best with the best one first.
func partnersOf(rows []rangedRow, key uint64, bounds *cpujoin.Bounds, i int, ranges cpujoin.Ranges) (want []uint64) {
	for n, r := range rows {
		isIn := r.key == key && r.value >= bounds.Low[i] && r.value <= bounds.High[i]
		if isIn && (ranges.Words < 2 || r.reach >= bounds.Reach[i]) {
			want = append(want, uint64(n))
		}
	}
	if ranges.Best {
		slices.SortFunc(want, func(a, b uint64) int {
			x, y := rows[a], rows[b]
			if x.value == y.value && (ranges.Compare == nil || x.fine == y.fine) {
				return cmp.Compare(b, a)
			}
			if x.value != y.value {
				return cmp.Compare(y.value, x.value)
			}
			return cmp.Compare(y.fine, x.fine)
		})
	}
	return want
}
