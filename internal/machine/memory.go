// Package machine tells what the machine has: memory that the process may use, and caches.
package machine

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/mpga/mpga/internal/mem"
)

// Memory returns the least of three numbers of bytes: what the control group may use, what the
// machine has, and half of what a limit of address space leaves, which counts as at least `least`.
func Memory(least int64) int64 {
	return min(limitOf(memlimit.FromSystem), limitOf(memlimit.FromCgroup), max(mem.AddressSpaceLeft()/addressShare, least))
}

// limitOf returns a limit in bytes, or the largest number where the system tells none.
func limitOf(memory func() (uint64, error)) int64 {
	limit, err := memory()
	if err != nil {
		return math.MaxInt64
	}
	return int64(min(limit, math.MaxInt64))
}

// addressShare is the part of the address space that may become memory: freed blocks, the ends of
// regions, the collector and the stacks of threads take the other half.
const addressShare = 2
