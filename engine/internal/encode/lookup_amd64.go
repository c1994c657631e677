//go:build !portable

package encode

import "golang.org/x/sys/cpu"

var hasLookUpVectors = cpu.X86.HasAVX512F && cpu.X86.HasAVX2

//go:noescape
func lookUpAVX512(out *uint64, table *[smallTable]uint64, indexes *uint32, n int) (largest uint32)

// smallTable is how many words two registers of AVX-512 hold.
const smallTable = 16

// lookUpSmall writes words of a table for the first indexes, as many as it returns, in a fifth of
// the time of lookUpWords (BenchmarkLookUp, AMD EPYC, Zen 4). It writes none of a large table, or
// where an index is not in the table.
func lookUpSmall(out, table []uint64, indexes []uint32) (n int) {
	n = len(indexes) &^ 7
	if !hasLookUpVectors || len(table) > smallTable || n == 0 {
		return 0
	}
	var words [smallTable]uint64
	copy(words[:], table)
	_ = out[n-1]
	if largest := lookUpAVX512(&out[0], &words, &indexes[0], n); int(largest) >= len(table) {
		return 0
	}
	return n
}
