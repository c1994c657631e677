package scaleout

import "math"

// Spread is how groups lie in the splits of an input.
type Spread int

// The spreads.
const (
	Uniform Spread = iota // a row is of any group with the same probability
	All                   // each split has all groups, or as many as it has rows
	Zipf                  // the i-th group has a part of the rows in proportion to i^-Skew
)

// Workload is a query over an input.
type Workload struct {
	Name      string
	Statement string // for people
	Rows      float64
	RowBytes  float64 // that a row takes in the files, of the columns that the query reads
	Columns   int     // that the query reads
	FileRow   float64 // bytes that a row takes in the files, of all columns

	Groups float64
	Grow   bool // groups and pairs grow with the rows when the rows are varied
	Spread Spread
	Skew   float64 // exponent of Zipf

	StateBytes  float64 // of a group's key and state in memory, without Pairs
	PackedBytes float64 // the same in a pack
	HeaderBytes float64 // of a blob that has no states
	ResultBytes float64 // of a row of the output, as Parquet
	Ordered     bool    // Commit puts the rows in order

	// Pairs are the different pairs of a group and a value that the input has, of a query whose states
	// keep their values: a distinct count, a median, a list. It is 0 for states of a fixed size.
	Pairs           float64
	PairBytes       float64 // of a value in memory
	PackedPairBytes float64 // of a value in a pack

	Rates
}

// Rates are how fast one thread works. Each includes reading what is worked on from memory, and encoding
// what comes out.
type Rates struct {
	RowsInCache   float64 // rows/s that partial work takes in while the groups of a split fit the caches
	RowsBeyond    float64 // rows/s that partial work takes in otherwise
	StatesWritten float64 // states/s that partial work puts into packs
	StatesMerged  float64 // states/s that a merge takes in
	PairsMerged   float64 // values/s that a merge takes in, of Pairs
	RowsMade      float64 // groups/s of which a merge makes rows of Parquet
	Source        string  // where these were measured, or what they were taken from

	RowsAlone   float64 // rows/s of a whole query in one process, divided by its threads; 0 when it is not known
	SourceAlone string
}

// AtRows returns the workload with other rows.
func (w Workload) AtRows(rows float64) Workload {
	if w.Grow {
		w.Groups *= rows / w.Rows
		w.Pairs *= rows / w.Rows
	}
	w.Rows = rows
	w.Groups, w.Pairs = max(min(w.Groups, rows), 1), min(w.Pairs, rows)
	return w
}

// groupsIn returns how many groups some rows are expected to show.
func (w *Workload) groupsIn(rows float64) float64 {
	switch w.Spread {
	case All:
		return min(w.Groups, rows)
	case Zipf:
		return Distinct(w.Groups, rows, w.Skew)
	}
	return Distinct(w.Groups, rows, 0)
}

// pairsIn returns how many pairs of a group and a value some rows are expected to show.
func (w *Workload) pairsIn(rows float64) float64 {
	if w.Pairs == 0 {
		return 0
	}
	return Distinct(w.Pairs, rows, 0)
}

// hotShare returns the part of the rows that the most frequent group has.
func (w *Workload) hotShare() float64 {
	if w.Spread == Zipf {
		return 1 / harmonic(w.Groups, w.Skew)
	}
	return 1 / max(w.Groups, 1)
}

// fullest returns how many of some groups the fullest of some partitions has: the most that are as likely
// as not in one of them, by Poisson's distribution. Of many groups each has its share.
func fullest(groups, partitions float64) float64 {
	mean := groups / partitions
	if partitions <= 1 || mean > evenFrom {
		return mean
	}
	term := math.Exp(-mean) // that a partition has n groups
	above := 1 - term       // that it has more
	n := 0.0
	for n < groups && 1-math.Pow(1-above, partitions) > 0.5 {
		n++
		term *= mean / n
		above = max(above-term, 0)
	}
	return max(n, 1)
}

// evenFrom is from how many groups a partition on all are taken to be equal: the fullest has a fifth more.
const evenFrom = 500

// cacheBytes is up to which size of the table of all groups a row costs about as much as with few groups:
// on Zen 4 the step lies between 298,000 and 785,000 groups of 32 B (docs/decisions/06-pre-aggregation.md).
const cacheBytes = 16 << 20

// slotBytes is what a slot of a table takes beside key and state.
const slotBytes = 16

// inCache says whether the groups of a split fit the table in which a worker pre-aggregates.
func (w *Workload) inCache(groups float64) bool {
	return w.Pairs == 0 && groups*(w.StateBytes+slotBytes) <= cacheBytes
}

// Distinct returns how many different of n things some draws are expected to show: of equally likely
// things n (1 - exp(-draws/n)), and the same sum over a Zipf distribution with an exponent above 0.
func Distinct(n, draws, exponent float64) float64 {
	if n <= 0 || draws <= 0 {
		return 0
	}
	if exponent == 0 {
		return -n * math.Expm1(-draws/n)
	}
	each := draws / harmonic(n, exponent)
	return overRanks(n, func(rank float64) float64 { return -math.Expm1(-each * math.Pow(rank, -exponent)) })
}

// harmonic returns the sum of i^-exponent for i from 1 to n.
func harmonic(n, exponent float64) float64 {
	return overRanks(n, func(rank float64) float64 { return math.Pow(rank, -exponent) })
}

const (
	ranksExact = 1000 // ranks that are added one by one
	rankStep   = 1.02 // ratio of the ends of an interval of ranks behind them, for which its middle stands
)

// overRanks returns the sum of f for the ranks from 1 to n.
func overRanks(n float64, f func(rank float64) float64) (sum float64) {
	rank := 1.0
	for ; rank <= min(n, ranksExact); rank++ {
		sum += f(rank)
	}
	for from := rank - 0.5; from < n+0.5; {
		to := min(from*rankStep, n+0.5)
		sum += (to - from) * f(math.Sqrt(from*to))
		from = to
	}
	return sum
}
