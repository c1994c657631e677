package cpuagg

import (
	"fmt"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch a forecast of slots, or of a scatter, where tables find groups by distance, and the
// other way round.
func TestNearness(t *testing.T) {
	rng := newRand(t)
	for _, c := range []struct {
		layout *rowdata.KeyLayout
		span   uint64
		near   bool
	}{
		{integerKeys(false), 1, true},
		{integerKeys(false), directMax / 2, true},
		{integerKeys(false), 8 * directMax, false},
		{integerKeys(true), directMax / 2, true},
		{integerKeys(true), 8 * directMax, false},
		{fieldsOf(32, 32), 500, true},
		{fieldsOf(32, 32), 5000, false},
		{fieldsOf(20, 20, 20, 4), 8, true},
	} {
		t.Run(fmt.Sprint(c.layout.Words, len(c.layout.Fields), c.span), func(t *testing.T) {
			table := newTable(rowdata.GoMemory, c.layout, 0, false)
			near := newNearness(c.layout, directMax)
			hashes, gids := make([]uint64, rowdata.TileRows), make([]uint32, rowdata.TileRows)
			for range 20 {
				keys := make([]uint64, rowdata.TileRows)
				if len(c.layout.Fields) == 1 {
					keys = integers(rng, c.layout, rowdata.TileRows, 1000, c.span)
				} else {
					for i := range keys {
						for _, f := range c.layout.Fields {
							keys[i] |= rng.Uint64N(c.span) << f.Shift
						}
					}
				}
				table.findUnhashed(keys, hashes, gids)
				near.add(keys, c.layout.Words)
			}
			window := near.window(int64(table.groups))
			if near := window > 0; near != c.near || table.direct.used() != c.near {
				t.Errorf("a window of %d keys is foretold, the table has one of %d", window, table.direct.window)
			}
			if c.near && (window > 2*int64(table.direct.window) || 2*window < int64(table.direct.window)) {
				t.Errorf("a window of %d keys is foretold, the table has one of %d", window, table.direct.window)
			}
		})
	}
}
