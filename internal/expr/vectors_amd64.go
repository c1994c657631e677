//go:build !portable

package expr

import "golang.org/x/sys/cpu"

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ
)

// gatherTable is how many words of bits two registers of AVX-512 hold.
const gatherTable = 16

// gatherBitsVectors is gatherBitsEach for n codes below 1,024; n > 0 is a multiple of 16.
//
//go:noescape
func gatherBitsVectors(out *uint64, table *[gatherTable]uint64, codes *int32, n int)

// matchVectors sets the bits of the codes that are a code. n > 0 is a multiple of 64.
//
//go:noescape
func matchVectors(out *uint64, codes *int32, n int, code int32)

// gatherBits is gatherBitsEach. With AVX-512 it takes a seventh of the time where there are 1,024
// values at most, and with AVX2 a fifth where one value is unlike the others (BenchmarkGather, AMD
// EPYC, Zen 4).
func gatherBits(out []uint64, values flags, codes []int32) []uint64 {
	whole := 0
	if hasAVX2 && len(codes) >= 64 && values.odd >= 0 {
		whole = len(codes) / 64
		_ = out[whole-1]
		matchVectors(&out[0], &codes[0], 64*whole, values.odd)
		if values.rest {
			for w := range out[:whole] {
				out[w] = ^out[w]
			}
		}
	} else if hasAVX512 && len(codes) >= 64 && len(values.bytes) <= 64*gatherTable {
		whole = len(codes) / 64
		_ = out[whole-1]
		var table [gatherTable]uint64
		copy(table[:], values.bits)
		gatherBitsVectors(&out[0], &table, &codes[0], 64*whole)
	}
	gatherBitsEach(out[whole:], values.bytes, codes[64*whole:])
	return out
}

// largestVectors is largestEach for n codes; n > 0 is a multiple of 8.
//
//go:noescape
func largestVectors(codes *int32, n int) uint32

// largest is largestEach. With AVX2 it takes a tenth (BenchmarkLargest, AMD EPYC, Zen 4).
func largest(codes []int32) uint32 {
	whole := len(codes) &^ 7
	if !hasAVX2 || whole == 0 {
		return largestEach(codes)
	}
	return max(largestVectors(&codes[0], whole), largestEach(codes[whole:]))
}

// multiplyVectors is multiplyEach for n rows; n > 0 is a multiple of 8.
//
//go:noescape
func multiplyVectors(out, a, b *int64, n int, low, high int64) (sizes [2]uint64, outside int64)

// multiplyWords is multiplyEach. With AVX-512 it takes a fifth (BenchmarkMultiply, AMD EPYC, Zen
// 4).
func multiplyWords(out, a, b []int64, low, high int64) (sizes [2]uint64, outside int64) {
	whole := 0
	if hasAVX512 && len(out) >= 8 {
		whole = len(out) &^ 7
		_, _ = a[whole-1], b[whole-1]
		sizes, outside = multiplyVectors(&out[0], &a[0], &b[0], whole, low, high)
	}
	rest, restOutside := multiplyEach(out[whole:], a[whole:], b[whole:], low, high)
	return [2]uint64{sizes[0] | rest[0], sizes[1] | rest[1]}, outside | restOutside
}
