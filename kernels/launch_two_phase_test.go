package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func runTwoPhase(t *testing.T, e *executor, in *input, plan Plan, seed uint64) GroupsStatus {
	t.Helper()
	e.reseed(t, seed)
	rows := in.upload(t, e)
	g := allocGroups(t, e, &in.shape, int64(in.count))
	scratch := e.alloc(t, plan.AggregateScratch(&in.shape, int64(in.count), e.deviceProperties()))
	if err := (operators{e}).Aggregate(&in.shape, plan, rows, g, scratch); err != nil {
		t.Fatal(err)
	}
	s := readStatus(t, e, g)
	if s.Overflow == 0 {
		in.check(t, e, g)
	}
	if s.Rows+s.Overflow != uint64(in.count) {
		t.Errorf("%d rows aggregated and %d overflow of %d", s.Rows, s.Overflow, in.count)
	}
	return s
}

// Catches a group of which both phases have rows, and warps that combine rows of different groups.
func TestTwoPhaseFolds(t *testing.T) {
	e := openExecutor(t, 0, "two_phase_*.cu", "table_*.cu")
	for _, keyBytes := range []int{4, 8, 16, 64} {
		for i, d := range distributions {
			t.Run(fmt.Sprintf("key=%d/%s", keyBytes, d.name), func(t *testing.T) {
				in := makeInput(allFolds(keyBytes), 1000, uint64(keyBytes+i), i%2 == 0, func(r *rand.Rand, row int) uint64 { return d.key(r, row, 300) })
				plan := Plan{Kernel: KernelTwoPhase, Groups: 300, Slots: 311}
				if d.name == "distinct" {
					plan.Groups, plan.Slots = 1000, 1000
				}
				if s := runTwoPhase(t, e, in, plan, uint64(keyBytes*10+i)); s.Overflow != 0 {
					t.Errorf("status %+v", s)
				}
			})
		}
	}
}

func TestTwoPhaseSizes(t *testing.T) {
	e := openExecutor(t, 0, "two_phase_*.cu", "table_*.cu")
	for _, count := range []int{0, 1, 2, 31, 32, 33, lookThreads*lookRows - 1, lookThreads*lookRows + 1, 9000} {
		for _, groups := range []int{1, 7, 5000} {
			t.Run(fmt.Sprintf("rows=%d/groups=%d", count, groups), func(t *testing.T) {
				in := makeInput(sumShape(4), count, uint64(count), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(groups)) })
				if s := runTwoPhase(t, e, in, Plan{Kernel: KernelTwoPhase, Groups: int64(groups)}, uint64(groups)); s.Overflow != 0 {
					t.Errorf("status %+v", s)
				}
			})
		}
	}
}

// A table of half as many slots as groups loses rows, and says how many.
func TestTwoPhaseOverflow(t *testing.T) {
	e := openExecutor(t, 0, "two_phase_*.cu", "table_*.cu")
	for _, keyBytes := range []int{4, 8, 16} {
		in := makeInput(sumShape(keyBytes), 3000, 1, false, func(_ *rand.Rand, row int) uint64 { return uint64(row) })
		if s := runTwoPhase(t, e, in, Plan{Kernel: KernelTwoPhase, Slots: 1000}, 1); s.Overflow == 0 {
			t.Errorf("keys of %d B: status %+v", keyBytes, s)
		}
	}
}

// The average probes of a row at a load factor must be no more than those of Wang, Shen, Lei, 2025,
// table 1, which go from 1.66 to 2.13; linear probing's go from 5.64 to 53.56. All keys are
// different, so that the load factor is what the table ends with. (Of linear probing a few rows may
// give up.)
func TestTwoPhaseProbes(t *testing.T) {
	const slots = 20000
	e := openExecutor(t, 7, "two_phase_*.cu", "table_*.cu")
	t.Log("load factor   SP-EGA    LPHGA")
	for _, load := range []int{91, 93, 95, 97, 99} {
		shape := Shape{KeyBytes: 4, Columns: []ColumnType{Uint32}, Folds: []Fold{{Op: Sum64, Column: 0, Other: -1}}}
		in := makeInput(shape, slots*load/100, 3, false, func(_ *rand.Rand, row int) uint64 { return uint64(row + 100) })
		var probes [2]float64
		for i, kernel := range []Kernel{KernelTwoPhase, KernelLinear} {
			s := runTwoPhase(t, e, in, Plan{Kernel: kernel, Slots: slots}, 7)
			if s.Overflow != 0 && kernel == KernelTwoPhase {
				t.Fatalf("status %+v", s)
			}
			probes[i] = float64(s.Probes) / float64(in.count)
		}
		t.Logf("%10.2f %10.2f %8.2f", float64(load)/100, probes[0], probes[1])
		if probes[0] > 1.66+(2.13-1.66)*float64(load-91)/8 || probes[0] >= probes[1] {
			t.Errorf("load factor .%d: %.2f probes", load, probes[0])
		}
	}
}
