//go:build !amd64 || portable

package csv

const hasMaskAssembly = false

// maskText is maskTextGeneric.
func maskText(masks []textMask, text []byte, m marks) { maskTextGeneric(masks, text, m) }

// writePositions is writePositionsGeneric.
func writePositions(out []uint32, set []uint64, base uint32) (n int) {
	return writePositionsGeneric(out, set, base)
}
