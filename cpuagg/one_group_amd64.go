//go:build !portable

package cpuagg

import "golang.org/x/sys/cpu"

var hasHalvesVectors = cpu.X86.HasAVX2

// halvesVectors returns the sums of the lower and of the upper 32 bits of n words, with the bits of
// flip flipped. n > 0 is a multiple of 8.
//
//go:noescape
func halvesVectors(x *uint64, n int, flip uint64) (lows, highs uint64)
