package cpuagg

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/partition"
)

// Options say how a Run works. The zero value is usable.
type Options struct {
	// TotalRows returns about how many rows will come, or 0 where that is not known. It is asked once,
	// when the fan-out is chosen. The default, nil, is unknown.
	TotalRows func() int64

	// TableGroups is how many groups a worker's pre-aggregation table takes before it is
	// scattered. The default is as many as fit half of a 1 MiB L2 cache.
	TableGroups int

	// RadixBits fixes the fan-out of the scatter at 2^RadixBits. The default, 0, lets the run
	// choose when the first table fills.
	RadixBits int

	// Memory is where tables and pages lie. The default is rowdata.GoMemory.
	Memory rowdata.Memory

	// CacheBytes is one worker's share of the last-level cache. The default, and the least, is 4
	// MiB.
	CacheBytes int64

	// WorkerBytes returns one worker's share of the memory at present: workers ask where they decide
	// what to keep. The default, nil, is no bound.
	WorkerBytes func() int64

	// Ranges says whether partitions of clustered integer keys may be ranges of keys in place of hashes:
	// nobody scatters by HashKeys for the run. It is asked when the fan-out is chosen. The default, nil,
	// is no.
	Ranges func() bool

	// NoPreAgg scatters all rows at once; AlwaysPreAgg scatters no rows as they are; NoDense hashes
	// also keys that are small enough to be group numbers. The three are for tests and change no
	// answer.
	NoPreAgg, AlwaysPreAgg, NoDense bool

	// ForceSplits is how many times every task of more than one group is split, for tests.
	ForceSplits int

	// EstimateFactor multiplies the estimate of the groups that the fan-out follows, for tests.
	// The default, 0, is 1.
	EstimateFactor float64
}

// EnsureDefaults gives fields that are zero their defaults.
func (o *Options) EnsureDefaults(b *rowdata.Bound) {
	if o.TableGroups == 0 {
		o.TableGroups = tableGroups(b)
	}
	if o.Memory == nil {
		o.Memory = rowdata.GoMemory
	}
	o.CacheBytes = max(o.CacheBytes, tableGrowth*tableCacheBytes)
	if o.WorkerBytes == nil {
		o.WorkerBytes = func() int64 { return math.MaxInt64 }
	}
}

// tableCacheBytes is half of an L2 cache of 1 MiB, the smallest of recent server cores; the other
// half is for the tile.
const tableCacheBytes = 512 << 10

// tableGroups returns how many groups of a query fit tableCacheBytes.
func tableGroups(b *rowdata.Bound) int {
	const (
		slotBytes = 16 // two slots a group
		least     = 1 << 10
	)
	return max(tableCacheBytes/(slotBytes+8*b.StateLayout().Stride), least)
}

// windowMax returns how many keys may lie in the window of a worker's direct: as many as three
// quarters of its cache have room for, with their groups' states, and table.DirectMax at least.
// Beyond windowsMax scattered rows cost as much, and less where other programs use the cache.
func windowMax(b *rowdata.Bound, o *Options) uint64 {
	const (
		windowsMax = 1 << 19
		slack      = 8 // keys and whole states are in memory too, and twice while they grow
	)
	groupBytes := int64(4)
	for i := range b.Folds {
		words := b.Folds[i].Words
		if b.Folds[i].Kind == rowdata.FoldSumInt {
			words = 1 // its second word is not touched once the sums are narrow
		}
		groupBytes += int64(8 * words)
	}
	groups := min(o.CacheBytes/4*3, o.WorkerBytes()/slack) / groupBytes
	return min(max(uint64(1)<<bits.Len64(uint64(groups))/2, table.DirectMax), windowsMax)
}

// directLimit returns how many groups a worker's first table may have where it finds groups by
// distance.
func (r *Run) directLimit() int {
	return r.opt.TableGroups * directGrowth * int(r.windowMax/table.DirectMax)
}

// Run is the aggregation of one query: what its workers share.
type Run struct {
	bound *rowdata.Bound
	opt   Options
	pages scatter.Options // where what is scattered lies

	rowLayout, stateLayout rowdata.RowLayout
	rowBytes, stateBytes   int64
	firstBytes             int64  // of the blocks that a group's states take for their first elements
	windowMax              uint64 // of a worker's direct

	mu        sync.Mutex
	scatter   *scatter.Pass // nil until the first worker scatters
	estimated int64         // groups, when scatter was planned

	counters Counters
	borrower atomic.Pointer[Groups] // the groups that take memory beyond their worker's share, or nil
}

// Counters tell what a run has done. They only grow.
type Counters struct {
	RowsPreAgg      atomic.Int64 // rows that went through a worker's table
	RowsScattered   atomic.Int64 // rows that went to partitions as they were
	StatesScattered atomic.Int64 // groups' states that went to partitions
	Splits          atomic.Int64 // partitions that were scattered again
	Runs            atomic.Int64 // sorted runs of states that have outgrown the memory
}

// NewRun prepares the aggregation of a query. Groups that do not fit the workers' tables go to the
// store.
func NewRun(b *rowdata.Bound, opt Options, store scatter.Store) *Run {
	opt.EnsureDefaults(b)
	r := &Run{bound: b, opt: opt, windowMax: windowMax(b, &opt),
		pages: scatter.Options{Memory: opt.Memory, Store: store, WorkerBytes: opt.WorkerBytes}}
	r.rowLayout, r.stateLayout = b.RowLayout(), b.StateLayout()
	r.rowBytes, r.stateBytes = int64(8*r.rowLayout.Stride), int64(8*r.stateLayout.Stride)
	for i := range b.Folds {
		if f := &b.Folds[i]; f.KeepsElements() {
			r.firstBytes += int64(8 * vectorBlock(1, f.ElementWords))
		}
	}
	return r
}

// Counters returns the run's counters.
func (r *Run) Counters() *Counters { return &r.counters }

// denseBytesMax bounds the states of a table that has a group for every possible key: about a
// core's share of the last-level cache, as tableGrowth allows a hash table.
const denseBytesMax = tableGrowth * tableCacheBytes

// Dense reports whether packed keys are used as group numbers.
func (r *Run) Dense() bool {
	keys := &r.bound.Keys
	return keys.Dense() && r.stateBytes<<keys.Bits <= denseBytesMax && !r.opt.NoDense && !r.grows()
}

// grows reports whether some states grow with the rows: a table of them may have to be scattered
// however few they are.
func (r *Run) grows() bool {
	return slices.ContainsFunc(r.bound.Folds, func(f rowdata.Fold) bool { return f.Grows() })
}

// Scatter returns the fan-out, and the number of groups that was estimated when the fan-out was
// chosen; ok is false when nothing was scattered.
func (r *Run) Scatter() (radix partition.Radix, estimated int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scatter == nil {
		return 0, 0, false
	}
	return r.scatter.Radix, r.estimated, true
}

// Occupied returns which of 2^radix partitions of the hash have rows or states in the store. Groups
// in the tables of workers do not count.
func (r *Run) Occupied(radix partition.Radix) []bool {
	r.mu.Lock()
	pass := r.scatter
	r.mu.Unlock()
	occupied := make([]bool, radix.FanOut())
	if pass == nil {
		return occupied
	}
	for p, n := range pass.Partitions.Sizes() {
		if n == 0 && !pass.Ranged() { // else it is a range of keys, whose hashes are anywhere
			continue
		}
		// The partition's range of the hash's highest bits, in partitions of the other radix.
		for i := p << radix >> pass.Radix; i <= ((p+1)<<radix-1)>>pass.Radix; i++ {
			occupied[i] = true
		}
	}
	return occupied
}

// sample is what a worker saw until its table first filled.
type sample struct {
	rows, groups, singletons int64
	clustered                bool   // other rows have other groups
	span                     uint64 // of clustered integer keys of one word: the greatest less the least
}

// plan returns the scatter's plan, which the first caller's sample decides.
func (r *Run) plan(s sample) *scatter.Pass {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scatter == nil {
		total := r.totalRows(s)
		r.planFor(r.estimate(s, total))
		if r.opt.Ranges != nil && r.evenRange(s, total) && r.opt.Ranges() {
			r.scatter.KeyBits = r.bound.Keys.Bits
		}
	}
	return r.scatter
}

// evenRange reports whether the rows of a sample of clustered keys have about their share of the
// range of all keys, as far as statistics tell the range: then ranges of keys are partitions of about
// one size. The groups of a worker's table lie in few of them, and beside each other.
func (r *Run) evenRange(s sample, total int64) bool {
	const uneven = 8
	keys := &r.bound.Keys
	if !s.clustered || keys.Words != 1 || len(keys.Fields) != 1 || keys.Fields[0].Interned ||
		keys.Fields[0].Span == math.MaxUint64 || keys.Bits <= int(partition.RadixBitsMax) {
		return false
	}
	all := float64(s.span) * float64(total) / float64(s.rows)
	whole := float64(keys.Fields[0].Span)
	return whole/uneven <= all && all <= whole*uneven
}

// PlanScatter plans the scatter for a number of groups, unless it is planned already, and returns
// its fan-out.
func (r *Run) PlanScatter(groups int64) partition.Radix {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scatter == nil {
		r.planFor(groups)
	}
	return r.scatter.Radix
}

// planFor begins the scatter for a number of groups.
// Requires: r.mu is held.
func (r *Run) planFor(groups int64) {
	r.estimated = groups
	r.scatter = r.pages.NewPass(r.radix(groups))
}

// rowsUnknown stands for the rows of an input of unknown size: large enough that the fan-out suits
// every input that partitioning matters for.
const rowsUnknown = 1 << 30

// totalRows returns about how many rows there are. s is the sample that has been seen.
func (r *Run) totalRows(s sample) int64 {
	total := int64(0)
	if r.opt.TotalRows != nil {
		total = r.opt.TotalRows()
	}
	if total <= 0 {
		total = rowsUnknown
	}
	return max(total, s.rows)
}

// estimate returns how many groups all rows have, by a sample of the rows.
func (r *Run) estimate(s sample, total int64) int64 {
	groups, _, _ := partition.EstimateGroups(s.rows, s.groups, s.singletons, total)
	switch {
	case s.clustered:
		groups = int64(float64(s.groups) * (float64(total) / float64(s.rows)))
	case s.rows > 0:
		// EstimateGroups is low where most groups came once. Too few partitions cost more than too
		// many.
		groups = max(groups, partition.EqualGroups(s.rows, s.groups, total))
	}
	if f := r.opt.EstimateFactor; f > 0 {
		groups = int64(min(max(float64(groups)*f, 1), math.MaxInt64/2))
	}
	return groups
}

// The scatter never makes fewer than 2^radixBitsMin partitions: enough to share among the
// workers, and cheap.
const radixBitsMin = 6

// partitionFailure is the probability p of the balls-into-bins bound: that some partition has more
// groups than its table should hold. That table then outgrows the cache, and no more.
const partitionFailure = 0.01

// radix chooses the fan-out such that a partition's table fits the cache.
func (r *Run) radix(groups int64) partition.Radix {
	if r.opt.RadixBits > 0 {
		return partition.Radix(r.opt.RadixBits)
	}
	size, err := partition.Size(max(groups, 1), int64(tableGroups(r.bound)), partitionFailure)
	if err != nil {
		return partition.RadixBitsMax
	}
	return max(size.Radix(), radixBitsMin)
}
