package engine

import (
	"time"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/scan"
)

// Phase is a part of a query's life.
type Phase string

// The phases: of a query in their order, and the phase of Engine.Rows.
const (
	PhasePlan      Phase = "plan"      // bind names, read statistics
	PhasePartition Phase = "partition" // read, pre-aggregate, scatter: the partition-generating phase
	PhaseProcess   Phase = "process"   // aggregate each partition and emit it: the partition-processing phase
	PhaseRead      Phase = "read"      // read rows and make others of them, without groups
)

// Progress is a moment of a running query. Its figures never fall, but for PhaseLeft and Left.
type Progress struct {
	Phase      Phase   // where a device fails, the CPU begins again with PhasePartition
	Fraction   float64 // of the whole query's work, from 0 to 1; -1 while the size of the input is unknown
	RowsRead   int64
	RowsTotal  int64 // -1 when it is not known
	BytesRead  int64
	BytesTotal int64 // -1 when it is not known
	Groups     int64 // emitted so far
	Elapsed    time.Duration
	Reading    time.Duration // how long the input has been read, or was: RowsRead by it is the rate
	PhaseLeft  time.Duration // estimated, of Phase; -1 while too little is known
	// estimated, of the query; -1 while too little is known, as of partitions that wait, and in
	// PhaseRead
	Left time.Duration
	Done bool // the query has succeeded; this is the last call
}

// Stats is what a query, or Engine.Rows, did. It is complete when the result has been read to its
// end. Of Rows, whatever groups have is zero: Table is "".
type Stats struct {
	Route    string        `json:"route"`            // "cpu", "device", or "cpu and device"
	Device   *device.Stats `json:"device,omitempty"` // nil when none was asked for
	Threads  int           `json:"threads"`          // workers
	RowsRead int64         `json:"rows_read"`        // of a merge, states
	// left out of RowsRead because of errors, where the source leaves out such rows
	RowsRejected int64 `json:"rows_rejected,omitempty"`
	BytesRead    int64 `json:"bytes_read"` // of the input, in its own form
	Splits       int   `json:"splits"`     // of a merge, blobs
	// what was left out, and by what; nil of a source without a filter
	Filter *scan.Pruning `json:"filter,omitempty"`
	// that the CPU has decoded, by codec; Device has its own
	Pages           []scan.PageCount `json:"pages,omitempty"`
	Groups          int64            `json:"groups"`
	Reduction       float64          `json:"reduction"` // rows read per group; 0 of no groups
	ResultBatches   int64            `json:"result_batches"`
	Table           string           `json:"table"`              // "dense", "hash" or "single group"
	KeyBytes        int              `json:"key_bytes"`          // of a packed key
	EstimatedGroups int64            `json:"estimated_groups"`   // when the fan-out was chosen; 0 if it never was
	RowsPreAgg      int64            `json:"rows_preaggregated"` // rows that went through a worker's table
	RowsScattered   int64            `json:"rows_scattered"`     // rows that went to partitions as they were
	StatesScattered int64            `json:"states_scattered"`   // groups' states that went to partitions
	// the scatter's fan-out; 1 when nothing was scattered
	Partitions       int   `json:"partitions"`
	PartitionsMerged int   `json:"partitions_merged"` // what the greedy merge made of them
	PartitionBytes   int64 `json:"partition_bytes"`   // held by the partition store at its fullest
	// scattered again, because their groups did not fit
	PartitionsSplit int64 `json:"partitions_split"`
	// written of groups that outgrew the memory alone, and merged
	SortedRuns    int64 `json:"sorted_runs"`
	SpilledBytes  int64 `json:"spilled_bytes"`  // of pages written to the temp directory
	SpilledStored int64 `json:"spilled_stored"` // bytes that they took there, compressed
	SpillFiles    int64 `json:"spill_files"`
	MemoryLimit   int64 `json:"memory_limit_bytes"`   // of pages, tables and decoded columns, at the end
	MemoryPeak    int64 `json:"memory_peak_bytes"`    // of the same
	ResidentLimit int64 `json:"resident_limit_bytes"` // of the process: Options.MemoryLimit
	// of the process, as the system sees it, while queries ran
	ResidentPeak int64                   `json:"resident_peak_bytes"`
	PhaseTimes   map[Phase]time.Duration `json:"phase_nanos"`
	Elapsed      time.Duration           `json:"elapsed_nanos"`
}

// memoryStats fills in what memory the engine may have, and has had.
func (e *Engine) memoryStats(s *Stats) {
	s.MemoryLimit, s.MemoryPeak = e.memory.Limit(), e.memory.Peak()
	s.ResidentLimit, s.ResidentPeak = e.opt.MemoryLimit, e.budget.Peak()
}
