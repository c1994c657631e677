//go:build linux && !race

package mem

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/spawn"
)

// mapMemory returns address space of n bytes, which take memory as they are touched. It fails by
// spawn.Fail with ErrNoMemory.
func mapMemory(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil && AddressSpaceLeft() < addressSpaceKept {
		unmapMemory(b)
		err = unix.ENOMEM
	}
	if err != nil {
		spawn.Fail(knob.Errorf("%w: mmap of %d B: %w; lower %s, or raise the limit of address space (ulimit -v)",
			ErrNoMemory, n, err, knob.Name("engine.MemoryLimit")))
	}
	return b
}

// addressSpaceKept is how much of a limit of address space Memory leaves to the Go runtime, which
// ends the process when it gets none: its heap grows by 64 MiB at a time, and a thread's stack
// takes 8 MiB.
const addressSpaceKept = 256 << 20

// AddressSpaceLeft returns how many bytes the process may still map; math.MaxInt64 without a limit
// (ulimit -v).
func AddressSpaceLeft() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(limit.Cur) - statmBytes(0)
}

func unmapMemory(b []byte) {
	if err := unix.Munmap(b); err != nil {
		panic(fmt.Sprintf("munmap of %d B: %v", len(b), err))
	}
}

// adviseHuge asks the system for huge pages, or for small pages. The system need not follow the
// advice.
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
func ResidentBytes() int64 { return statmBytes(1) }

// ResidentFileBytes returns how much of the resident set are files that are mapped, as the program's code;
// 0 when it cannot be read.
func ResidentFileBytes() int64 { return statmBytes(2) }

// statmBytes returns a field of /proc/self/statm in bytes: 0 is the address space, 1 the resident
// set, 2 the files in it. The result is 0 when the file cannot be read.
func statmBytes(field int) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) <= field {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[field]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// ReleaseProgram takes the code and the constants of the program out of the resident set. They stay
// in the page cache, and the system maps pages again as they are used.
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
