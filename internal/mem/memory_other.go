//go:build !linux || race

package mem

// The race detector sees only memory of the collector, and other systems have calls of their own:
// here blocks are Go slices. Slices of words, so that they are aligned.

import (
	"math"
	"runtime"
	"unsafe"
)

func mapMemory(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, (n+7)/8)))), n)
}

// AddressSpaceLeft knows no limit here.
func AddressSpaceLeft() int64 { return math.MaxInt64 }

func unmapMemory([]byte) {}

func adviseHuge([]byte, bool) {}

func discard([]byte) {}

// ResidentBytes returns what the Go runtime has taken from the system.
func ResidentBytes() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys - stats.HeapReleased)
}

// ResidentFileBytes returns 0: it is not known.
func ResidentFileBytes() int64 { return 0 }

// ReleaseProgram does nothing here.
func ReleaseProgram() {}
