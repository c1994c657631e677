package partition

import (
	"cmp"
	"container/heap"
	"slices"
)

// Merge joins small partitions into sets of at most limit, given each partition's size in the unit
// of limit. The sets hold indexes of sizes, ascending, and stand in the order of their first index.
// A partition larger than limit is a set of its own; a partition of size 0 has nothing to process
// and is in no set.
//
// It is Algorithm 1 of Wang, Shen and Lei (Applied Sciences 2025, section 4.2.3): the smallest
// partition takes the next smallest as long as they fit, until the two smallest do not fit
// together. Any two sets then exceed limit, so that there are fewer than twice as many as the
// fewest possible (Theorem 2). There a merged size must stay below k; here it may reach limit.
//
// Requires: sizes are not negative.
func Merge(sizes []int64, limit int64) [][]int {
	var small setHeap
	var done [][]int
	for i, size := range sizes {
		switch {
		case size > limit:
			done = append(done, []int{i})
		case size > 0:
			small = append(small, set{size, []int{i}})
		}
	}
	heap.Init(&small)
	for len(small) > 0 {
		s := heap.Pop(&small).(set)
		alone := true
		for len(small) > 0 && small[0].size <= limit-s.size {
			next := heap.Pop(&small).(set)
			s.size += next.size
			s.members = append(s.members, next.members...)
			alone = false
		}
		if alone {
			done = append(done, s.members)
		} else {
			heap.Push(&small, s)
		}
	}
	for _, members := range done {
		slices.Sort(members)
	}
	slices.SortFunc(done, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return done
}

// MergeNeighbours joins neighbouring partitions into sets of at most limit, as Merge does any: a set takes the next
// partition while it fits. No two sets that follow each other fit together, so that there are fewer than twice as many
// as the fewest possible, too; where partitions are about as large as each other, there are as many as Merge's. The
// rows of neighbours lie side by side where rows lie by partition.
//
// Requires: as Merge.
func MergeNeighbours(sizes []int64, limit int64) (sets [][]int) {
	room := int64(-1) // of the last set
	for i, size := range sizes {
		switch {
		case size == 0:
			continue
		case size <= room:
			sets[len(sets)-1] = append(sets[len(sets)-1], i)
		default:
			sets = append(sets, []int{i})
			room = max(limit, size)
		}
		room -= size
	}
	return sets
}

// set is partitions to be processed together.
type set struct {
	size    int64
	members []int
}

// setHeap has the smallest set first; among sets of one size, the set whose first member is lowest,
// so that equal sizes give equal sets.
type setHeap []set

func (h setHeap) Len() int      { return len(h) }
func (h setHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h setHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].size, h[j].size), cmp.Compare(h[i].members[0], h[j].members[0])) < 0
}

func (h *setHeap) Push(s any) { *h = append(*h, s.(set)) }

func (h *setHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
