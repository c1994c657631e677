//go:build !portable

package cpuagg

import "golang.org/x/sys/cpu"

var (
	hasNarrowVectors = cpu.X86.HasAVX2
	hasFewVectors    = cpu.X86.HasAVX512F
)

// addVectors adds the values of n rows to the sums of their groups. magnitude has the bits of all
// values, flipped where a value is negative. n > 0 is a multiple of 8.
//
//go:noescape
func addVectors(sums *uint64, gids *uint32, x *uint64, n int) (magnitude uint64)

// addFew is addVectors where groups is at most fewGroups. It takes a third of addVectors' time with
// 4 groups, half with 1 or 8 (BenchmarkNarrow, AMD EPYC, Zen 4).
//
//go:noescape
func addFew(sums *[fewGroups]uint64, gids *uint32, x *uint64, n, groups int) (magnitude uint64)
