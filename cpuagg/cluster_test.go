package cpuagg

import (
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// clusteredTiles returns rows in the order of their keys, perKey rows to a key, in stretches of keys
// that lie far from each other, and what their groups come to.
func clusteredTiles(rng *rand.Rand, b *rowdata.Bound, stretches, keys, perKey int) ([]*rowdata.Tile, map[string]*answer) {
	var tiles []*rowdata.Tile
	want := map[string]*answer{}
	for s := range stretches {
		first := uint64(stretches-s)<<40 + rng.Uint64N(1000)
		for row := 0; row < keys*perKey; row += rowdata.TileRows {
			rows := min(rowdata.TileRows, keys*perKey-row)
			t := &rowdata.Tile{Rows: rows, Keys: make([]uint64, rows), Args: [][]uint64{make([]uint64, rows)}, Valid: make([][]uint8, len(b.Columns))}
			for i := range rows {
				t.Keys[i], t.Args[0][i] = first+3*uint64((row+i)/perKey), rng.Uint64N(100)
				text := keyText(&b.Keys, t.Keys[i:i+1])
				if want[text] == nil {
					want[text] = &answer{numbers: make([]uint64, 2*len(b.Columns))}
				}
				want[text].numbers[0]++
				want[text].numbers[1] += t.Args[0][i]
			}
			tiles = append(tiles, t)
		}
	}
	return tiles, want
}

// Would catch groups that are lost where a table moves to keys that lie elsewhere, a table that
// moves though its groups are as many as their rows, and an estimate that takes the first keys of
// sorted data for all keys.
func TestClusteredKeys(t *testing.T) {
	rng := newRand(t)
	b := (&shape{intKey: true, columns: 1}).bind(t)
	for _, c := range []struct {
		name                    string
		stretches, keys, perKey int
		moves                   bool
	}{
		{"sorted, in stretches", 12, 20_000, 5, true},
		{"short stretches", 200, 300, 10, true},
		{"sorted keys that differ", 3, 30_000, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tiles, want := clusteredTiles(rng, b, c.stretches, c.keys, c.perKey)
			run := NewRun(b, Options{TotalRows: func() int64 { return int64(c.stretches * c.keys * c.perKey) }}, new(memoryStore))
			w := run.NewWorker()
			for _, tile := range tiles {
				if err := w.Add(tile); err != nil {
					t.Fatal(err)
				}
			}
			if w.moved != c.moves {
				t.Errorf("the table moved: %v, want %v", w.moved, c.moves)
			}
			if _, groups, ok := run.Scatter(); c.moves && (!ok || groups < int64(len(want))/2 || groups > 2*int64(len(want))) {
				t.Errorf("%d groups are estimated (%v), there are %d", groups, ok, len(want))
			}
			w.Release()

			run = NewRun(b, Options{TotalRows: func() int64 { return int64(c.stretches * c.keys * c.perKey) }}, new(memoryStore))
			half := len(tiles) / 2
			groups, err := execute(t, run, [][]*rowdata.Tile{tiles[:half], tiles[half:]})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]*answer{}
			for _, g := range groups {
				groupAnswers(t, b, g, got)
			}
			if len(got) != len(want) {
				t.Fatalf("%d groups, want %d", len(got), len(want))
			}
			for text, a := range want {
				if got[text] == nil || got[text].numbers[0] != a.numbers[0] || got[text].numbers[1] != a.numbers[1] {
					t.Fatalf("group %s: %+v, want %+v", text, got[text], a)
				}
			}
		})
	}
}
