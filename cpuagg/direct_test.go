package cpuagg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
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
	rng := newRand(t)
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
		{"wide", []tile{{5, directMax * 3 / 4}, {5, directMax * 3 / 4}}, true},
		{"too wide", []tile{{5, 100}, {6, 4 * directMax}, {5, 100}}, false},
		{"too far", []tile{{5, 100}, {1 << 40, 100}, {5, 100}}, false},
	} {
		for _, nullable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, NULLs %v", c.name, nullable), func(t *testing.T) {
				l := integerKeys(nullable)
				check := &checkedTable{newTable(rowdata.GoMemory, l, 0, false), nil}
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
					check.reset(0)
				}
			})
		}
	}
}

// Would catch a reset that leaves entries of groups that are no more.
func TestDirectReset(t *testing.T) {
	rng := newRand(t)
	for _, nullable := range []bool{false, true} {
		l := integerKeys(nullable)
		check := &checkedTable{newTable(rowdata.GoMemory, l, 0, false), nil}
		for range 3 {
			check.model = map[string]uint32{}
			check.findUnhashed(t, integers(rng, l, rowdata.TileRows, 3, 500), rowdata.TileRows)
			check.checkKeys(t)
			if !check.direct.used() {
				t.Error("keys are hashed")
			}
			check.reset(0)
		}
	}
}
