package scatter

import (
	"math/bits"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
	"github.com/mpga/mpga/partition"
)

// Options say where the passes of an operator keep their pages.
type Options struct {
	Memory      rowdata.Memory // of pages
	Store       Store
	WorkerBytes func() int64 // one worker's share of the memory at present
}

// Pass is one scatter, by all workers or, where a partition is split again, by one.
type Pass struct {
	Radix      partition.Radix
	Partitions Partitions
	PageBytes  int   // most of a page
	Depth      int   // 0, or one more than the depth of the pass whose partition is split
	KeyBits    int   // of a packed key, where partitions are ranges of keys; 0 where they are hashes
	RowsMax    int64 // of a task of several partitions; 0 is no bound

	opt Options
}

// openPagesShare is the part of a worker's memory that its open pages of one content take at most.
const openPagesShare = 8

// NewPass begins a scatter, with fewer partitions or smaller pages where memory is short.
func (o *Options) NewPass(radix partition.Radix) *Pass {
	radix = o.LimitRadix(radix)
	return o.PassOf(radix, o.Store.NewPass(radix))
}

// PassOf returns the scatter to partitions that are kept elsewhere.
func (o *Options) PassOf(radix partition.Radix, to Partitions) *Pass {
	return &Pass{Radix: radix, Partitions: to, PageBytes: o.PageBytes(radix), opt: *o}
}

// OpenBytes returns the most bytes that a worker's open pages of one content may take.
func (o *Options) OpenBytes() int64 { return o.WorkerBytes() / openPagesShare }

// PageBytes returns the most bytes of a page, so that a page of each partition fits.
func (o *Options) PageBytes(radix partition.Radix) int {
	page := max(min(o.OpenBytes()>>radix, PageBytesMax), pageBytesMin)
	return 1 << (bits.Len64(uint64(page)) - 1)
}

// LimitRadix returns the largest fan-out, up to radix, whose open pages fit.
func (o *Options) LimitRadix(radix partition.Radix) partition.Radix {
	for radix > 1 && o.OpenBytes()>>radix < pageBytesMin {
		radix--
	}
	return radix
}

// Seed returns the hash seed of the scatter, which neither an earlier scatter nor the tables of
// this pass use (P2).
func (p *Pass) Seed() uint64 { return partition.Seed(p.Depth) }

// TableSeed returns the hash seed of the tables that partitions are processed in.
func (p *Pass) TableSeed() uint64 { return partition.Seed(p.Depth + 1) }

// Ranged reports whether partitions are ranges of keys.
func (p *Pass) Ranged() bool { return p.KeyBits > 0 }

// RangeOf returns the least key of a partition that is a range, and how many keys the range has.
func (p *Pass) RangeOf(partition int) (first, keys uint64) {
	shift := max(p.KeyBits-int(p.Radix), 0)
	return uint64(partition) << shift, 1 << shift
}

// Hash writes what names the partitions of packed keys: their hashes, or the keys themselves. long is
// what table.Hash returns.
func (p *Pass) Hash(l *rowdata.KeyLayout, keys, hashes []uint64) (long bool) {
	if !p.Ranged() {
		return table.Hash(l, keys, p.Seed(), hashes)
	}
	shift := 64 - p.KeyBits
	for i, k := range keys {
		hashes[i] = k << shift
	}
	return false
}

// Task is what one worker processes at a time: partitions of a pass.
type Task struct {
	Pass       *Pass
	Partitions []int
	Rows       int64
}

// Tasks merges the partitions greedily, to tasks of up to rowsMax rows; a larger partition is a task of
// its own. sizes is what Partitions.Sizes returns.
func (p *Pass) Tasks(sizes []int64, rowsMax int64) (tasks []Task) {
	switch {
	case p.Ranged():
		rowsMax = 1 // merged ranges would lie far from each other
	case p.RowsMax > 0:
		rowsMax = min(rowsMax, p.RowsMax)
	}
	for _, list := range partition.Merge(sizes, rowsMax) {
		t := Task{Pass: p, Partitions: list}
		for _, i := range list {
			t.Rows += sizes[i]
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// EachPage calls a function with the pages of a task, content after content. The function takes the
// pages over.
func (t *Task) EachPage(f func(Content, *rowdata.Page) error, contents ...Content) error {
	for _, content := range contents {
		for _, p := range t.Partitions {
			err := EachPage(t.Pass.Partitions.Take(p, content), func(page *rowdata.Page) error { return f(content, page) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// SplitsMax bounds how often a partition is split: at least 4-fold each time, so that the rows that
// are left together have one hash, or one key.
const SplitsMax = 12

// A partition is split at least 4-fold, so that splits end soon, and at most 256-fold, so that
// pages stay large.
const (
	splitBitsMin partition.Radix = 2
	splitBitsMax partition.Radix = 8
)

// Split begins the pass that scatters a task again, with hash bits that no pass before has read (P2).
// A table had room for the first taken rows of the task.
func (t *Task) Split(taken int64) *Pass {
	// If all rows have as many keys each as the rows so far, this many tables hold them.
	tables := 2 * t.Rows / max(taken, 1)
	radix := max(min(partition.Radix(bits.Len64(uint64(tables))), splitBitsMax), splitBitsMin)
	p := t.Pass.opt.NewPass(radix)
	p.Depth = t.Pass.Depth + 1
	p.RowsMax = max(min(taken, t.Rows)/2, 1) // not all of them again
	if invariants.Enabled {
		invariants.Checkf(p.Seed() != t.Pass.Seed(), "P2: pass %d has the seed of the pass before", p.Depth)
		invariants.Checkf(p.Depth <= SplitsMax, "P3: pass %d", p.Depth)
	}
	return p
}
