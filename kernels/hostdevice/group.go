package hostdevice

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// noGroup is the group of a key that no group or slot was left for.
const noGroup = -1

// findGroups numbers keys in the order in which they come, up to a limit. It returns the group of
// each key, the keys of the groups, and how many keys have no group.
func findGroups(keys []byte, keyBytes, count, limit int) (gids []int, groups []byte, overflow int) {
	gids = make([]int, count)
	slots := make([]uint32, 2*count) // group + 1, by hash; 0 is empty
	for i, hash := range hashes(keys, keyBytes, count, 0) {
		key := keys[i*keyBytes : (i+1)*keyBytes]
		slot := hash % uint64(len(slots))
		for slots[slot] != 0 && !bytes.Equal(groups[int(slots[slot]-1)*keyBytes:int(slots[slot])*keyBytes], key) {
			slot = (slot + 1) % uint64(len(slots))
		}
		switch {
		case slots[slot] != 0:
			gids[i] = int(slots[slot] - 1)
		case len(groups)/keyBytes == limit:
			gids[i] = noGroup
			overflow++
		default:
			gids[i] = len(groups) / keyBytes
			groups = append(groups, key...)
			slots[slot] = uint32(gids[i] + 1)
		}
	}
	return gids, groups, overflow
}

// groupsMax is how many groups a plan has slots for: families that bring all groups to one table
// are held to the slots of that table.
func groupsMax(plan kernels.Plan) int {
	switch plan.Kernel {
	case kernels.KernelShared, kernels.KernelLinear, kernels.KernelTwoPhase, kernels.KernelSortedCodes,
		kernels.KernelThreadPrivate, kernels.KernelBlockPrivate, kernels.KernelBlockRanks:
		if plan.Slots > 0 {
			return int(plan.Slots)
		}
	}
	return int(^uint32(0))
}

// aggregate finds the groups of rows and writes the groups that there is room for.
func aggregate(shape *kernels.Shape, plan kernels.Plan, in *rows, out *groups) {
	k := shape.KeyBytes
	gids, keys, overflow := findGroups(in.keys, k, in.count, groupsMax(plan))
	for i, gid := range gids {
		if gid >= out.capacity {
			gids[i] = noGroup
			overflow++
		}
	}
	place := make([]int, min(len(keys)/k, out.capacity)) // of each group that is written
	for i := range place {
		place[i] = i
	}
	if (plan.Kernel == kernels.KernelSorted || plan.Kernel == kernels.KernelSortedColumns) && overflow == 0 {
		sorted := slices.Clone(place)
		slices.SortFunc(sorted, func(a, b int) int { return compareKeys(keys[a*k:(a+1)*k], keys[b*k:(b+1)*k]) })
		for i, group := range sorted {
			place[group] = i
		}
	}
	for group, i := range place {
		copy(out.keys[i*k:(i+1)*k], keys[group*k:])
	}
	for i, f := range folders(shape) {
		to := &out.states[i]
		if f.Op.Sorts() {
			f.sorted(to, in, gids, place)
			continue
		}
		for group := range place {
			f.reset(to.at(group, f.words))
		}
		for row, group := range gids {
			if group != noGroup {
				f.addRow(to.at(place[group], f.words), in, row)
			}
		}
	}
	*out.status = kernels.GroupsStatus{Groups: uint64(len(keys) / k),
		Rows: uint64(in.count - overflow), Overflow: uint64(overflow)}
}

// compareKeys orders keys as unsigned integers, word by word.
func compareKeys(a, b []byte) int {
	if len(a) == 4 {
		return cmp.Compare(view[uint32](a)[0], view[uint32](b)[0])
	}
	return slices.Compare(view[uint64](a), view[uint64](b))
}
