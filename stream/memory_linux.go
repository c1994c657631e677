//go:build linux && !race

package stream

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

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

// ReleaseProgram takes the code and the constants of the program out of the resident set. They stay in the page
// cache, from which the system maps what is used again: some of it, where at first all was mapped.
func ReleaseProgram() {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var begin, end uintptr
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, " "+name+"\n") {
			if _, err := fmt.Sscanf(line, "%x-%x r-", &begin, &end); err != nil {
				begin, end = 0, 0
			}
			continue
		}
		anonymous, ok := strings.CutPrefix(line, "Anonymous:")
		if !ok {
			continue
		}
		// Pages that were written to, by the linker or a debugger, would be lost.
		if begin < end && strings.TrimSpace(anonymous) == "0 kB" {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED)
		}
		begin, end = 0, 0
	}
}
