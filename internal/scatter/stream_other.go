//go:build !amd64 || portable

package scatter

import (
	"unsafe"

	"github.com/mpga/mpga/partition"
)

// scatterLines puts rows of a key and an argument in the lines of their partitions, and writes full
// lines to their pages. It ends before the first row whose partition's page is full, and returns
// how many rows it has put.
func scatterLines(next []cursor, lines []line, radix partition.Radix, keys, args, hashes []uint64) (rows int) {
	for i, h := range hashes {
		p := radix.Of(h)
		c, l := &next[p], &lines[p]
		if c.at == c.end {
			return i
		}
		word := c.at % lineBytes / 8 &^ 1
		l[word], l[word|1] = keys[i], args[i]
		c.at += 16
		if c.at%lineBytes == 0 {
			full := c.at - lineBytes
			*(*line)(full.part(0)) = *l
		}
	}
	return len(hashes)
}

// streamFence has nothing to do.
func streamFence() {}

// splitPairs writes the first words of n pairs to keys and their second words to args.
func splitPairs(keys, args *uint64, pairs *[2]uint64, n int) {
	to, beside := unsafe.Slice(keys, n), unsafe.Slice(args, n)
	for i, pair := range unsafe.Slice(pairs, n) {
		to[i], beside[i] = pair[0], pair[1]
	}
}
