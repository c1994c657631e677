//go:build !amd64 || purego

package cpuagg

// streamLine writes a line to a page.
func streamLine(to, l *line) { *to = *l }

// streamFence has nothing to do.
func streamFence() {}
