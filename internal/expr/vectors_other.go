//go:build !amd64 || portable

package expr

// gatherBits is gatherBitsEach.
func gatherBits(out []uint64, values flags, codes []int32) []uint64 {
	gatherBitsEach(out, values.bytes, codes)
	return out
}

// largest is largestEach.
func largest(codes []int32) uint32 { return largestEach(codes) }

// multiplyWords is multiplyEach.
func multiplyWords(out, a, b []int64, low, high int64) (sizes [2]uint64, outside int64) {
	return multiplyEach(out, a, b, low, high)
}
