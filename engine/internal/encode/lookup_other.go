//go:build !amd64 || portable

package encode

// lookUpSmall writes words of a table for the first indexes, as many as it returns.
func lookUpSmall(out, table []uint64, indexes []uint32) (n int) { return 0 }
