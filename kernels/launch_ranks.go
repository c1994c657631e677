package kernels

import (
	"fmt"
	"math"
)

// Of params_ranks.h.
const (
	rankThreads = 128
	blockRanks  = 128
	slotsAtOnce = 4
)

// rankBlocks is how many blocks of rank_rows a multiprocessor of 2,048 threads has at work.
const rankBlocks = 16

// rankLaunch is RankLaunch.
type rankLaunch struct {
	launch      launchParam
	slots       uint64
	set         uint64
	ranks       uint64
	groups      uint64
	blockRows   uint64
	blockCounts uint64
	tooMany     uint64
}

// ranksLayout is the scratch of KernelBlockRanks. What is as large as the rows is so however few the groups are.
type ranksLayout struct {
	scratchLayout
	blocks, slots                                       int64
	set, ranks, groups, blockRows, blockCounts, tooMany int64
}

func layoutRanks(plan Plan, rows int64, device Properties) ranksLayout {
	var l ranksLayout
	l.blocks = max(1, min(ceilDiv(rows, rankThreads), int64(device.Multiprocessors)*rankBlocks))
	l.slots = ceilDiv(plan.Slots, slotsAtOnce) * slotsAtOnce
	l.set = l.take(4 * l.slots)
	l.ranks, l.groups = l.take(4*rows), l.take(4*rows)
	l.blockRows, l.blockCounts = l.take(4*blockRanks*l.blocks), l.take(4*l.blocks)
	l.tooMany = l.take(4)
	return l
}

// aggregateRanks is libcudf's group-by, as ranks.cuh describes it.
func (o *operation) aggregateRanks(shape *Shape, plan Plan, device Properties, at uint64) {
	rows := int64(o.param.rows.count)
	if rows > math.MaxUint32 {
		o.err = fmt.Errorf("%d rows: %w", rows, errTooManyRows)
		return
	}
	l := layoutRanks(plan, rows, device)
	p := rankLaunch{launch: o.param, slots: uint64(l.slots), set: at + uint64(l.set), ranks: at + uint64(l.ranks),
		groups: at + uint64(l.groups), blockRows: at + uint64(l.blockRows), blockCounts: at + uint64(l.blockCounts),
		tooMany: at + uint64(l.tooMany)}
	o.fill(p.set, 4*l.slots, 0xFF)
	o.fill(p.tooMany, 4, 0)
	blocks := int(l.blocks)
	launchWith(o, "rank_rows"+keySuffix(shape), blocks, rankThreads, 0, &p)
	launchWith(o, "rank_globally"+keySuffix(shape), blocks, rankThreads, 0, &p)
	launchWith(o, "rank_groups", o.blocksFor(l.slots/slotsAtOnce), launchThreads, 0, &p)
	o.sumRanks(shape, device, p, blocks)
	launchWith(o, "rank_merge", blocks, rankThreads, 0, &p)
	launchWith(o, "rank_export", o.blocksFor(min(rows, int64(p.launch.groups.capacity))), launchThreads, 0, &p)
}

// sumRanks adds the launches of rank_sums: as many folds at a time as a block's shared memory has room for, as there.
func (o *operation) sumRanks(shape *Shape, device Properties, p rankLaunch, blocks int) {
	version := programFor(shape, &o.param.rows.valid)
	if len(shape.Folds) != 1 {
		version = program{name: generalProgram}
	}
	most := max(blockSharedBytes(device, rankBlocks)/(8*blockRanks), 8) // words: a fold has up to 8
	part, from := Shape{KeyBytes: shape.KeyBytes, Columns: shape.Columns}, 0
	for i, f := range shape.Folds {
		part.Folds = append(part.Folds, f)
		words := part.StateWords()
		if i+1 < len(shape.Folds) && words+shape.Folds[i+1].Words() <= most {
			continue
		}
		p.launch.shape = makeShapeParam(&part)
		p.launch.groups.states = [FoldsMax]uint64{}
		copy(p.launch.groups.states[:], o.param.groups.states[from:i+1])
		bytes := 8 * words
		if version.name != generalProgram {
			bytes = version.slotBytes
		}
		launchWith(o, "rank_sums_"+version.name, blocks, rankThreads, blockRanks*bytes, &p)
		part.Folds, from = nil, i+1
	}
}
