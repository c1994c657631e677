package kernels

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// runRanks groups rows by ranks, with a number of slots, or as many as there are by default, and room for a number of
// groups. It returns the status, and whether a block had too many keys.
func runRanks(t *testing.T, e *executor, in *input, slots, capacity int64, seed uint64) (GroupsStatus, bool) {
	t.Helper()
	e.reseed(t, seed)
	rows, device := int64(in.count), e.deviceProperties()
	plan := Plan{Kernel: KernelBlockRanks, Slots: slots}.WithDefaults(&in.shape, rows, device)
	g := allocGroups(t, e, &in.shape, capacity)
	scratch := e.alloc(t, plan.AggregateScratch(&in.shape, rows, device))
	if err := (operators{e}).Aggregate(&in.shape, plan, in.upload(t, e), g, scratch); err != nil {
		t.Fatal(err)
	}
	tooMany := e.download(t, scratch.At(layoutRanks(plan, rows, device).tooMany), 4)
	s := readStatus(t, e, g)
	if s.Overflow == 0 {
		in.check(t, e, g)
	}
	return s, binary.LittleEndian.Uint32(tooMany) != 0
}

// Would catch a block that refuses the last key that it has room for, or takes one more, in one tile of rows or in
// several.
func TestRankedKeys(t *testing.T) {
	e := openExecutor(t, 0, "rank_*.cu")
	inGrid := rankThreads * rankBlocks * e.deviceProperties().Multiprocessors
	for i, c := range []struct {
		rows, groups int
		tooMany      bool
	}{
		{0, 1, false}, {1, 1, false}, {31, 3, false}, {rankThreads, rankThreads, false}, {inGrid, inGrid, false},
		{5 * inGrid, 1, false}, {5 * inGrid, blockRanks, false}, {5 * inGrid, blockRanks + 1, true},
		{inGrid + 1, inGrid + 1, true}, {3 * inGrid, 3 * inGrid, true},
	} {
		if !triedInShort(i, 2) && !c.tooMany {
			continue
		}
		t.Run(fmt.Sprintf("rows=%d/groups=%d", c.rows, c.groups), func(t *testing.T) {
			in := makeInput(sumShape(8), c.rows, uint64(i), false, func(_ *rand.Rand, row int) uint64 {
				return uint64(row % c.groups)
			})
			s, tooMany := runRanks(t, e, in, 0, int64(c.rows), uint64(i))
			if s.Rows != uint64(c.rows) || s.Overflow != 0 || tooMany != c.tooMany {
				t.Errorf("status %+v, too many keys %t, want %t", s, tooMany, c.tooMany)
			}
		})
	}
}

// Would catch a fold, a width of keys, NULLs or a version for common folds that one of the two ways has otherwise than
// the rest, and states that are more than a block's shared memory has room for.
func TestRankedFolds(t *testing.T) {
	e := openExecutor(t, 0, "rank_*.cu")
	for w, keyBytes := range []int{4, 8, 24} {
		wide := allFolds(keyBytes)
		for len(wide.Folds) < FoldsMax {
			wide.Folds = append(wide.Folds, Fold{Op: Comoments, Column: 4, Other: 2})
		}
		for i, shape := range append(fewFolds(keyBytes), allFolds(keyBytes), wide) {
			for k, groups := range []int{100, 900} {
				if !triedInShort(w+i+k, 3) {
					continue
				}
				t.Run(fmt.Sprintf("key=%d/shape=%d/groups=%d", keyBytes, i, groups), func(t *testing.T) {
					in := makeInput(shape, 4300, uint64(i), i%2 == 1, func(r *rand.Rand, _ int) uint64 {
						return uint64(r.IntN(groups))
					})
					s, tooMany := runRanks(t, e, in, 0, int64(in.count), uint64(i))
					if s.Overflow != 0 || tooMany != (groups > blockRanks) {
						t.Errorf("status %+v, too many keys %t", s, tooMany)
					}
				})
			}
		}
	}
}

// Would catch writes behind the groups that there is room for, and an answer without all groups that does not say so:
// there is no room for them, or the set has too few slots.
func TestRankedOverflow(t *testing.T) {
	e := openExecutor(t, 0, "rank_*.cu")
	for _, groups := range []int{100, 900} {
		in := makeInput(allFolds(8), 4300, 1, false, func(_ *rand.Rand, row int) uint64 { return uint64(row % groups) })
		for _, capacity := range []int64{0, 1, int64(groups) - 1} {
			s, _ := runRanks(t, e, in, 0, capacity, 1)
			if s.Groups != uint64(groups) || int64(s.Overflow) != int64(groups)-capacity {
				t.Errorf("%d groups, room for %d: status %+v", groups, capacity, s)
			}
		}
		for _, slots := range []int64{4, int64(groups) - 2, int64(groups)} {
			s, _ := runRanks(t, e, in, slots, int64(in.count), 1)
			if enough := (slots+3)/4*4 >= int64(groups); (s.Overflow == 0) != enough {
				t.Errorf("%d groups in %d slots: status %+v", groups, slots, s)
			}
		}
	}
}
