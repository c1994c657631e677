//go:build !purego

package cpuagg

// streamLine writes a line to a page, past the cache.
//
//go:noescape
func streamLine(to, l *line)

// streamFence lets whoever gets a page see the lines that were streamed to it.
func streamFence()

// splitPairs writes the first words of n pairs to keys and their second words to args, and fetches what lies
// behind the pairs. n is a multiple of 4.
//
//go:noescape
func splitPairs(keys, args *uint64, pairs *[2]uint64, n int)
