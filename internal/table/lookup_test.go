package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

// Would catch vectors that take a key for another with its salt, an empty slot for a group, or that
// read beyond the slots; and ones that miss what the Go loop would be asked for in vain. Hashes are
// chosen: few slots, two salts of which one is 0, the last slots of the table, and all bits set.
func TestLookUp(t *testing.T) {
	for _, words := range []int{1, 2} {
		for _, distinct := range []int{1, 3, 100, 1000} {
			t.Run(fmt.Sprintf("%d words, %d keys", words, distinct), func(t *testing.T) {
				rng := rowtest.Rand(t)
				tbl := New(rowdata.GoMemory, keyLayout(words), 0, false)
				groups := make(map[[2]uint64]uint32)
				for rows := 1; rows <= rowdata.TileRows; rows = 1 + rows*(10+rng.IntN(10))/10 {
					keys, hashes, numbers := make([]uint64, rows*words), make([]uint64, rows), make([]uint32, rows)
					for i := range rows {
						key := uint64(rng.IntN(distinct))
						keys[(i+1)*words-1], keys[i*words] = key/3, key*7
						hashes[i] = []uint64{key / 8, key | 1<<21, ^(key % 16), partition.Mix64(key)}[key%4]
					}
					slots := tbl.slots
					tbl.Reserve(tbl.Len + rows)
					if len(slots) != len(tbl.slots) { // its hashes are not those of keys
						tbl.Len = 0
						clear(tbl.slots)
						clear(groups)
					}
					tbl.fresh = 0
					checkLookUp(t, tbl, keys, hashes, groups)
					findFixed[words-1](tbl, keys, hashes, numbers)
					for i, g := range numbers {
						key := [2]uint64{keys[i*words], keys[(i+1)*words-1]}
						if known, ok := groups[key]; ok && known != g {
							t.Fatalf("row %d: key %v is in groups %d and %d", i, key, known, g)
						}
						groups[key] = g
					}
					if tbl.Len != len(groups) {
						t.Fatalf("%d groups of %d keys", tbl.Len, len(groups))
					}
				}
			})
		}
	}
}

// checkLookUp looks keys up, whose groups are known where the table has them.
func checkLookUp(t *testing.T, tbl *Table, keys, hashes []uint64, groups map[[2]uint64]uint32) {
	t.Helper()
	const untouched = 1 << 31
	words, rows := tbl.Layout.Words, len(hashes)
	numbers := slices.Repeat([]uint32{untouched}, rows)
	tbl.keys = rowdata.GrowWords(tbl.memory, tbl.keys, (tbl.Len+rows)*words)
	missed := slices.Clone(tbl.lookUp(keys, hashes, numbers))
	if !slices.IsSorted(missed) {
		t.Fatalf("rows that are missed: %v", missed)
	}
	for i, g := range numbers {
		group, ok := groups[[2]uint64{keys[i*words], keys[(i+1)*words-1]}]
		_, isMissed := slices.BinarySearch(missed, uint32(i))
		first := int(hashes[i]) & (len(tbl.slots) - 1)
		switch {
		case isMissed != (g == untouched):
			t.Fatalf("row %d: group %d, and missed: %t", i, g, isMissed)
		case !isMissed && (!ok || g != group):
			t.Fatalf("row %d: group %d, want %d (%t)", i, g, group, ok)
		case isMissed && len(missed) < rows && ok && first < len(tbl.slots)-3 && uint32(tbl.slots[first]) == group+1:
			t.Fatalf("row %d: missed, though its first slot %d has it", i, first)
		}
	}
}
