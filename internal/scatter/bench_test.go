package scatter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

// dropPages drops pages.
type dropPages struct{ Partitions }

func (dropPages) Put(_ Content, pages []PartitionPage) error {
	for _, f := range pages {
		f.Page.Release()
	}
	return nil
}

// BenchmarkScatter scatters tiles of rows of one key word and one-word arguments.
func BenchmarkScatter(b *testing.B) {
	const tiles = 128 // of hashes, in turn
	for _, words := range []int{2, 6} {
		for _, radix := range []partition.Radix{6, partition.RadixBitsMax} {
			b.Run(fmt.Sprintf("words=%d/fanout=%d", words, radix.FanOut()), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				bound := &rowdata.Bound{Keys: *rowtest.KeyLayout(1), Args: make([]rowdata.Arg, words-1), Columns: make([]rowdata.Column, 1)}
				tile := &rowdata.Tile{Rows: rowdata.TileRows, Args: make([][]uint64, words-1)}
				for a := range bound.Args {
					bound.Args[a].Words = 1
					tile.Args[a] = rowtest.Words(rng, rowdata.TileRows, math.MaxUint64)
				}
				tile.Keys = rowtest.Words(rng, rowdata.TileRows, math.MaxUint64)
				hashes := rowtest.Words(rng, tiles*rowdata.TileRows, math.MaxUint64)
				layout := bound.RowLayout()
				w := NewWriter(passTo(radix, dropPages{}), 0, &layout)
				at := 0
				for b.Loop() {
					if err := w.Tile(tile, hashes[at*rowdata.TileRows:(at+1)*rowdata.TileRows]); err != nil {
						b.Fatal(err)
					}
					at = (at + 1) % tiles
				}
				b.SetBytes(int64(8 * words * rowdata.TileRows))
				rowtest.ReportRows(b)
			})
		}
	}
}
