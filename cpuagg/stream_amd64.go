//go:build !purego

package cpuagg

// streamLine writes a line to a page, past the cache.
//
//go:noescape
func streamLine(to, l *line)

// streamFence lets whoever gets a page see the lines that were streamed to it.
func streamFence()
