package kernels

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// distributions of keys over groups.
var distributions = []struct {
	name string
	key  func(r *rand.Rand, row, groups int) uint64
}{
	{"uniform", func(r *rand.Rand, _, groups int) uint64 { return uint64(r.IntN(groups)) }},
	{"distinct", func(_ *rand.Rand, row, _ int) uint64 { return uint64(row) }},
	{"sorted", func(_ *rand.Rand, row, groups int) uint64 { return uint64(row / 37 % groups) }},
	{"heavy", func(r *rand.Rand, _, groups int) uint64 {
		if r.IntN(10) > 0 {
			return 3
		}
		return uint64(r.IntN(groups))
	}},
	{"wide", func(r *rand.Rand, _, groups int) uint64 { return uint64(r.IntN(groups)) * 0x9e3779b97f4a7c15 }},
}

var sorted = Plan{Kernel: KernelSorted}

func runSortedCase(t *testing.T, e *executor, in *input, seed uint64) {
	t.Helper()
	e.reseed(t, seed)
	rows := in.upload(t, e)
	g := allocGroups(t, e, &in.shape, int64(in.count))
	scratch := e.alloc(t, sorted.AggregateScratch(&in.shape, int64(in.count), e.deviceProperties()))
	if err := (operators{e}).Aggregate(&in.shape, sorted, rows, g, scratch); err != nil {
		t.Fatal(err)
	}
	if keys := in.check(t, e, g); !inKeyOrder(keys) {
		t.Error("the groups are not in order of keys")
	}
	if s := readStatus(t, e, g); s.Rows != uint64(in.count) {
		t.Errorf("%d rows aggregated of %d", s.Rows, in.count)
	}
}

// Catches wrong runs at the edges of steps, warps and tiles.
func TestSortedSizes(t *testing.T) {
	e := openExecutor(t, 0, "sort_*.cu", "segment_*.cu")
	for _, count := range []int{0, 1, 2, 31, 32, 33, 255, 256, 257, segmentTile - 1, segmentTile + 1, sortTile, sortTile + 1, 10000} {
		for _, groups := range []int{1, 7, 5000} {
			t.Run(fmt.Sprintf("rows=%d/groups=%d", count, groups), func(t *testing.T) {
				in := makeInput(sumShape(4), count, uint64(count), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(groups)) })
				runSortedCase(t, e, in, uint64(groups))
			})
		}
	}
}

func TestSortedFolds(t *testing.T) {
	e := openExecutor(t, 0, "sort_*.cu", "segment_*.cu")
	for w, keyBytes := range []int{4, 8, 16, 64} {
		for i, d := range distributions {
			if !triedInShort(w+i, 2) {
				continue
			}
			t.Run(fmt.Sprintf("key=%d/%s", keyBytes, d.name), func(t *testing.T) {
				in := makeInput(allFolds(keyBytes), segmentTile+100, uint64(keyBytes+i), i%2 == 0, func(r *rand.Rand, row int) uint64 { return d.key(r, row, 300) })
				runSortedCase(t, e, in, uint64(keyBytes*10+i))
			})
		}
	}
}

// Groups beyond the capacity are counted, not written.
func TestSortedWithoutRoom(t *testing.T) {
	in := makeInput(sumShape(8), 5000, 1, false, func(r *rand.Rand, row int) uint64 { return uint64(row % 100) })
	e := openExecutor(t, 1, "sort_*.cu", "segment_*.cu")
	g := allocGroups(t, e, &in.shape, 90)
	scratch := e.alloc(t, sorted.AggregateScratch(&in.shape, int64(in.count), e.deviceProperties()))
	if err := (operators{e}).Aggregate(&in.shape, sorted, in.upload(t, e), g, scratch); err != nil {
		t.Fatal(err)
	}
	want := GroupsStatus{Groups: 100, Rows: 4500, Overflow: 500}
	if got := readStatus(t, e, g); got != want {
		t.Errorf("status %+v, want %+v", got, want)
	}
}

// Folds that sort are for the sorted kernel alone.
func TestSortedAlone(t *testing.T) {
	shape := Shape{KeyBytes: 8, Columns: []ColumnType{Int64}, Folds: []Fold{{Op: CountDistinct, Column: 0, Other: -1}}}
	in := makeInput(shape, 100, 1, false, func(_ *rand.Rand, row int) uint64 { return uint64(row) })
	e := openExecutor(t, 1, "sort_*.cu", "segment_*.cu")
	rows, into := in.upload(t, e), allocGroups(t, e, &shape, 100)
	if err := (operators{e}).Aggregate(&shape, Plan{Kernel: KernelLinear}, rows, into, e.alloc(t, 1<<16)); !errors.Is(err, errSorts) {
		t.Errorf("a table took them: %v", err)
	}
	if err := (operators{e}).ResetTable(&shape, Table{Slots: 8, Memory: e.alloc(t, 1<<16)}); !errors.Is(err, errSorts) {
		t.Errorf("a table was made for them: %v", err)
	}
	if plan := Choose(&shape, Estimate{Rows: 100}, e.deviceProperties()); plan.Kernel != KernelSorted {
		t.Errorf("the %s kernel was chosen", plan.Kernel)
	}
}
