package scaleout

import "math"

// Sources of rates. Zen 4 is two cores of an AMD EPYC, Zen 4; "16 threads" are those of an Intel Xeon, the
// host of an H100 (docs/measurements.md).
const (
	sourceRows   = "rows: 1e8 rows, 16 threads (docs/measurements.md)"
	sourceStates = "states: CPU time of mpga dist, one thread of Zen 4, 1e7 rows (docs/scale-out.md)"
	sourceAlone  = "1e8 rows, 16 threads (docs/measurements.md)"
)

// Bytes of a row of H2O's table in Parquet, all columns: mpga gen h2o, 1e7 rows.
const h2oRow = 22.5

// Standard returns the workloads that mpga-lab scale shows: the shapes of some of H2O's questions, whose
// ids 3 and 6 have a hundredth as many values as there are rows, an aggregation of few groups, and a
// distinct count. Bytes are those of 1e7 rows (docs/scale-out.md).
func Standard() []Workload {
	const rows = 1e12
	all := []Workload{
		{
			Name: "q1", Statement: "sum(v1) by id1",
			Rows: rows, RowBytes: 1.25, Columns: 2, FileRow: h2oRow,
			Groups: 100, Spread: All, StateBytes: 40, PackedBytes: 12.2, HeaderBytes: 584, ResultBytes: 15.5,
			Rates: Rates{
				RowsInCache: 169e6, RowsBeyond: 14.6e6, StatesWritten: 12e6, StatesMerged: 19e6, RowsMade: 7e6,
				Source:    sourceRows + "; " + sourceStates + ", as q3's",
				RowsAlone: 169e6, SourceAlone: sourceAlone,
			},
		},
		{
			Name: "rollup", Statement: "sum(v1), sum(v2), sum(v3) by id6, of 1e6 values",
			Rows: rows, RowBytes: 12.9, Columns: 4, FileRow: h2oRow,
			Groups: 1e6, StateBytes: 72, PackedBytes: 13.3, HeaderBytes: 937, ResultBytes: 14.4,
			Rates: Rates{
				RowsInCache: 40e6, RowsBeyond: 18.3e6, StatesWritten: 9.2e6, StatesMerged: 20e6, RowsMade: 8e6,
				Source:    sourceRows + "; " + sourceStates,
				RowsAlone: 18.3e6, SourceAlone: sourceAlone + ": q5",
			},
		},
		{
			Name: "q3", Statement: "sum(v1), avg(v3) by id3, a string",
			Rows: rows, RowBytes: 16.6, Columns: 3, FileRow: h2oRow,
			Groups: rows / 100, Grow: true, StateBytes: 56, PackedBytes: 15.8, HeaderBytes: 752, ResultBytes: 16.9,
			Rates: Rates{
				RowsInCache: 22e6, RowsBeyond: 14.6e6, StatesWritten: 15e6, StatesMerged: 19e6, RowsMade: 7e6,
				Source:    sourceRows + "; " + sourceStates,
				RowsAlone: 14.6e6, SourceAlone: sourceAlone + ", 1e6 groups",
			},
		},
		{
			Name: "q5", Statement: "sum(v1), sum(v2), sum(v3) by id6",
			Rows: rows, RowBytes: 12.9, Columns: 4, FileRow: h2oRow,
			Groups: rows / 100, Grow: true, StateBytes: 72, PackedBytes: 12.5, HeaderBytes: 937, ResultBytes: 13.5,
			Rates: Rates{
				RowsInCache: 40e6, RowsBeyond: 18.3e6, StatesWritten: 9.2e6, StatesMerged: 20e6, RowsMade: 8e6,
				Source:    sourceRows + "; " + sourceStates,
				RowsAlone: 18.3e6, SourceAlone: sourceAlone + ", 1e6 groups",
			},
		},
		{
			Name: "q10", Statement: "sum(v3), count(*) by id1 to id6",
			Rows: rows, RowBytes: 21.6, Columns: 7, FileRow: h2oRow,
			Groups: rows, Grow: true, Spread: All, StateBytes: 96, PackedBytes: 34.7, HeaderBytes: 1524, ResultBytes: 21.6,
			Rates: Rates{
				RowsInCache: 22e6, RowsBeyond: 14.6e6, StatesWritten: 3.9e6, StatesMerged: 17e6, RowsMade: 3.6e6,
				Source:    sourceRows + ", as q3's; " + sourceStates,
				RowsAlone: 4.3e6, SourceAlone: sourceAlone + ", 1e8 groups",
			},
		},
		{
			Name: "distinct", Statement: "count(DISTINCT id6) by id1",
			Rows: rows, RowBytes: 4.9, Columns: 2, FileRow: h2oRow,
			Groups: 100, Spread: All, StateBytes: 40, PackedBytes: 12.2, HeaderBytes: 570, ResultBytes: 15.5,
			Pairs: rows,
			Rates: Rates{
				RowsInCache: 4.7e6, RowsBeyond: 4.7e6, StatesWritten: 12e6, StatesMerged: 19e6, RowsMade: 7e6,
				Source:    "rows and " + sourceStates,
				RowsAlone: 7.3e6, SourceAlone: "count(DISTINCT id3) by id1, " + sourceAlone,
			},
		},
		{
			Name: "tpch1", Statement: "TPC-H's question 1",
			Rows: rows, RowBytes: 8.8, Columns: 7, FileRow: 30,
			Groups: 4, Spread: All, StateBytes: 200, PackedBytes: 120, HeaderBytes: 2500, ResultBytes: 60,
			Rates: Rates{
				RowsInCache: 22.5e6, RowsBeyond: 14.6e6, StatesWritten: 12e6, StatesMerged: 19e6, RowsMade: 7e6,
				Source:    "TPC-H at scale 10, 16 threads (docs/measurements.md); states are assumed",
				RowsAlone: 22.5e6, SourceAlone: "6e7 rows, 16 threads (docs/measurements.md)",
			},
		},
	}
	for i := range all { // measured for a distinct count of integers
		all[i].PairBytes, all[i].PackedPairBytes, all[i].PairsMerged = 8, 4.7, 10e6
	}
	return all
}

// StandardCluster returns 100 hosts of 16 threads beside a store like S3, whose figures are assumptions
// where S3 does not document them.
func StandardCluster() Cluster {
	return Cluster{
		Hosts: 100, Threads: 16, TaskThreads: 4, MemoryBytes: 64 << 30, TempBytes: 1e12, Network: 25e9 / 8,
		Store: 10e9, Gets: 5500, Puts: 3500, Prefixes: 10, Latency: 0.1, Copy: 100e6,
		Start: 0.1, Failures: 0.01, Stragglers: 0.01, Slow: 8, Speculate: true,
	}
}

// Local returns a host without an object store, whose processes share its page cache.
func Local(processes, threads int, start float64) Cluster {
	c := StandardCluster()
	c.Hosts, c.Threads, c.TaskThreads = 1, processes*threads, threads
	c.Network, c.Store, c.Copy = math.Inf(1), math.Inf(1), math.Inf(1)
	c.Gets, c.Puts, c.Latency = math.Inf(1), math.Inf(1), 0
	c.Start, c.Failures, c.Stragglers, c.Speculate = start, 0, 0, false
	return c
}

// Alone is what one machine does in some time, without cutting the query into tasks.
type Alone struct {
	Workload  string
	Threads   int
	Rows      float64 // in files that are in the page cache
	FromStore float64 // rows of an object store, over the network
	Limit     string  // of FromStore: "cpu" or "network"
	Memory    float64 // bytes of the groups' states in memory
	Measured  bool    // the rate was measured with as many threads; else it is calculated
}

// threadsMeasured is with how many threads Rates.RowsAlone was measured.
const threadsMeasured = 16

// InSeconds returns what one machine does in a time by Rates.RowsAlone, which is taken to hold for more
// threads and more rows than were measured.
func (w *Workload) InSeconds(seconds float64, threads int, network float64) Alone {
	a := Alone{Workload: w.Name, Threads: threads, Rows: seconds * float64(threads) * w.RowsAlone, Measured: threads == threadsMeasured}
	a.FromStore, a.Limit = a.Rows, "cpu"
	if most := seconds * network / w.RowBytes; most < a.Rows {
		a.FromStore, a.Limit = most, "network"
	}
	at := w.AtRows(a.Rows)
	a.Memory = at.groupsIn(a.Rows)*(w.StateBytes+slotBytes) + at.pairsIn(a.Rows)*w.PairBytes
	return a
}
