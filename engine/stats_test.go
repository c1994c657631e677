package engine_test

import (
	"testing"
	"time"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch statistics of a query that spills and splits which leave out what it did, count it
// twice, or give times that do not add up to the whole.
func TestStatsOfSpilling(t *testing.T) {
	const rows, groups, memory = 400_000, 200_000, 12 << 20
	src, err := gen.Pairs(gen.PairsOptions{Rows: rows, Groups: groups, Sparse: true, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	opt := testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()},
		testknobs.Engine{MemoryBytes: memory, SpillAll: true, RadixBits: 3, NoPreAgg: true, ForceSplits: 1})
	q := query.Query{Keys: []query.Key{{Column: "key"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"value"}}}}
	result := mustAggregate(t, openChecked(t, opt), src, q)
	defer result.Release()
	for result.Next() {
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	s := result.Stats()
	rowBytes := int64(16) // a key and a value
	for name, ok := range map[string]bool{
		"groups":               s.Groups == groups && s.Reduction == float64(rows)/groups,
		"rows":                 s.RowsRead == rows && s.RowsScattered == rows && s.RowsPreAgg == 0,
		"partitions":           s.Partitions == 8 && s.PartitionsMerged >= 1 && s.PartitionsMerged <= 8,
		"each task split once": s.PartitionsSplit == int64(s.PartitionsMerged),
		"every row to disk, and once more when its task is split": s.SpilledBytes >= 2*rows*rowBytes,
		"what compression leaves":                                 s.SpilledStored > 0 && s.SpilledStored <= s.SpilledBytes+s.SpilledBytes/10,
		"files":                                                   s.SpillFiles >= 1 && s.SpillFiles <= 2,
		"memory":                                                  s.MemoryPeak > 0 && s.MemoryPeak <= memory+memory/2,
	} {
		if !ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	var phases time.Duration
	for _, phase := range []engine.Phase{engine.PhasePlan, engine.PhasePartition, engine.PhaseProcess} {
		if s.PhaseTimes[phase] <= 0 {
			t.Errorf("%s took %v", phase, s.PhaseTimes[phase])
		}
		phases += s.PhaseTimes[phase]
	}
	if phases > s.Elapsed || phases < s.Elapsed/2 {
		t.Errorf("phases of %v in %v", phases, s.Elapsed)
	}
}
