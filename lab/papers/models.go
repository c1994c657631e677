package papers

import "math"

// The memory of an A100, as Wu et al. (SIGMOD 2025, section 4.4) put it into their model.
const (
	l1Bandwidth    = 12  // times the bandwidth of the device memory
	l2Bandwidth    = 4.5 // likewise
	l1Bytes        = 192 << 10
	l2Bytes        = 40 << 20
	randomDiscount = 24 // by which random reads of device memory are slower than sequential reads
	sortDigitBits  = 8  // of a pass of the radix sort
	payloadBytes   = 4
)

// SortedColumnsGain is the time by which SGB-UR exceeds SGB-TR for one payload column of 4 bytes, in
// seconds, over rows with 4-byte keys in so many groups: the cost of the gather less the cost of the
// sort. Bandwidth is of the device memory, in bytes a second. (Wu et al., section 4.1.3: 68 N and
// (4 min(24, g) + 8) N bytes.)
func SortedColumnsGain(rows, groups int64, bandwidth float64) float64 {
	gather := payloadBytes*min(randomDiscount, float64(groups)) + 2*payloadBytes
	const sort = 17 * payloadBytes
	return (gather - sort) * float64(rows) / bandwidth
}

// encodedPasses are the passes of a sort of codes of so many groups.
func encodedPasses(groups int64) float64 {
	return math.Ceil(math.Log2(float64(max(groups, 2))) / sortDigitBits)
}

// encodeCost is the time to replace keys by codes, in bytes of device memory that could be read
// meanwhile: D(N, g) of Wu et al., section 4.4, where the dictionary of the groups lies in the fastest
// memory that its entries of keyBytes + 4 fit.
func encodeCost(rows, groups int64, keyBytes int) float64 {
	n, g, k := float64(rows), float64(groups), float64(keyBytes)
	entry := k + 4
	speed := 1.0
	switch {
	case entry*g <= l1Bytes:
		speed = l1Bandwidth
	case entry*g <= l2Bytes:
		speed = l2Bandwidth
	}
	looks := min(g, randomDiscount) / speed
	build := k*g + entry*g*looks
	probe := (k+4)*n + entry*n*looks
	return build + probe
}

// sortCosts are the bytes that the sort of one payload column moves with its keys and with their codes.
func sortCosts(rows, groups int64, keyBytes int) (keys, codes float64) {
	n, k := float64(rows), float64(keyBytes)
	keys = k*n + k*n*2*(k+payloadBytes)
	codes = 4*n + encodedPasses(groups)*n*2*(4+payloadBytes)
	return keys, codes
}

// CodesGain is the time by which SGB-TR exceeds SGB-DE-TR, in seconds, for so many payload columns of 4
// bytes (Wu et al., section 4.4: C1 - C2). Bandwidth is of the device memory, in bytes a second.
func CodesGain(rows, groups int64, keyBytes, columns int, bandwidth float64) float64 {
	keys, codes := sortCosts(rows, groups, keyBytes)
	return (float64(columns)*(keys-codes) - encodeCost(rows, groups, keyBytes)) / bandwidth
}

// CodesPayFrom is the least number of payload columns for which codes make the sorts cheaper (Wu et
// al., table 2); 0 where none does.
func CodesPayFrom(rows, groups int64, keyBytes int) int {
	keys, codes := sortCosts(rows, groups, keyBytes)
	if keys <= codes {
		return 0
	}
	return int(encodeCost(rows, groups, keyBytes)/(keys-codes)) + 1
}

// PartitionedColumnsGain is the time by which PHJ-UR exceeds PHJ-TR for payload columns of 4 bytes, in seconds: the
// gather of the rows as they came less the partition of columns with their keys and a clustered gather (Wu et al.,
// section 4.1.4: 104 M, and 36 N + 12 M bytes for N rows and M pairs). PHJ-UR partitions row numbers in place of the
// first column of a side, which is free therefore. Sides have equally many rows and columns.
func PartitionedColumnsGain(rows, pairs int64, columns int, bandwidth float64) float64 {
	n, m, c := float64(rows), float64(pairs), float64(columns)
	gather := payloadBytes * (2 + randomDiscount) * m * c
	partition := 9*payloadBytes*n*(c-1) + 3*payloadBytes*m*c
	return 2 * (gather - partition) / bandwidth
}

// JoinTree is the rule of Wu et al. for joins of large sides (section 7): PHJ-TR where a quarter of the rows match or
// more, where the foreign keys are skewed, or keys have 8 bytes; else PHJ-UR.
func JoinTree(matchRatio float64, isSkewed bool, keyBytes int) string {
	if matchRatio >= .25 || isSkewed || keyBytes == 8 {
		return PHJTR
	}
	return PHJUR
}

// Tree is the decision of Wu et al., figure 21, for a query that needs no order: the hash group-by
// where its table fits shared memory, else partitions, unless the keys are skewed with an exponent of 1
// or more, which a sort takes.
func Tree(fitsShared bool, skew float64) string {
	switch {
	case fitsShared:
		return "HGB"
	case skew < 1:
		return "PGB-TR"
	}
	return "SGB-TR"
}

// SharedGroupsMax is the most groups that the HGB of Wu et al. has in shared memory (section 5.2.3).
const SharedGroupsMax = 1 << 14
