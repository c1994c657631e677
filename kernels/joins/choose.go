package joins

// Workload is what is known of a join before it runs.
type Workload struct {
	BuildRows, ProbeRows int64
	KeyBytes             int
	Pairs                int64 // expected; -1 where nobody knows
	IsSkewed             bool  // a few keys have a large part of the probe rows
}

// What Choose goes by, as measured on an H200 with two payload columns of 4 bytes a side.
const (
	// tableRowsMax is the most build rows for which one table is fastest: it lies in the cache, and the probe side stays
	// where it is. 2^27 probe rows take NPHJ 3.7 ms with 2^14 build rows and 5.5 with 2^17; PHJ-TR 4.2 and 4.5.
	tableRowsMax = 1 << 15
	// gatherRatio is the share of the probe rows with a match below which columns are better gathered as they came. With
	// 2^26 rows a side PHJ-UR less PHJ-TR is 0.3 ms at 12.5%, and -0.3 at 3%. The paper has 25%, on an A100.
	gatherRatio = .06
)

// Choose returns the algorithm for a join of two sides in device memory, and why: the rule of Wu et al. (SIGMOD 2025,
// section 7) with the ratio measured here, and one table where it is small. SMJ is chosen for no join: PHJ was faster
// in every case that was measured.
func Choose(w Workload) (algorithm Algorithm, reason string) {
	switch {
	case w.KeyBytes != 4 && w.KeyBytes != 8:
		return NPHJ, "wide keys"
	case w.BuildRows <= tableRowsMax:
		return NPHJ, "few build rows"
	case w.KeyBytes == 8 || w.IsSkewed || w.Pairs < 0:
		return PHJTR, "wide or skewed keys, or pairs that are not known"
	case float64(w.Pairs) < gatherRatio*float64(w.ProbeRows):
		return PHJUR, "few pairs"
	}
	return PHJTR, "many pairs"
}
