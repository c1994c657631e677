package table

import (
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// fieldsOf is the layout of keys of one word whose fields have so many bits.
func fieldsOf(widths ...uint8) *rowdata.KeyLayout {
	l := &rowdata.KeyLayout{Words: 1}
	for _, w := range widths {
		l.Fields = append(l.Fields, rowdata.KeyField{Kind: rowdata.Uint64, Shift: uint8(l.Bits), Bits: w})
		l.Bits += int(w)
	}
	l.Fields[0], l.Fields[len(widths)-1] = l.Fields[len(widths)-1], l.Fields[0] // in no order of their place
	return l
}

// Would catch keys that are squeezed to the same number, groups lost or numbered anew when a field
// gets wider, and a table that stays with an array it has outgrown.
func TestSqueezeAgainstMap(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, c := range []struct {
		name   string
		layout *rowdata.KeyLayout
		tiles  [][]uint64 // spans of the fields, by shift
		used   bool       // at the end
	}{
		{"two", fieldsOf(32, 32), [][]uint64{{101, 101}, {101, 101}}, true},
		{"growing", fieldsOf(32, 32), [][]uint64{{1, 1}, {2, 1}, {2, 300}, {500, 10}, {10, 500}}, true},
		{"one field of a value", fieldsOf(32, 7), [][]uint64{{1, 100}, {1, 100}}, true},
		{"three", fieldsOf(16, 32, 16), [][]uint64{{10, 20, 30}, {30, 20, 10}, {60, 60, 60}}, true},
		{"all 64 bits", fieldsOf(20, 20, 20, 4), [][]uint64{{10, 20, 3, 8}, {20, 10, 7, 8}}, true},
		{"at the limit", fieldsOf(32, 32), [][]uint64{{512, 512}, {512, 512}}, true},
		{"beyond it", fieldsOf(32, 32), [][]uint64{{512, 512}, {513, 512}, {513, 512}, {5, 5}}, false},
		{"wide at once", fieldsOf(32, 32), [][]uint64{{1 << 32, 1 << 32}, {5, 5}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := &checkedTable{New(rowdata.GoMemory, c.layout, 0, false), nil}
			for range 2 { // again after a reset
				check.model = map[string]uint32{}
				for _, spans := range c.tiles {
					keys := make([]uint64, rowdata.TileRows)
					for i := range keys {
						shift := 0
						for _, span := range spans {
							value := span - 1 // is reached
							if i > 0 {
								value = rng.Uint64N(span)
							}
							keys[i] |= value << shift
							shift += widthAt(c.layout, shift)
						}
					}
					check.findUnhashed(t, keys, rowdata.TileRows)
				}
				if check.direct.used() != c.used {
					t.Errorf("found by distance is %v, want %v", check.direct.used(), c.used)
				}
				check.checkKeys(t)
				check.Reset(0)
			}
		})
	}
}

func widthAt(l *rowdata.KeyLayout, shift int) int {
	for _, f := range l.Fields {
		if int(f.Shift) == shift {
			return int(f.Bits)
		}
	}
	return 0
}

// Keys that are narrow anyway, or wider than a word, are not squeezed.
func TestSqueezeIsNotNeeded(t *testing.T) {
	for _, l := range []*rowdata.KeyLayout{fieldsOf(9, 9), fieldsOf(64), {Words: 2, Bits: 96, Fields: make([]rowdata.KeyField, 2)}} {
		if newSqueeze(l) != nil {
			t.Errorf("%d bits in %d fields are squeezed", l.Bits, len(l.Fields))
		}
	}
	if newSqueeze(fieldsOf(9, 10)) == nil {
		t.Error("19 bits in 2 fields are not squeezed")
	}
}
