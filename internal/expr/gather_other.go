//go:build !amd64 || portable

package expr

// gatherBits is gatherBitsEach.
func gatherBits(out []uint64, values flags, codes []int32) []uint64 {
	gatherBitsEach(out, values.bytes, codes)
	return out
}
