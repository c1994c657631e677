package peer

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// CPUTime is what this process and its finished children have used, of all processors together.
func CPUTime() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			panic(fmt.Sprintf("getrusage: %v", err)) // only for a bad argument
		}
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total
}

// Median returns the median of times in milliseconds, and 0 if there are none. It sorts the times.
func Median(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	middle := len(times) / 2
	return float64(times[middle]+times[len(times)-1-middle]) / 2 / float64(time.Millisecond)
}
