package cpuagg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// benchTiles is how many tiles of rows a benchmark goes through in turn: 2^18 rows, so that a
// table of 1e5 groups is not in the order of its keys.
const benchTiles = 128

// reportRows reports rows per second, of a tile an iteration.
func reportRows(b *testing.B) {
	b.ReportMetric(float64(b.N)*rowdata.TileRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// BenchmarkFind hashes keys and finds their groups, all of which the table has.
func BenchmarkFind(b *testing.B) {
	for _, words := range []int{1, 2} {
		for _, groups := range []int{10, 1e3, 1e5} {
			b.Run(fmt.Sprintf("words=%d/groups=%d", words, groups), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				l := keyLayout(words)
				keys := make([]uint64, benchTiles*rowdata.TileRows*words)
				for i := range benchTiles * rowdata.TileRows {
					keys[i*words] = rng.Uint64N(uint64(groups))
				}
				t := newTable(rowdata.GoMemory, l, 0, false)
				hashes, gids := make([]uint64, rowdata.TileRows), make([]uint32, rowdata.TileRows)
				tile := 0
				find := func() {
					part := keys[tile*rowdata.TileRows*words : (tile+1)*rowdata.TileRows*words]
					t.find(part, hashes, gids, hashKeys(l, part, 0, hashes))
					tile = (tile + 1) % benchTiles
				}
				for range benchTiles {
					find()
				}
				for b.Loop() {
					find()
				}
				reportRows(b)
			})
		}
	}
}

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
				x := randomWords(rng, 2*rowdata.TileRows, math.MaxUint64)
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
				reportRows(b)
			})
		}
	}
}

// dropPass drops pages.
type dropPass struct{ Pass }

func (dropPass) Put(_ Content, pages []PartitionPage) error {
	for _, f := range pages {
		f.Page.Release()
	}
	return nil
}

// BenchmarkScatter scatters tiles of rows of one key word and one-word arguments.
func BenchmarkScatter(b *testing.B) {
	for _, words := range []int{2, 6} {
		for _, radix := range []partition.Radix{6, partition.RadixBitsMax} {
			b.Run(fmt.Sprintf("words=%d/fanout=%d", words, radix.FanOut()), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				bound := &rowdata.Bound{Keys: *keyLayout(1), Args: make([]rowdata.Arg, words-1), Columns: make([]rowdata.Column, 1)}
				tile := &rowdata.Tile{Rows: rowdata.TileRows, Args: make([][]uint64, words-1)}
				for a := range bound.Args {
					bound.Args[a].Words = 1
					tile.Args[a] = randomWords(rng, rowdata.TileRows, math.MaxUint64)
				}
				tile.Keys = randomWords(rng, rowdata.TileRows, math.MaxUint64)
				hashes := randomWords(rng, benchTiles*rowdata.TileRows, math.MaxUint64)
				layout := bound.RowLayout()
				s := newScatterer(rowdata.GoMemory, Rows, &layout, &pass{radix: radix, pageBytes: pageBytesMax, parts: dropPass{}})
				at := 0
				for b.Loop() {
					if err := s.scatterTile(bound, tile, hashes[at*rowdata.TileRows:(at+1)*rowdata.TileRows]); err != nil {
						b.Fatal(err)
					}
					at = (at + 1) % benchTiles
				}
				b.SetBytes(int64(8 * words * rowdata.TileRows))
				reportRows(b)
			})
		}
	}
}
