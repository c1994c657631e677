package table

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// BenchmarkFind hashes keys that the table has, and finds their numbers.
func BenchmarkFind(b *testing.B) {
	const tiles = 128 // in turn: 2^18 rows, so that a table of 1e5 keys is not in their order
	for _, words := range []int{1, 2} {
		for _, distinct := range []int{10, 1e3, 1e5} {
			b.Run(fmt.Sprintf("words=%d/keys=%d", words, distinct), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				l := keyLayout(words)
				keys := make([]uint64, tiles*rowdata.TileRows*words)
				for i := range tiles * rowdata.TileRows {
					keys[i*words] = rng.Uint64N(uint64(distinct))
				}
				t := New(rowdata.GoMemory, l, 0, false)
				hashes, numbers := make([]uint64, rowdata.TileRows), make([]uint32, rowdata.TileRows)
				tile := 0
				find := func() {
					part := keys[tile*rowdata.TileRows*words : (tile+1)*rowdata.TileRows*words]
					t.Find(part, hashes, numbers)
					tile = (tile + 1) % tiles
				}
				for range tiles {
					find()
				}
				for b.Loop() {
					find()
				}
				rowtest.ReportRows(b)
			})
		}
	}
}
