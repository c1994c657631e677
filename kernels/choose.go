package kernels

import (
	"fmt"
	"math/bits"
)

// Estimate is what is known of rows before they are grouped.
type Estimate struct {
	Rows   int64
	Groups int64 // 0: unknown
	// Ordered: groups are wanted in order of their keys' words.
	Ordered bool
}

// Choose picks a kernel and its parameters for rows on a device (Wu et al., SIGMOD 2025, figure 21).
// A wrong estimate costs time, never the answer: what a block's table refuses goes to the table in
// device memory, and what finds no slot there is counted.
func Choose(shape *Shape, e Estimate, device Properties) Plan {
	groups := e.Groups
	if groups <= 0 || groups > e.Rows {
		groups = e.Rows
	}
	p := programFor(shape, &noBitmaps)
	sharedMax := sharedSlotsMax(shape, p, device) * sharedGroupsPercent / 100
	plan := Plan{Groups: groups}
	switch {
	case e.Ordered:
		plan.Kernel = KernelSorted
		plan.Reason = "groups in order of keys: a sort"
	case groups <= sharedMax:
		plan.Kernel = KernelShared
		plan.Reason = fmt.Sprintf("about %d groups: a table of up to %d in each block's shared memory", groups, sharedMax)
	default:
		plan.Kernel = KernelScattered
	}
	plan = plan.withDefaults(shape, e.Rows, device)
	if plan.Kernel == KernelScattered {
		plan.Reason = fmt.Sprintf("about %d groups: %d partitions, each in a block's shared memory", groups, 1<<plan.RadixBits)
	}
	return plan
}

// noBitmaps are those of columns without NULLs.
var noBitmaps [ColumnsMax]uint64

const (
	// sharedGroupsPercent of the slots of a block's table is how full KernelShared may expect it.
	sharedGroupsPercent = 60
	// partitionGroupsPercent is the same for a partition's table.
	partitionGroupsPercent = 70
	// partitionRows is how many rows a partition has at most, so that there are enough to keep
	// every multiprocessor at work. Fewer, larger partitions are scattered faster: of 1e8 rows with
	// 1e6 groups, 256 take 2.6 ms in all and 1024 take 3.3 (bench kernels, H100).
	partitionRows = 512 << 10
	radixBitsMin  = 5
)

// withDefaults fills the parameters that are zero.
func (p Plan) withDefaults(shape *Shape, rows int64, device Properties) Plan {
	if p.Groups == 0 {
		p.Groups = rows
	}
	perPartition := max(1, sharedSlotsMax(shape, programFor(shape, &noBitmaps), device)*partitionGroupsPercent/100)
	if p.Kernel == KernelScattered && p.RadixBits == 0 {
		partitions := max(ceilDiv(p.Groups, perPartition), ceilDiv(rows, partitionRows), 1)
		p.RadixBits = min(max(bits.Len64(uint64(partitions-1)), radixBitsMin), radixBitsMax)
	}
	if p.Slots > 0 {
		return p
	}
	switch p.Kernel {
	case KernelShared:
		p.Slots = 4*p.Groups + 64
	case KernelScattered:
		// The groups of partitions that are cut, and of those that are too large.
		beyond := max(0, p.Groups-perPartition<<p.RadixBits)
		p.Slots = 2*min(p.Groups, max(rows/32, 1<<12)+beyond) + 64
	case KernelTwoPhase:
		p.Slots = p.Groups + 64
	default:
		p.Slots = 2*p.Groups + 64
	}
	return p
}
