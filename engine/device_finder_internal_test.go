package engine

import (
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
)

// Catches pairs of unequal keys, whose hashes of 64 bits no input makes equal.
func TestVerifyPairs(t *testing.T) {
	keys := new(rowdata.Bound)
	keys.Keys.Words = 2
	f := &deviceFinder{of: &Hashed{keys: keys}, pairs: []gather.Row{{Row: 0}, {Row: 1}, {Row: 2}}}
	f.numbers[probeRows], f.numbers[buildRows] = []uint32{0, 1, 0}, []uint32{1, 1, 0}
	probe := &deviceSide{packed: []uint64{1, 2, 1, 3}}
	build := &deviceSide{packed: []uint64{1, 4, 1, 2}}
	f.verify(build, probe)
	if !slices.Equal(f.pairs, []gather.Row{{Row: 0}}) {
		t.Errorf("%v, want the pair of {1, 2}", f.pairs)
	}
}
