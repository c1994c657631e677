package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// fewFolds are the shapes that kernels have versions for.
func fewFolds(keyBytes int) []Shape {
	var shapes []Shape
	for _, p := range programs {
		s := Shape{KeyBytes: keyBytes}
		for _, k := range p.folds {
			f := Fold{Op: k.op, Column: -1, Other: -1}
			if k.typ != noColumn {
				f.Column = len(s.Columns)
				s.Columns = append(s.Columns, k.typ)
			}
			s.Folds = append(s.Folds, f)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// openTables starts the kernels that group in tables.
func openTables(t *testing.T) *executor {
	t.Helper()
	return openExecutor(t, 0, "aggregate_*.cu", "table_*.cu", "partition_*.cu")
}

// runPlan groups the input on the executor and checks the groups.
func runPlan(t *testing.T, e *executor, in *input, plan Plan, seed uint64) {
	t.Helper()
	e.reseed(t, seed)
	g := allocGroups(t, e, &in.shape, int64(in.count))
	scratch := e.alloc(t, plan.AggregateScratch(&in.shape, int64(in.count), e.deviceProperties()))
	if err := (operators{e}).Aggregate(&in.shape, plan, in.upload(t, e), g, scratch); err != nil {
		t.Fatal(err)
	}
	in.check(t, e, g)
	if s := readStatus(t, e, g); s.Rows != uint64(in.count) || s.Overflow != 0 {
		t.Errorf("%d rows aggregated of %d, %d overflow", s.Rows, in.count, s.Overflow)
	}
}

var testedPlans = []Plan{{Kernel: KernelShared}, {Kernel: KernelScattered}, {Kernel: KernelScattered, RadixBits: 1, Groups: 40, Slots: 4096}, {Kernel: KernelLinear}}

// Would catch a version of a kernel that accumulates or keeps keys otherwise than the rest, and
// plans whose tables are too small for all groups.
func TestAggregatePrograms(t *testing.T) {
	e := openTables(t)
	for w, keyBytes := range []int{4, 8} {
		for i, shape := range fewFolds(keyBytes) {
			for k, plan := range testedPlans {
				if !triedInShort(w+i+k, 3) {
					continue
				}
				t.Run(fmt.Sprintf("key=%d/program=%d/plan=%d", keyBytes, i, k), func(t *testing.T) {
					in := makeInput(shape, 3000, uint64(i), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(700)) })
					if plan.Kernel == KernelShared {
						plan.Groups = 100
						plan.Slots = 2048
					}
					runPlan(t, e, in, plan, uint64(i))
				})
			}
		}
	}
}

// Would catch a version of the kernels that look for slots in device memory that adds otherwise than the rest: where
// most rows have a slot of their own, and where the rows of a warp share some. The table of SP-EGA is full in the end.
func TestTablePrograms(t *testing.T) {
	e := openExecutor(t, 0, "table_*.cu", "two_phase_*.cu")
	for w, keyBytes := range []int{4, 8} {
		for i, shape := range fewFolds(keyBytes) {
			for g, groups := range []int{700, 5} {
				for k, plan := range []Plan{{Kernel: KernelLinear, Groups: int64(groups)}, {Kernel: KernelTwoPhase, Slots: int64(groups)}} {
					if !triedInShort(w+i+g+k, 3) {
						continue
					}
					t.Run(fmt.Sprintf("key=%d/program=%d/groups=%d/%s", keyBytes, i, groups, plan.Kernel), func(t *testing.T) {
						in := makeInput(shape, 5000, uint64(i), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(groups)) })
						runPlan(t, e, in, plan, uint64(i+groups))
					})
				}
			}
		}
	}
}

// triedInShort reports whether a case, whose number is the sum of its places in the lists that it is made of, is tried:
// one of some, in short mode, so that every two members of lists that are long enough meet.
func triedInShort(number, of int) bool { return !testing.Short() || number%of == 0 }

// Every two of a width of keys, a distribution and a plan meet, not every three.
func TestAggregateFolds(t *testing.T) {
	e := openTables(t)
	for w, keyBytes := range []int{4, 8, 16, 64} {
		for i, d := range distributions {
			for k, plan := range testedPlans {
				if (w+i+k)%2 != 0 || !triedInShort((w+i+k)/2, 2) {
					continue
				}
				t.Run(fmt.Sprintf("key=%d/%s/plan=%d", keyBytes, d.name, k), func(t *testing.T) {
					in := makeInput(allFolds(keyBytes), 2000, uint64(keyBytes+i), i%2 == 0, func(r *rand.Rand, row int) uint64 { return d.key(r, row, 200) })
					runPlan(t, e, in, plan, uint64(keyBytes*10+i))
				})
			}
		}
	}
}

// Would catch blocks with shares of the keys that lose or double those of another share, and a slot
// that many rows have whose copies are forgotten.
func TestAggregateShares(t *testing.T) {
	e := openTables(t)
	for _, keyBytes := range []int{4, 8} {
		for _, program := range []int{0, 3, 5, 7} {
			t.Run(fmt.Sprintf("key=%d/program=%d", keyBytes, program), func(t *testing.T) {
				in := makeInput(fewFolds(keyBytes)[program], 5000, uint64(program), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(2) * r.IntN(900)) })
				runPlan(t, e, in, Plan{Kernel: KernelShared, Groups: 30_000, Slots: 4096}, uint64(program))
			})
		}
	}
}

// Would catch carries into device memory that are lost, or added to another block's state.
func TestAggregateFar(t *testing.T) {
	e := openTables(t)
	for _, program := range []int{1, 4} {
		t.Run(fmt.Sprintf("program=%d", program), func(t *testing.T) {
			in := makeInput(fewFolds(4)[program], 5000, uint64(program), false, func(r *rand.Rand, _ int) uint64 { return uint64(r.IntN(2) * r.IntN(900)) })
			plan := Plan{Kernel: KernelShared, Groups: 15_000, Slots: 4096}
			if p, _ := sharedProgram(&in.shape, programFor(&in.shape, &noBitmaps), plan.Groups, h100); !p.isFar {
				t.Fatalf("%d groups are for %s", plan.Groups, p.name)
			}
			runPlan(t, e, in, plan, uint64(program))
		})
	}
}

// Would catch rows that claim slots and lose their way: of keys that many rows have, in a partition
// that is cut, and of full tables.
func TestAggregateClaims(t *testing.T) {
	e := openTables(t)
	for name, key := range map[string]func(r *rand.Rand, row int) uint64{
		"distinct": func(_ *rand.Rand, row int) uint64 { return uint64(row) },
		"pairs":    func(r *rand.Rand, _ int) uint64 { return r.Uint64N(10_000) },
		"heavy":    func(r *rand.Rand, row int) uint64 { return uint64(r.IntN(8) / 7 * row) },
	} {
		for _, bits := range []int{1, 5} {
			t.Run(fmt.Sprintf("%s/bits=%d", name, bits), func(t *testing.T) {
				in := makeInput(fewFolds(4)[3], 20_000+bits/5*24_000, 9, false, key)
				runPlan(t, e, in, Plan{Kernel: KernelScattered, RadixBits: bits, Groups: int64(in.count), Slots: 1 << 16}, 9)
			})
		}
	}
}

// Would catch a scatter that loses rows of full tiles, or of tiles of the second of two passes. A
// small device has small tiles; few keys make partitions of many.
func TestScatterTiles(t *testing.T) {
	e := openTables(t)
	e.sharedBytes = 48 << 10
	shapes := map[string]Shape{"pairs": fewFolds(4)[3], "columns": fewFolds(8)[7], "wide": allFolds(24)}
	for name, shape := range shapes {
		for _, plan := range []Plan{{Kernel: KernelScattered, RadixBits: 3}, {Kernel: KernelScattered, RadixBits: 12, Seed: 7}} {
			t.Run(fmt.Sprintf("%s/bits=%d", name, plan.RadixBits), func(t *testing.T) {
				rows := 3*scatterRowsPerThread*scatterThreads(e.deviceProperties(), 6, false) + 100
				in := makeInput(shape, rows, 5, name == "wide", func(r *rand.Rand, row int) uint64 { return uint64(r.IntN(100) / 99 * (row % 50)) })
				plan.Groups = 100
				runPlan(t, e, in, plan, 3)
			})
		}
	}
}
