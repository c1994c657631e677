// Package machine tells what the machine has: memory that the process may use, and caches.
package machine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/mem"
)

// Memory returns how many bytes the control group may use, the machine has, or a limit of
// address space leaves, which counts as at least so many.
func Memory(least int64) int64 {
	memory := int64(math.MaxInt64)
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		if fields := bytes.Fields(info); len(fields) > 1 && string(fields[0]) == "MemTotal:" {
			if kib, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				memory = kib << 10
			}
		}
	}
	return min(memory, groupMemory(), addressMemory(least))
}

// addressShare is the part of the address space that may become memory: the other half is that of freed blocks, of the
// ends of regions, of the collector and of the stacks of threads.
const addressShare = 2

// addressMemory returns how much memory a limit of address space (ulimit -v) leaves, and at least least.
func addressMemory(least int64) int64 {
	return max(mem.AddressSpaceLeft()/addressShare, least)
}

// groupMemory returns the least limit of the control groups (version 2) that the process is in.
func groupMemory() int64 {
	memory := int64(math.MaxInt64)
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return memory
	}
	group := ""
	for line := range strings.Lines(string(self)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			group = path
		}
	}
	for ; ; group = filepath.Dir(group) {
		text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.max"))
		if err == nil {
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				memory = min(memory, limit)
			}
		}
		if len(group) <= 1 {
			return memory
		}
	}
}
