//go:build linux && !race

package stream

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mapMemory returns address space of n bytes, which take memory as they are touched.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		panic(fmt.Sprintf("mmap of %d B: %v", n, err)) // as the runtime does when the system has no memory
	}
	return b
}

func unmapMemory(b []byte) {
	if err := unix.Munmap(b); err != nil {
		panic(fmt.Sprintf("munmap of %d B: %v", len(b), err))
	}
}

// adviseHuge asks for huge pages, or for none. The system may not have them: it is advice.
func adviseHuge(b []byte, huge bool) {
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	_ = unix.Madvise(b, advice)
}

// discard gives the memory of whole pages back to the system.
func discard(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

// ResidentBytes returns the resident set of the process; 0 when it cannot be read.
func ResidentBytes() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
