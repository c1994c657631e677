package cpuagg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// Would catch narrow sums that overflow, that are lost or counted twice where they settle, where
// values become wide, where groups come later or the table is emptied; and wide values that are not
// undone.
func TestNarrowSums(t *testing.T) {
	rng := rowtest.Rand(t)
	fold := rowdata.Fold{Kind: rowdata.FoldSumInt, Words: 2}
	for range 100 {
		got, want := oneFold(fold, 0), oneFold(fold, 0)
		values := wordsBelow(rng, 1+rng.IntN(45))
		groups, sawNarrow := 1+rng.IntN(200), false
		for tile := range 200 {
			switch rng.IntN(100) {
			case 0:
				groups += rng.IntN(2000)
			case 1:
				got.reset()
				want.reset()
			case 2:
				if tile > 100 {
					values = wordsBelow(rng, 64)
				}
			case 3:
				checkSums(t, got, want)
			}
			got.grow(groups)
			want.grow(groups)
			n := 1 + rng.IntN(rowdata.TileRows)
			gids, x := make([]uint32, n), make([]uint64, n)
			for i := range gids {
				gids[i], x[i] = uint32(rng.IntN(groups)), values()
			}
			if !got.addNarrow(0, gids, x) {
				got.accumulateFold(&fold, got.words[0], gids, [3][]uint64{x})
			}
			want.accumulateFold(&fold, want.words[0], gids, [3][]uint64{x})
			sawNarrow = sawNarrow || got.narrow[0].sums != nil
		}
		checkSums(t, got, want)
		if !sawNarrow && groups < 100 {
			t.Fatalf("%d groups, and never a narrow sum", groups)
		}
	}
}

// wordsBelow makes integers of so many bits and a sign, often the extremes.
func wordsBelow(rng *rand.Rand, bits int) func() uint64 {
	return func() uint64 {
		v := rng.Uint64() >> (64 - bits)
		if rng.IntN(8) == 0 {
			v = 1<<bits - 1
		}
		return v ^ -rng.Uint64N(2)
	}
}

func checkSums(t *testing.T, got, want *states) {
	t.Helper()
	if !slices.EqualFunc(got.slice(0, got.groups), want.slice(0, want.groups), slices.Equal) {
		t.Fatalf("sums are %v, want %v", got.words[0], want.words[0])
	}
}

// Would catch sums that settle after they have overflowed: values of as many bits as narrow sums
// take, of one sign, until they have settled several times.
func TestNarrowSumsSettle(t *testing.T) {
	fold := rowdata.Fold{Kind: rowdata.FoldSumInt, Words: 2}
	for _, value := range []uint64{1<<45 - 1, ^uint64(1<<45 - 1), 1<<51 - 1, 1 << 51, 1 << 63, 0} {
		got, want := oneFold(fold, 1), oneFold(fold, 1)
		gids, x := make([]uint32, rowdata.TileRows), slices.Repeat([]uint64{value}, rowdata.TileRows)
		for range 500 {
			if !got.addNarrow(0, gids, x) {
				got.accumulateFold(&fold, got.words[0], gids, [3][]uint64{x})
			}
			want.accumulateFold(&fold, want.words[0], gids, [3][]uint64{x})
		}
		if wide := value+1<<45 > 1<<46; got.narrow[0].wide != wide {
			t.Errorf("values %#x are too wide: %t, want %t", value, got.narrow[0].wide, wide)
		}
		checkSums(t, got, want)
	}
}

// BenchmarkNarrow adds one tile of values to the narrow sums of random groups.
func BenchmarkNarrow(b *testing.B) {
	for _, groups := range []int{1, 4, 8, 10, 1e3, 1e5} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			n := &narrowSums{sums: make([]uint64, groups)}
			gids := make([]uint32, benchTiles*rowdata.TileRows)
			for i := range gids {
				gids[i] = uint32(rng.IntN(groups))
			}
			x := rowtest.Words(rng, rowdata.TileRows, 1000)
			tile := 0
			for b.Loop() {
				n.bound = 0
				if !n.add(groups, gids[tile*rowdata.TileRows:(tile+1)*rowdata.TileRows], x) {
					b.Fatal("values are too wide")
				}
				tile = (tile + 1) % benchTiles
			}
			rowtest.ReportRows(b)
		})
	}
}

// Would catch rows that vectors leave out or add twice, and a magnitude that misses a value,
// negative or not.
func TestAddAll(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, n := range []int{0, 1, 7, 8, 9, 16, 23, rowdata.TileRows - 1, rowdata.TileRows} {
		for wide := range 64 {
			groups := 1 + rng.IntN(2*fewGroups)
			sums, want := rowtest.Words(rng, groups, math.MaxUint64), make([]uint64, groups)
			copy(want, sums)
			gids, x, magnitude := make([]uint32, n), make([]uint64, n), uint64(0)
			for i := range gids {
				gids[i], x[i] = uint32(rng.IntN(groups)), uint64(rng.IntN(3)-1)
			}
			if n > 0 {
				x[rng.IntN(n)] = uint64(int64(rng.Uint64()) >> wide)
			}
			for i, g := range gids {
				want[g] += x[i]
				magnitude |= min(x[i], ^x[i])
			}
			if got := addAll(sums, gids, x); got != magnitude || !slices.Equal(sums, want) {
				t.Fatalf("%d rows: magnitude %#x and sums %d, want %#x and %d", n, got, sums, magnitude, want)
			}
		}
	}
}
