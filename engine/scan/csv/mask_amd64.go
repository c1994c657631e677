//go:build !portable

package csv

import "golang.org/x/sys/cpu"

// hasMaskAssembly: the assembly takes a fifth of the time of the Go code (BenchmarkMasks).
var hasMaskAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT

//go:noescape
func maskTextAVX2(masks []textMask, text []byte, delimiter, quote byte)

//go:noescape
func writePositionsBMI1(out []uint32, set []uint64, base uint32) (n int)

// maskText is maskTextGeneric.
func maskText(masks []textMask, text []byte, m marks) {
	if !hasMaskAssembly {
		maskTextGeneric(masks, text, m)
		return
	}
	_ = text[:len(masks)*maskBytes]
	maskTextAVX2(masks, text, m.delimiter, m.quote)
}

// writePositions is writePositionsGeneric.
func writePositions(out []uint32, set []uint64, base uint32) (n int) {
	if !hasMaskAssembly {
		return writePositionsGeneric(out, set, base)
	}
	_ = out[:positionsSlack]
	return writePositionsBMI1(out, set, base)
}
