//go:build !amd64 || portable

package expr

// multiplyWords is multiplyEach.
func multiplyWords(out, a, b []int64, low, high int64) (sizes [2]uint64, outside int64) {
	return multiplyEach(out, a, b, low, high)
}
