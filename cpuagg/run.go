package cpuagg

import (
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
)

// Options say how a Run works. The zero value is usable.
type Options struct {
	// TotalRows is how many rows will come, for choosing the fan-out. The default, 0, is unknown.
	TotalRows int64

	// TableGroups is how many groups a worker's pre-aggregation table takes before it is
	// scattered. The default is what fits half of a 1 MiB L2 cache.
	TableGroups int

	// RadixBits fixes the fan-out of the scatter at 2^RadixBits. The default, 0, lets the run
	// choose when the first table fills.
	RadixBits int

	// NoPreAgg scatters all rows at once; AlwaysPreAgg scatters none as they are; NoDense hashes
	// also keys that are small enough to be group numbers. They are for tests: none changes an
	// answer.
	NoPreAgg, AlwaysPreAgg, NoDense bool
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults(b *spec.Bound) {
	if o.TableGroups == 0 {
		o.TableGroups = tableGroups(b)
	}
}

// tableCacheBytes is half of an L2 cache of 1 MiB, the least of the server cores of the last years;
// the rest is for the tile.
const tableCacheBytes = 512 << 10

// tableGroups returns how many groups of a query fit tableCacheBytes.
func tableGroups(b *spec.Bound) int {
	const (
		slotBytes = 16 // two slots a group
		least     = 1 << 10
	)
	return max(tableCacheBytes/(slotBytes+8*b.StateLayout().Stride), least)
}

// Run is the aggregation of one query: what its workers share.
type Run struct {
	bound *spec.Bound
	opt   Options
	store func(radix partition.Radix) Store

	rowLayout, stateLayout spec.RowLayout
	rowBytes, stateBytes   int64

	// The scatter is set up when the first worker needs it.
	mu        sync.Mutex
	scatter   *scatterPlan
	estimated int64

	counters Counters
}

// scatterPlan is the fan-out that all workers scatter with, and the store that they scatter to.
type scatterPlan struct {
	radix partition.Radix
	store Store
}

// Counters tell what a run has done. They only grow.
type Counters struct {
	RowsPreAgg      atomic.Int64 // rows that went through a worker's table
	RowsScattered   atomic.Int64 // rows that went to partitions as they were
	StatesScattered atomic.Int64 // groups' states that went to partitions
}

// NewRun prepares the aggregation of a query. newStore makes the partition store, when the groups
// turn out not to fit the workers' tables.
func NewRun(b *spec.Bound, opt Options, newStore func(radix partition.Radix) Store) *Run {
	opt.EnsureDefaults(b)
	r := &Run{bound: b, opt: opt, store: newStore}
	r.rowLayout, r.stateLayout = b.RowLayout(), b.StateLayout()
	r.rowBytes, r.stateBytes = int64(8*r.rowLayout.Stride), int64(8*r.stateLayout.Stride)
	return r
}

// Counters returns the run's counters.
func (r *Run) Counters() *Counters { return &r.counters }

// denseBytesMax bounds the states of a table that has one for every possible key: about a core's
// share of the last-level cache, as tableGrowth allows a hash table.
const denseBytesMax = tableGrowth * tableCacheBytes

// Dense reports whether packed keys are used as group numbers.
func (r *Run) Dense() bool {
	keys := &r.bound.Keys
	return keys.Dense() && r.stateBytes<<keys.Bits <= denseBytesMax && !r.opt.NoDense
}

// Scatter returns the fan-out, and the number of groups that was estimated when it was chosen;
// ok is false when nothing was scattered.
func (r *Run) Scatter() (radix partition.Radix, estimated int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scatter == nil {
		return 0, 0, false
	}
	return r.scatter.radix, r.estimated, true
}

// sample is what a worker saw until its table first filled.
type sample struct {
	rows, groups, singletons int64
}

// plan returns the scatter's plan, which the first caller's sample decides.
func (r *Run) plan(s sample) *scatterPlan {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scatter == nil {
		r.estimated = r.estimate(s)
		radix := r.radix()
		r.scatter = &scatterPlan{radix: radix, store: r.store(radix)}
	}
	return r.scatter
}

// rowsUnknown stands in for the size of an input that does not tell it: large enough that the
// fan-out suits any input that partitioning matters for.
const rowsUnknown = 1 << 30

func (r *Run) estimate(s sample) int64 {
	total := r.opt.TotalRows
	if total <= 0 {
		total = rowsUnknown
	}
	groups, _, _ := partition.EstimateGroups(s.rows, s.groups, s.singletons, max(total, s.rows))
	return groups
}

// The scatter never makes fewer than 2^radixBitsMin partitions: enough to share among the
// workers, and cheap.
const radixBitsMin = 6

// partitionFailure is the probability p of the balls-into-bins bound: that some partition has more
// groups than its table should hold. It then only leaves the cache.
const partitionFailure = 0.01

// radix chooses the fan-out such that a partition's table fits the cache.
func (r *Run) radix() partition.Radix {
	if r.opt.RadixBits > 0 {
		return partition.Radix(r.opt.RadixBits)
	}
	size, err := partition.Size(max(r.estimated, 1), int64(tableGroups(r.bound)), partitionFailure)
	if err != nil {
		return partition.RadixBitsMax
	}
	return max(size.Radix(), radixBitsMin)
}
