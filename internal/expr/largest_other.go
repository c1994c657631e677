//go:build !amd64 || portable

package expr

// largest is largestEach.
func largest(codes []int32) uint32 { return largestEach(codes) }
