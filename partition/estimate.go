package partition

import "math"

// EstimateGroups estimates the groups of totalRows rows from a sample of sampleRows of them. The
// sample has sampleGroups groups; singletons of these have one row in the sample.
//
// The estimate is GEE, the Guaranteed-Error Estimator of Charikar, Chaudhuri, Motwani and
// Narasayya (PODS 2000): a group seen twice is taken for frequent and counts once, a singleton
// stands for between one and totalRows / sampleRows groups and counts as their geometric mean.
// For a random sample its ratio to the truth is expected to stay within sqrt(totalRows /
// sampleRows), up to a constant; no estimator from a sample can promise much less. low is
// certain. high takes every singleton for totalRows / sampleRows groups, and is likely for a
// random sample, not certain.
//
// The first rows of a file are not a random sample, and then all but low may be wrong by any
// factor: callers must stay correct whatever is returned (P3).
//
// Requires: 0 <= singletons <= sampleGroups <= sampleRows <= totalRows.
func EstimateGroups(sampleRows, sampleGroups, singletons, totalRows int64) (estimate, low, high int64) {
	if sampleRows == 0 { // as if the first row had been seen, a group of one
		sampleRows = min(1, totalRows)
		sampleGroups, singletons = sampleRows, sampleRows
	}
	unseen := totalRows - sampleRows
	if unseen == 0 {
		return sampleGroups, sampleGroups, sampleGroups
	}
	scale := float64(totalRows) / float64(sampleRows)
	bound := func(perSingleton float64) int64 {
		extra := (perSingleton - 1) * float64(singletons)
		if extra >= float64(unseen) { // an int64 may not hold it
			return sampleGroups + unseen
		}
		return sampleGroups + int64(extra)
	}
	return bound(math.Sqrt(scale)), sampleGroups, bound(scale)
}

// EqualGroups returns how many groups of equal size there would be if sampleRows random rows have
// sampleGroups: of d such groups, n rows are expected to show d (1 - exp(-n / d)). The result is at
// most totalRows, which it is where no group came twice. Where groups differ in size there are
// more.
//
// Requires: 0 <= sampleGroups <= sampleRows <= totalRows.
func EqualGroups(sampleRows, sampleGroups, totalRows int64) int64 {
	n := float64(sampleRows)
	shown := func(d float64) float64 { return -d * math.Expm1(-n/d) }
	low, high := max(sampleGroups, 1), max(totalRows, 1)
	if sampleGroups >= sampleRows {
		return high
	}
	for low < high {
		if mid := low + (high-low)/2; shown(float64(mid)) < float64(sampleGroups) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
