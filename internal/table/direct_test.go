package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// integerKeys is the layout of one 64-bit column, with a bit for its NULLs.
func integerKeys(nullable bool) *rowdata.KeyLayout {
	l := &rowdata.KeyLayout{Fields: make([]rowdata.KeyField, 1), Words: 1, Bits: 64}
	if nullable {
		l.Words, l.Bits = 2, 65
	}
	return l
}

// integers are rows keys from low on, below low + span; one in ten is NULL where the layout has
// them.
func integers(rng *rand.Rand, l *rowdata.KeyLayout, rows int, low, span uint64) []uint64 {
	keys := make([]uint64, rows*l.Words)
	for i := range rows {
		key := keys[i*l.Words : (i+1)*l.Words]
		if len(key) > 1 && rng.IntN(10) == 0 {
			key[1] = 1
			continue
		}
		key[0] = low + rng.Uint64N(span)
	}
	return keys
}

// Would catch keys on either side of the window that share an entry, groups that are lost or
// numbered anew when it widens or when its table goes over to slots, a NULL that is found as the
// number its word holds, and entries left behind by a reset.
func TestDirectAgainstMap(t *testing.T) {
	rng := rowtest.Rand(t)
	type tile struct{ low, span uint64 }
	for _, c := range []struct {
		name  string
		tiles []tile
		used  bool // at the end
	}{
		{"one key", []tile{{7, 1}, {7, 1}}, true},
		{"few keys", []tile{{7, 10}, {7, 10}}, true},
		{"keys around 0", []tile{{math.MaxUint64 - 20, 50}, {math.MaxUint64 - 300, 400}}, true},
		{"keys around the least integer", []tile{{1<<63 - 20, 50}, {1<<63 - 300, 400}}, true},
		{"ends of the window", []tile{{1000, 2}, {1000 - directMin/2, 2}, {1000 + directMin/2 - 2, 5}, {1000 - directMin/2 - 2, 5}}, true},
		{"rising", []tile{{0, 500}, {500, 900}, {2000, 3000}, {9000, 100}, {60_000, 1000}}, true},
		{"falling", []tile{{60_000, 1000}, {9000, 100}, {2000, 3000}, {500, 900}, {0, 500}}, true},
		{"wide", []tile{{5, DirectMax * 3 / 4}, {5, DirectMax * 3 / 4}}, true},
		{"too wide", []tile{{5, 100}, {6, 4 * DirectMax}, {5, 100}}, false},
		{"too far", []tile{{5, 100}, {1 << 40, 100}, {5, 100}}, false},
	} {
		for _, nullable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, NULLs %v", c.name, nullable), func(t *testing.T) {
				l := integerKeys(nullable)
				check := &checkedTable{New(rowdata.GoMemory, l, 0, false), nil}
				for range 2 { // again after a reset
					check.model = map[string]uint32{}
					for _, tile := range c.tiles {
						check.findUnhashed(t, integers(rng, l, rowdata.TileRows, tile.low, tile.span), rowdata.TileRows)
					}
					if check.direct.used() != c.used {
						t.Errorf("found by distance is %v, want %v", check.direct.used(), c.used)
					}
					check.checkKeys(t)
					check.find(t, integers(rng, l, 100, 1<<50, 10), 100) // by hash, for good
					check.checkKeys(t)
					check.Reset(0)
				}
			})
		}
	}
}

// Would catch a reset that leaves entries of groups that are no more.
func TestDirectReset(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, nullable := range []bool{false, true} {
		l := integerKeys(nullable)
		check := &checkedTable{New(rowdata.GoMemory, l, 0, false), nil}
		for range 3 {
			check.model = map[string]uint32{}
			check.findUnhashed(t, integers(rng, l, rowdata.TileRows, 3, 500), rowdata.TileRows)
			check.checkKeys(t)
			if !check.direct.used() {
				t.Error("keys are hashed")
			}
			check.Reset(0)
		}
	}
}

// Would catch a forecast of slots, or of a scatter, where tables find groups by distance, and the
// other way round.
func TestNearness(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range []struct {
		layout *rowdata.KeyLayout
		span   uint64
		near   bool
	}{
		{integerKeys(false), 1, true},
		{integerKeys(false), DirectMax / 2, true},
		{integerKeys(false), 8 * DirectMax, false},
		{integerKeys(true), DirectMax / 2, true},
		{integerKeys(true), 8 * DirectMax, false},
		{fieldsOf(32, 32), 500, true},
		{fieldsOf(32, 32), 5000, false},
		{fieldsOf(20, 20, 20, 4), 8, true},
	} {
		t.Run(fmt.Sprint(c.layout.Words, len(c.layout.Fields), c.span), func(t *testing.T) {
			table := New(rowdata.GoMemory, c.layout, 0, false)
			near := NewNearness(c.layout, DirectMax)
			hashes, numbers := make([]uint64, rowdata.TileRows), make([]uint32, rowdata.TileRows)
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
				table.FindUnhashed(keys, hashes, numbers)
				near.Add(keys)
			}
			window := near.Window(int64(table.Len))
			if near := window > 0; near != c.near || table.direct.used() != c.near {
				t.Errorf("a window of %d keys is foretold, the table has one of %d", window, table.direct.window)
			}
			if c.near && (window > 2*int64(table.direct.window) || 2*window < int64(table.direct.window)) {
				t.Errorf("a window of %d keys is foretold, the table has one of %d", window, table.direct.window)
			}
		})
	}
}
