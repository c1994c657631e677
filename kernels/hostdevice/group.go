package hostdevice

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// grouper numbers keys in the order in which they come, up to a limit.
type grouper struct {
	keyBytes int
	limit    int
	keys     []byte   // of the groups
	count    int      // of the groups
	slots    []uint32 // group + 1, by hash; 0 is empty
	probes   uint64
}

// noGroup is the number of a key beyond the limit.
const noGroup = -1

func newGrouper(keyBytes, limit int) *grouper {
	return &grouper{keyBytes: keyBytes, limit: limit, slots: make([]uint32, 64)}
}

func (g *grouper) find(key []byte, hash uint64) int {
	if 2*g.count >= len(g.slots) {
		g.grow()
	}
	for slot := hash; ; slot++ {
		at := &g.slots[slot%uint64(len(g.slots))]
		g.probes++
		if *at == 0 {
			if g.count == g.limit {
				return noGroup
			}
			g.keys = append(g.keys, key...)
			g.count++
			*at = uint32(g.count)
			return g.count - 1
		}
		if i := int(*at-1) * g.keyBytes; bytes.Equal(g.keys[i:i+g.keyBytes], key) {
			return int(*at - 1)
		}
	}
}

func (g *grouper) grow() {
	g.slots = make([]uint32, 4*len(g.slots))
	for i, hash := range hashes(g.keys, g.keyBytes, g.count, 0) {
		slot := hash % uint64(len(g.slots))
		for g.slots[slot] != 0 {
			slot = (slot + 1) % uint64(len(g.slots))
		}
		g.slots[slot] = uint32(i + 1)
	}
}

// findAll returns the groups of keys, and how many had none.
func (g *grouper) findAll(keys []byte, count int) (gids []int, overflow int) {
	gids = make([]int, count)
	for i, hash := range hashes(keys, g.keyBytes, count, 0) {
		gids[i] = g.find(keys[i*g.keyBytes:(i+1)*g.keyBytes], hash)
		if gids[i] == noGroup {
			overflow++
		}
	}
	return gids, overflow
}

// groupsMax is how many groups a plan has slots for: families that bring all groups to one table are held to the slots of
// that table.
func groupsMax(plan kernels.Plan) int {
	switch plan.Kernel {
	case kernels.KernelShared, kernels.KernelLinear, kernels.KernelTwoPhase:
		if plan.Slots > 0 {
			return int(plan.Slots)
		}
	}
	return int(^uint32(0))
}

func aggregate(shape *kernels.Shape, plan kernels.Plan, in *rows, out *groups) {
	out.group(shape, plan, in.keys, in.count, func(f *folder, _ int, gids []int, to *states) {
		f.accumulate(in, gids, to)
	})
}

// accumulate folds rows into the states of their groups, if they have one.
func (f *folder) accumulate(in *rows, gids []int, to *states) {
	var buffer [8]uint64
	w := buffer[:f.words]
	for i, g := range gids {
		if g != noGroup && f.row(in, i, w) {
			f.merge(to.at(g, f.words), w)
		}
	}
}

func merge(shape *kernels.Shape, plan kernels.Plan, keys []byte, from []states, count int, out *groups) {
	out.group(shape, plan, keys, count, func(f *folder, fold int, gids []int, to *states) {
		for i, g := range gids {
			if g != noGroup {
				f.merge(to.at(g, f.words), from[fold].at(i, f.words))
			}
		}
	})
}

// group finds the groups of keys and writes those that there is room for, with states by fold.
func (out *groups) group(shape *kernels.Shape, plan kernels.Plan, keys []byte, count int, fold func(f *folder, i int, gids []int, to *states)) {
	g := newGrouper(shape.KeyBytes, groupsMax(plan))
	gids, overflow := g.findAll(keys, count)
	for i, gid := range gids {
		if gid >= out.capacity {
			gids[i] = noGroup
			overflow++
		}
	}
	written := min(g.count, out.capacity)
	place := make([]int, written) // of each group
	for i := range place {
		place[i] = i
	}
	if plan.Kernel == kernels.KernelSorted && overflow == 0 {
		sorted := slices.Clone(place)
		slices.SortFunc(sorted, func(a, b int) int {
			return compareKeys(g.keys[a*g.keyBytes:(a+1)*g.keyBytes], g.keys[b*g.keyBytes:(b+1)*g.keyBytes])
		})
		for i, group := range sorted {
			place[group] = i
		}
	}
	for group, i := range place {
		copy(out.keys[i*g.keyBytes:(i+1)*g.keyBytes], g.keys[group*g.keyBytes:])
	}
	for i, group := range gids {
		if group != noGroup {
			gids[i] = place[group]
		}
	}
	for i, f := range folders(shape) {
		to := &out.states[i]
		for group := range written {
			f.reset(to.at(group, f.words))
		}
		fold(&f, i, gids, to)
	}
	*out.status = kernels.GroupsStatus{Groups: uint64(g.count), Rows: uint64(count - overflow), Overflow: uint64(overflow), Probes: g.probes}
}

// compareKeys orders keys as unsigned integers, word by word.
func compareKeys(a, b []byte) int {
	if len(a) == 4 {
		return cmp.Compare(view[uint32](a)[0], view[uint32](b)[0])
	}
	return slices.Compare(view[uint64](a), view[uint64](b))
}
