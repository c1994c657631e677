package kernels

import (
	"fmt"
	"math/bits"
)

// Estimate foretells rows before they are grouped.
type Estimate struct {
	Rows   int64
	Groups int64 // 0: unknown
}

// Choose picks a kernel and its parameters for rows on a device (Wu et al., SIGMOD 2025, figure
// 21). A wrong estimate costs time, never the answer: what a block's table refuses goes to the
// table in device memory, and what finds no slot there is counted.
func Choose(shape *Shape, e Estimate, device Properties) Plan {
	groups := e.Groups
	if groups <= 0 || groups > e.Rows {
		groups = e.Rows
	}
	if shape.Sorts() {
		return Plan{Kernel: KernelSorted, Groups: groups, Reason: errSorts.Error()}
	}
	p, sharedMax := sharedProgram(shape, programFor(shape, &noBitmaps), groups, device)
	plan := Plan{Groups: groups}
	switch {
	case groups <= sharedMax:
		plan.Kernel = KernelShared
		plan.Reason = fmt.Sprintf("about %d groups, and a block's shared memory has room for %d", groups, sharedMax)
	case groups <= sharedMax*int64(sharesFor(shape, p, groups, device)):
		plan.Kernel = KernelShared
		plan.Reason = fmt.Sprintf(
			"about %d groups, and a block's shared memory has room for %d: shares of the keys for %d blocks each",
			groups, sharedMax, sharesFor(shape, p, groups, device))
	default:
		plan.Kernel = KernelScattered
	}
	plan = plan.WithDefaults(shape, e.Rows, device)
	if plan.Kernel == KernelScattered {
		passes := "one pass"
		if firstBits(plan.RadixBits, device) > 0 {
			passes = "two passes"
		}
		plan.Reason = fmt.Sprintf("about %d groups, and a block's shared memory has room for %d: %d partitions in %s",
			groups, sharedMax, 1<<plan.RadixBits, passes)
	}
	return plan
}

// noBitmaps are the addresses of bitmaps where no column has NULLs.
var noBitmaps [ColumnsMax]uint64

const (
	// partitionRows is how many rows a partition has at most, so that there are enough to keep
	// every multiprocessor at work; pairs are scattered so fast that more partitions pay. 1e8 rows
	// of 1e6 groups in 256, 512 and 1024 partitions: pairs 1.31, 1.25, 1.41 ms, of 8 bytes each key
	// and value 2.81, 3.11, 3.14 (H100).
	partitionRows     = 512 << 10
	partitionRowsPair = 256 << 10
	// partitionRowsMin is how many it has at least, where the number is chosen.
	partitionRowsMin = 2 << 10
	radixBitsMin     = 5
)

// WithDefaults fills the parameters that are zero, for an input of `rows` rows.
func (p Plan) WithDefaults(shape *Shape, rows int64, device Properties) Plan {
	if p.Groups == 0 {
		p.Groups = rows
	}
	tuned, program := tuningFor(device), p.program(shape, &noBitmaps)
	slots := sharedSlotsMax(shape, program, device)
	if p.scatters() && p.RadixBits == 0 {
		most := int64(partitionRows)
		if program.scattersPairs(shape) {
			most = partitionRowsPair
		}
		bitsFor := func(percent int) int {
			groups := max(1, slots*int64(percent)/100)
			partitions := max(ceilDiv(p.Groups, groups), ceilDiv(rows, most), 1)
			return max(bits.Len64(uint64(partitions-1)), radixBitsMin)
		}
		if p.RadixBits = bitsFor(tuned.onePassPercent); p.RadixBits > tuned.singleBits {
			p.RadixBits = bitsFor(tuned.twoPassPercent)
		}
		if claimsPay(shape, program, p.Groups, rows) {
			p.RadixBits = max(p.RadixBits, bits.Len64(uint64(ceilDiv(p.Groups, claimGroupsMean)-1)))
		}
		p.RadixBits = min(p.RadixBits, partitionBitsMax(device), max(radixBitsMin, bits.Len64(uint64(rows/partitionRowsMin))))
	}
	if p.Slots > 0 {
		return p
	}
	switch p.Kernel {
	case KernelShared, KernelBlockPrivate, KernelThreadPrivate:
		p.Slots = 4*p.Groups + 64
	case KernelScattered, KernelNumbered:
		// The groups of partitions that are cut, and the groups beyond a block's table in
		// partitions that are too large.
		beyond := max(0, p.Groups-slots*70/100<<p.RadixBits)
		cut := rows / 32
		if claimsPay(shape, program, p.Groups, rows) {
			cut = rows / 64
		}
		p.Slots = 2*min(p.Groups, max(cut, 1<<12)+beyond) + 64
	case KernelTwoPhase:
		p.Slots = p.Groups + 64
	case KernelBlockRanks:
		p.Slots = 2 * rows // of the set, however few the groups are
	default:
		p.Slots = 2*p.Groups + 64
	}
	return p
}

// scatters reports whether the plan's kernel scatters rows before it groups them.
func (p Plan) scatters() bool { return p.Kernel == KernelScattered || p.Kernel == KernelNumbered }

// program returns the program that the plan's kernel has for a shape: KernelNumbered has fewer, and never has pairs.
func (p Plan) program(shape *Shape, valid *[ColumnsMax]uint64) program {
	version := programFor(shape, valid)
	if p.Kernel != KernelNumbered {
		return version
	}
	if !version.scattersPairs(shape) {
		return program{name: generalProgram, slotBytes: 8 * shape.StateWords()}
	}
	version.ofPairs = false
	return version
}
