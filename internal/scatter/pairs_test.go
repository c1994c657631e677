package scatter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

// Would catch rows that stay in a line, that go to a page twice or to another partition's, and
// lines of a page that was full before; with the same pages as the general way gives.
func TestScatterPairs(t *testing.T) {
	rng := rowtest.Rand(t)
	b := &rowdata.Bound{
		Keys:    *rowtest.KeyLayout(1),
		Args:    []rowdata.Arg{{Words: 1}},
		Columns: make([]rowdata.Column, 1),
	}
	layout := b.RowLayout()
	if !isPair(&layout) {
		t.Fatal("rows of a key and an argument are no pairs")
	}
	for _, radix := range []partition.Radix{1, 6, partition.RadixBitsMax} {
		for _, rowsMax := range []int{1, 7, 100, rowdata.TileRows, 100_000} {
			t.Run(fmt.Sprintf("%d bits, %d rows", radix, rowsMax), func(t *testing.T) {
				got, want := new(collector), new(collector)
				pairs, general := NewWriter(passTo(radix, got), 0, &layout), NewWriter(passTo(radix, want), 0, &layout)
				for n := 0; n < rowsMax; {
					rows := min(1+rng.IntN(rowdata.TileRows), rowsMax-n)
					tile := &rowdata.Tile{Rows: rows, Keys: rowtest.Words(rng, rows, 1<<63), Args: [][]uint64{rowtest.Words(rng, rows, 1<<63)}}
					hashes := rowtest.Words(rng, rows, 1<<63)
					for i := range hashes {
						hashes[i] = hashes[i] << 1 >> rng.IntN(3) // the first partitions get more
					}
					if err := pairs.Tile(tile, hashes); err != nil {
						t.Fatal(err)
					}
					general.Put(rows, tile.Keys, tile.Args, hashes, false)
					if err := general.Seal(); err != nil {
						t.Fatal(err)
					}
					n += rows
				}
				for _, w := range []*Writer{pairs, general} {
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if pairs.rows != general.rows {
					t.Errorf("%d rows, want %d", pairs.rows, general.rows)
				}
				for p := range radix.FanOut() {
					if !slices.EqualFunc(got.pages[p], want.pages[p], samePage) {
						t.Fatalf("partition %d has other pages", p)
					}
				}
			})
		}
	}
}

func samePage(a, b *rowdata.Page) bool {
	return len(a.Words) == len(b.Words) && slices.Equal(a.Words[:2*a.Rows], b.Words[:2*b.Rows])
}

// Would catch words that go to the other side, and pairs that are left out where they are no whole
// line.
func TestUnpackPairs(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, n := range []int{0, 1, 3, 4, 5, 63, 64, rowdata.TileRows} {
		rows := rowtest.Words(rng, 2*n, 1<<63)
		keys, args := unpackPairs(nil, nil, rows)
		if len(keys) != n || len(args) != n {
			t.Fatalf("%d pairs: %d keys, %d arguments", n, len(keys), len(args))
		}
		for i := range n {
			if keys[i] != rows[2*i] || args[i] != rows[2*i+1] {
				t.Fatalf("%d pairs: pair %d is %d, %d, want %d", n, i, keys[i], args[i], rows[2*i:2*i+2])
			}
		}
	}
}
