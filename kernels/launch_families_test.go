package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// families are the kernels that Choose never picks, but for the sort of row numbers.
var families = []Kernel{KernelNumbered, KernelSortedColumns, KernelSortedCodes, KernelThreadPrivate, KernelBlockPrivate,
	KernelBlockRanks}

// Would catch a family that reads columns, NULLs or keys otherwise than the rest: all folds, with and without NULLs,
// few groups and more than a private table has slots for.
func TestFamilies(t *testing.T) {
	e := openExecutor(t, 0, "*.cu")
	for f, family := range families {
		for w, keyBytes := range []int{4, 8, 24} {
			for i, groups := range []int{3, 100, 900} {
				shape := allFolds(keyBytes)
				if !triedInShort(f+w+i, 3) || family.Takes(&shape) != nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/key=%d/groups=%d", family, keyBytes, groups), func(t *testing.T) {
					in := makeInput(shape, 1200, uint64(i), i == 1, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(groups)) })
					runPlan(t, e, in, Plan{Kernel: family, Groups: int64(groups)}, uint64(i))
				})
			}
		}
	}
}

// Would catch a version of a kernel for a common set of folds that differs, with partitions in two passes, and columns
// of 4 and of 8 bytes that are sorted with the keys.
func TestFamilyPrograms(t *testing.T) {
	e := openExecutor(t, 0, "*.cu")
	for f, family := range families {
		for w, keyBytes := range []int{4, 8} {
			for i, shape := range fewFolds(keyBytes) {
				if !triedInShort(f+w+i, 3) {
					continue
				}
				t.Run(fmt.Sprintf("%s/key=%d/program=%d", family, keyBytes, i), func(t *testing.T) {
					in := makeInput(shape, sortTile+100, uint64(i), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(3000)) * 1_000_003 })
					runPlan(t, e, in, Plan{Kernel: family, Groups: 3000}, uint64(i))
				})
			}
		}
	}
}

// Would catch an order of a column that no fold needs, and folds that no order serves.
func TestColumnRuns(t *testing.T) {
	shape := Shape{KeyBytes: 4, Columns: []ColumnType{Int32, Int64, Int128, Uint32}, Folds: []Fold{
		{Op: Count, Column: -1, Other: -1}, {Op: Max, Column: 0, Other: -1}, {Op: Min, Column: 0, Other: -1},
		{Op: Sum128, Column: 1, Other: -1}, {Op: Sum128, Column: 2, Other: -1}, {Op: Max, Column: 3, Other: -1}, {Op: Comoments, Column: 0, Other: 1},
	}}
	var valid [ColumnsMax]uint64
	valid[3] = 1
	got := fmt.Sprint(columnRuns(&shape, &valid))
	want := fmt.Sprint([]sortRun{{column: -1, moved: 0, reduced: 0b111}, {column: -1, moved: 1, reduced: 0b1000}, {column: -1, moved: -1, reduced: 0b1110000}})
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	shape.Folds = shape.Folds[:1]
	if got := columnRuns(&shape, &valid); len(got) != 1 || got[0].moved != -1 || got[0].reduced != 1 {
		t.Errorf("a count of rows: %v", got)
	}
}

// Would catch an answer that lacks rows and does not say so: tables with fewer slots than there are groups.
func TestFamiliesWithoutSlots(t *testing.T) {
	e := openExecutor(t, 0, "*.cu")
	in := makeInput(allFolds(8), 2000, 5, false, func(r *rand.Rand, row int) uint64 { return uint64(row % 500) })
	for _, family := range []Kernel{KernelSortedCodes, KernelThreadPrivate, KernelBlockPrivate, KernelBlockRanks} {
		plan := Plan{Kernel: family, Groups: 20, Slots: 40}
		g := allocGroups(t, e, &in.shape, int64(in.count))
		scratch := e.alloc(t, plan.AggregateScratch(&in.shape, int64(in.count), e.deviceProperties()))
		if err := (operators{e}).Aggregate(&in.shape, plan, in.upload(t, e), g, scratch); err != nil {
			t.Fatal(err)
		}
		s := readStatus(t, e, g)
		if s.Overflow == 0 {
			t.Errorf("%s: no overflow of 500 groups in 40 slots: %+v", family, s)
		}
		if family == KernelSortedCodes && s.Rows+s.Overflow != uint64(in.count) {
			t.Errorf("%s: %d rows and %d that overflow, of %d", family, s.Rows, s.Overflow, in.count)
		}
	}
}
