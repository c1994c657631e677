package invariants

// Fewer returns how many cases a test has: n, or watched under the race detector. There a case takes ten times as
// long, and the test is for each way of its goroutines once, not for each size.
func Fewer(n, watched int) int {
	if Race {
		return watched
	}
	return n
}
