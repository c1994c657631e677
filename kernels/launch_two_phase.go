package kernels

import (
	"fmt"
	"math"
)

// Of params_two_phase.h, and kLooks of table_looks.cuh.
const (
	lookThreads = 512
	lookRows    = 4 // of a thread; of wide keys 1
)

// twoPhaseLaunch is TwoPhaseLaunch.
type twoPhaseLaunch struct {
	launch  launchParam
	rest    uint64
	numRest uint64
}

// twoPhaseLayout is the scratch of KernelTwoPhase.
type twoPhaseLayout struct {
	scratchLayout
	table, rest, numRest int64
}

func layoutTwoPhase(shape *Shape, plan Plan, rows int64) twoPhaseLayout {
	var l twoPhaseLayout
	l.table = l.take(shape.TableBytes(plan.Slots))
	l.rest = l.take(4 * rows)
	l.numRest = l.take(8)
	return l
}

// aggregateTwoPhase is SP-EGA in its five phases: one look at one slot for every row; the groups
// are collected and the table emptied; the rows that found their slot taken are listed (with the
// first phase), and probe linearly; their groups are collected behind the others. The table may be
// as small as the groups are many.
func (o *operation) aggregateTwoPhase(shape *Shape, plan Plan, at uint64) {
	rows := int64(o.param.rows.count)
	if rows > math.MaxUint32 {
		o.err = fmt.Errorf("%d rows: %w", rows, errTooManyRows)
		return
	}
	l := layoutTwoPhase(shape, plan, rows)
	o.useTable(plan.Slots, at+uint64(l.table))
	o.param.probeMax = uint32(min(plan.Slots, math.MaxUint32)) // all slots, before a row is lost
	rest, numRest := at+uint64(l.rest), at+uint64(l.numRest)
	looks := o.looksFor(shape, rows)
	phase := func(kernel string) {
		p := twoPhaseLaunch{launch: o.param, rest: rest, numRest: numRest}
		launchWith(o, kernel+looks.version, looks.blocks, lookThreads, looks.sharedBytes, &p)
	}
	o.fill(numRest, 8, 0)
	o.resetTable()
	phase("two_phase_first")
	o.compactTable()
	o.resetTable()
	phase("two_phase_rest")
	o.compactTable()
}
