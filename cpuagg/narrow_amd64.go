//go:build !purego

package cpuagg

import "golang.org/x/sys/cpu"

var hasNarrowVectors = cpu.X86.HasAVX2

// addVectors adds the values of n rows to the sums of their groups. magnitude has the bits of all values, those
// of negative ones flipped. n > 0 is a multiple of 8.
//
//go:noescape
func addVectors(sums *uint64, gids *uint32, x *uint64, n int) (magnitude uint64)
