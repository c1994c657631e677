//go:build !amd64 || purego

package cpuagg

import "unsafe"

// streamLine writes a line to a page.
func streamLine(to, l *line) { *to = *l }

// streamFence has nothing to do.
func streamFence() {}

// splitPairs writes the first words of n pairs to keys and their second words to args.
func splitPairs(keys, args *uint64, pairs *[2]uint64, n int) {
	to, beside := unsafe.Slice(keys, n), unsafe.Slice(args, n)
	for i, pair := range unsafe.Slice(pairs, n) {
		to[i], beside[i] = pair[0], pair[1]
	}
}
