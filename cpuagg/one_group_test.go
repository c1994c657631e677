package cpuagg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// Would catch loops for the only group that leave rows out, carry wrongly, or add doubles in
// another order.
func TestOneGroup(t *testing.T) {
	rng := rowtest.Rand(t)
	looped := 0
	for _, c := range foldCases() {
		if c.fold.Kind > rowdata.FoldBitXor {
			continue
		}
		for _, n := range []int{0, 1, 3, 4, 5, 7, 8, 9, 17, rowdata.TileRows - 1, rowdata.TileRows} {
			got, want := oneFold(c.fold, 1), oneFold(c.fold, 1)
			for range 4 {
				var in [3][]uint64
				for range n {
					for j, words := range c.row(rng, 0, nil) {
						in[j] = append(in[j], words...)
					}
				}
				if !accumulateOne(c.fold.Kind, got.words[0], n, in[0]) {
					continue
				}
				looped++
				want.accumulateFold(&c.fold, want.words[0], oneGroup[:n], in)
				if !slices.Equal(got.words[0], want.words[0]) {
					t.Errorf("%s of %d rows: %x, want %x", c.name, n, got.words[0], want.words[0])
				}
			}
		}
	}
	if looped == 0 {
		t.Error("no fold has a loop for the only group")
	}
}

// Would catch halves of words whose sums wrap: a whole tile of the least and of the greatest words.
func TestOneGroupExtremes(t *testing.T) {
	for _, value := range []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, math.MaxUint32, 1 << 32} {
		x := slices.Repeat([]uint64{value}, rowdata.TileRows)
		for _, kind := range []rowdata.FoldKind{rowdata.FoldSumInt, rowdata.FoldSumUint} {
			fold := rowdata.Fold{Kind: kind, Words: 2}
			got, want := oneFold(fold, 1), oneFold(fold, 1)
			for range 3 {
				accumulateOne(kind, got.words[0], len(x), x)
				want.accumulateFold(&fold, want.words[0], oneGroup[:], [3][]uint64{x})
			}
			if !slices.Equal(got.words[0], want.words[0]) {
				t.Errorf("%s of %#x: %x, want %x", kind, value, got.words[0], want.words[0])
			}
		}
	}
}

// BenchmarkOneGroup folds one tile into the state of the only group.
func BenchmarkOneGroup(b *testing.B) {
	for _, kind := range []rowdata.FoldKind{rowdata.FoldSumInt, rowdata.FoldSumFloat, rowdata.FoldMin} {
		b.Run(kind.String(), func(b *testing.B) {
			x := rowtest.Words(rand.New(rand.NewPCG(1, 2)), rowdata.TileRows, math.MaxUint64)
			var state [2]uint64
			for b.Loop() {
				accumulateOne(kind, state[:], len(x), x)
			}
			rowtest.ReportRows(b)
		})
	}
}
