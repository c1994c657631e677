package cpuagg

import (
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// Would catch rows with a NULL that reach a fold (A4), rows without one that do not, values that
// are moved out of step with their groups, and selections that remember the tile before.
func TestViewSelects(t *testing.T) {
	rng := rowtest.Rand(t)
	b := &rowdata.Bound{
		Keys:       rowdata.KeyLayout{Words: 1},
		Columns:    []rowdata.Column{{Nullable: true}, {Nullable: true}, {Nullable: true}},
		Args:       []rowdata.Arg{{Column: 0, Words: 1}, {Column: 1, Words: 2}},
		Selections: []rowdata.Selection{{}, {0}, {1}, {0, 1}, {0, 1, 2}},
	}
	for s := range b.Selections {
		for a := range b.Args {
			b.Inputs = append(b.Inputs, rowdata.Input{Arg: a, Selection: s})
		}
	}
	v := newView(b)
	for range 200 {
		rows := 1 + rng.IntN(rowdata.TileRows)
		tile := &rowdata.Tile{Rows: rows, Args: [][]uint64{make([]uint64, rows), make([]uint64, 2*rows)}, Valid: make([][]uint8, 3)}
		gids := make([]uint32, rows)
		for i := range rows {
			gids[i], tile.Args[0][i], tile.Args[1][2*i], tile.Args[1][2*i+1] = uint32(i), uint64(i), uint64(i), uint64(i)+1
		}
		for c := range tile.Valid {
			switch rng.IntN(4) {
			case 0: // no NULL
			case 1:
				tile.Valid[c] = slices.Repeat([]uint8{1}, rows)
			case 2:
				tile.Valid[c] = make([]uint8, rows)
			default:
				tile.Valid[c] = make([]uint8, rows)
				for i := range tile.Valid[c] {
					tile.Valid[c][i] = uint8(rng.IntN(2))
				}
			}
		}
		v.set(tile, gids)
		for s, sel := range b.Selections {
			var want []uint32
			for i := range rows {
				if !slices.ContainsFunc(sel, func(c int) bool { return tile.Valid[c] != nil && tile.Valid[c][i] == 0 }) {
					want = append(want, uint32(i))
				}
			}
			if !slices.Equal(v.gids[s], want) {
				t.Fatalf("selection %v of %d rows: %d groups, want %d", sel, rows, len(v.gids[s]), len(want))
			}
			for i, row := range want {
				one, two := v.inputs[2*s][i], v.inputs[2*s+1][2*i:2*i+2]
				if one != uint64(row) || two[0] != uint64(row) || two[1] != uint64(row)+1 {
					t.Fatalf("selection %v: row %d has the values %d and %d", sel, row, one, two)
				}
			}
		}
	}
}
