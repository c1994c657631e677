package kernels

import (
	"math/bits"
	"slices"
)

// tuning is what suits a generation of devices. It changes time, never answers.
type tuning struct {
	computeCapability int
	// threads that a multiprocessor runs at a time, of kernels with 40 registers.
	threads int
	// singleBits is log2 of the partitions up to which one pass of a scatter is faster than two.
	singleBits int
	// shares is how many blocks at most share the keys of the rows that each of them reads.
	shares int
	// sharedPercent is how full a block's table may be expected for KernelShared, onePassPercent
	// for partitions of one pass, and twoPassPercent for partitions of two passes.
	sharedPercent, onePassPercent, twoPassPercent int
}

// tunings, by compute capability; a device of another capability has the line before its place.
// Only 9.0 was measured (H100, 1e8 rows of a u32 key and value): pairs scattered into 256, 512,
// 1024, 2048 and 4096 partitions in one pass take 0.64, 0.68, 0.81, 1.04 and 1.46 ms, and in two of
// 64 each 1.25; with 1e4 groups, in 60% of a block's table, KernelShared takes 0.76 ms and
// KernelScattered 1.2; with 1e7 groups, 1024 partitions take 1.91 ms, 2048 1.99, and two passes
// 2.1; with 1e8, 2^13, 2^14 and 2^15 take 4.2, 3.9 and 4.1. On an H200, 16,238 groups in two shares
// take 0.91 ms, and scattered 1.09; 30,000 in three shares 1.24, and 42,813 scattered 1.06. The
// others differ in threads, which are the hardware's, and in the passes, whose tiles are as large
// as the shared memory.
var tunings = []tuning{
	{75, 1024, 9, 2, 60, 55, 60},
	{80, 1536, 10, 2, 60, 55, 60},
	{86, 1536, 9, 2, 60, 55, 60},
	{90, 1536, 11, 2, 60, 55, 60},
	{100, 1536, 11, 2, 60, 55, 60},
	{120, 1536, 9, 2, 60, 55, 60},
}

func tuningFor(device Properties) *tuning {
	i := slices.IndexFunc(tunings, func(t tuning) bool { return t.computeCapability > device.ComputeCapability })
	switch {
	case i < 0:
		i = len(tunings)
	case i == 0:
		i = 1
	}
	return &tunings[i-1]
}

// partitionBitsMax is log2 of the most partitions there are: a block counts the rows of all in its
// shared memory.
func partitionBitsMax(device Properties) int {
	return min(15, bits.Len(uint((device.SharedBytesMax-1024)/4))-1)
}

// firstBits returns the bits of the first of two passes, or 0 for one pass.
func firstBits(radixBits int, device Properties) int {
	if radixBits <= tuningFor(device).singleBits {
		return 0
	}
	return radixBits / 2
}
