//go:build !portable

package scatter

import "github.com/mpga/mpga/partition"

// scatterLines puts rows of a key and an argument in the lines of their partitions, and writes full
// lines to their pages, past the cache. It ends before the first row whose partition's page is
// full, and returns how many rows it has put.
func scatterLines(next []cursor, lines []line, radix partition.Radix, keys, args, hashes []uint64) (rows int) {
	if len(hashes) == 0 {
		return 0
	}
	return streamRows(&next[0], &lines[0], uint64(63-radix), &keys[0], &args[0], &hashes[0], len(hashes))
}

// streamRows is scatterLines, with partitions that are hash >> 1 >> shift. n > 0.
//
//go:noescape
func streamRows(next *cursor, lines *line, shift uint64, keys, args, hashes *uint64, n int) (rows int)

// streamFence lets other goroutines, which get the pages, see the lines that were streamed to the
// pages.
func streamFence()

// splitPairs writes the first words of n pairs to keys and their second words to args, and fetches
// the memory behind the pairs. n is a multiple of 4.
//
//go:noescape
func splitPairs(keys, args *uint64, pairs *[2]uint64, n int)
