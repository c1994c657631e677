package cpuagg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// benchTiles is how many tiles of rows a benchmark goes through in turn: 2^18 rows, so that a
// table of 1e5 groups is not in the order of its keys.
const benchTiles = 128

// BenchmarkAccumulate folds one tile of values into the states of random groups.
func BenchmarkAccumulate(b *testing.B) {
	for _, c := range []struct {
		name string
		fold rowdata.Fold
	}{
		{"count", rowdata.Fold{Kind: rowdata.FoldCount, Words: 1}},
		{"sum", rowdata.Fold{Kind: rowdata.FoldSumInt, Words: 2}},
		{"min", rowdata.Fold{Kind: rowdata.FoldMin, Words: 1}},
		{"set", rowdata.Fold{Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 1}},
		{"set of pairs", rowdata.Fold{Kind: rowdata.FoldDistinct, Words: rowdata.SetWords, ElementWords: 2, Wide: true}},
	} {
		for _, groups := range []int{10, 1e3, 1e5} {
			b.Run(fmt.Sprintf("fold=%s/groups=%d", c.name, groups), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				s := oneFold(c.fold, groups)
				gids := make([]uint32, benchTiles*rowdata.TileRows)
				for i := range gids {
					gids[i] = uint32(rng.IntN(groups))
				}
				x := rowtest.Words(rng, 2*rowdata.TileRows, math.MaxUint64)
				tile := 0
				fold := func() {
					s.accumulateFold(&c.fold, s.words[0], gids[tile*rowdata.TileRows:(tile+1)*rowdata.TileRows], [3][]uint64{x})
					tile = (tile + 1) % benchTiles
				}
				for range benchTiles { // sets then have their elements
					fold()
				}
				for b.Loop() {
					fold()
				}
				rowtest.ReportRows(b)
			})
		}
	}
}
