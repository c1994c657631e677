package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/mpga/mpga/partition"
)

// Counts is how many tasks the stages of a plan have.
type Counts struct {
	Splits     int
	Partitions int // of the hash of the keys, a power of two
	Combines   int // nodes of the tree between splits and merges; 0 for no tree
	Merges     int
	Exchanged  int // partitions of the hash by which rows change tasks; 0 where none do
}

const (
	splitBytesDefault     = 128 << 20
	broadcastBytesDefault = 256 << 20 // 64 tasks read 16 GiB, as much as a split may have
	splitBytesMost        = 16 << 30  // what an attempt may lose; ten minutes of a thread
	splitsMax             = 100_000   // 5 digits in names
	groupBytesLeast       = 16        // of a text whose rows nobody has counted
	groupsPerPartition    = 1 << 14

	// A seal has the sizes of all blobs of a stage, and each merge reads it: 64 Mi sizes are half a GiB.
	blobsMax = 1 << 26

	// A state that stands for a few rows costs as much on its way as these rows: splits should be large
	// beside the groups, and yet enough to keep all slots busy while one is slow.
	rowsPerGroup  = 8
	splitsPerSlot = 3
	slotsDefault  = 16

	partitionsDefault  = 64 // as of partial.Options
	exchangedBytes     = 32 << 20
	stateBytesPerMerge = 64 << 20

	// Below a tree's node a merge would open that many packs, and read so little of each that the calls
	// take longer than the bytes.
	packsWithoutTree = 64
	bytesWithoutTree = 64 << 10
)

// ValidateCounts reports fields that are out of their bounds, of the fields that Count reads.
func (r *Request) ValidateCounts() error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(r.Splits >= 0 && r.Splits <= splitsMax, "%d splits: want 1 to %d", r.Splits, splitsMax)
	check(r.Slots >= 0, "%d slots: want 1 or more", r.Slots)
	check(r.BroadcastBytes >= 0, "whole tables of %d B: want 1 or more", r.BroadcastBytes)
	check(r.SplitBytes >= 0, "splits of %d B: want 1 or more", r.SplitBytes)
	check(r.Partitions >= 0 && r.Partitions <= partition.FanOutMax && r.Partitions&(r.Partitions-1) == 0,
		"%d partitions: want a power of two up to %d", r.Partitions, partition.FanOutMax)
	check(r.Merges >= 0, "%d merges: want 1 or more", r.Merges)
	check(r.Combines >= -1, "%d nodes: want 1 or more", r.Combines)
	return errors.Join(errs...)
}

// Expected is what is expected of an input and its groups.
type Expected struct {
	Bytes  int64 // of the input, that are read
	Rows   int64 // negative where nothing tells
	Groups int64 // negative where nothing tells
	State  int64 // bytes of a group's state, without the values that the state keeps
	Values bool  // states keep values of rows: distinct counts, medians, lists
}

// Count returns how many tasks a plan has. An input of fewer parts has fewer splits.
func (r *Request) Count(e Expected) Counts { return r.count(r.splits(e), e) }

// splits returns how many splits there are to be.
func (r *Request) splits(e Expected) int {
	if r.Splits > 0 {
		return r.Splits
	}
	each := cmp.Or(r.SplitBytes, splitBytesDefault)
	n := max(min(ceil(e.Bytes, each), splitsMax), 1)
	switch {
	case r.SplitBytes > 0:
	case r.Slots > 0:
		n = min(n, max(splitsPerSlot*int64(r.Slots), ceil(e.Bytes, splitBytesMost)))
	case e.Rows > 0 && e.Groups > 0:
		n = min(n, max(e.Rows/product(rowsPerGroup, e.Groups), splitsPerSlot*slotsDefault))
	}
	return int(n)
}

// count is Count for a number of splits.
func (r *Request) count(splits int, e Expected) Counts {
	n := Counts{Splits: splits, Partitions: r.Partitions}
	if n.Partitions == 0 {
		n.Partitions = e.partitions(splits)
	}
	each := e.ofSplit(splits)
	if n.Merges = r.Merges; n.Merges == 0 {
		n.Merges = n.Partitions
		if e.Groups >= 0 {
			n.Merges = int(min(ceil(product(int64(splits), each), stateBytesPerMerge), int64(n.Partitions)))
		}
	}
	n.Merges = max(min(n.Merges, n.Partitions), 1)
	switch {
	case r.Combines > 0:
		n.Combines = min(r.Combines, splits)
	case r.Combines == 0 && splits > packsWithoutTree && each/int64(n.Merges) < bytesWithoutTree:
		n.Combines = treeNodes(splits)
	}
	return n
}

// exchanged returns the counts of a plan whose rows, of inputs of some bytes, change tasks: by default, a partition for
// exchangedBytes, and a task behind the exchange for as many bytes as a split has. isRows says that merges read the
// rows.
func (r *Request) exchanged(n Counts, bytes int64, isRows bool) Counts {
	each := cmp.Or(r.SplitBytes, splitBytesDefault)
	tasks := max(ceil(bytes, each), 1)
	if r.Slots > 0 {
		tasks = min(tasks, int64(splitsPerSlot*r.Slots))
	}
	if n.Exchanged = r.Partitions; n.Exchanged == 0 {
		least := max(ceil(bytes, exchangedBytes), tasks)
		n.Exchanged = 1 << bits.Len64(uint64(min(least, partition.FanOutMax)-1))
	}
	tasks = min(tasks, int64(n.Exchanged))
	if isRows {
		n.Partitions, n.Combines = n.Exchanged, 0
		if n.Merges = min(r.Merges, n.Exchanged); n.Merges == 0 {
			n.Merges = int(tasks)
		}
		return n
	}
	if n.Combines = min(r.Combines, n.Exchanged); n.Combines <= 0 {
		n.Combines = int(tasks)
	}
	return n
}

// partitions returns how many partitions there are by default.
func (e *Expected) partitions(splits int) int {
	if e.Groups < 0 {
		return partitionsDefault
	}
	n := 1 << bits.Len64(uint64(max(min(ceil(e.Groups, groupsPerPartition), partition.FanOutMax), 1)-1))
	if e.Values && e.Groups > 1 {
		n = max(n, partitionsDefault)
	}
	for n > partitionsDefault && n*splits > blobsMax {
		n /= 2
	}
	return n
}

// ofSplit returns about the bytes of the states of one of some splits, as if each had as many groups as it
// can have.
func (e *Expected) ofSplit(splits int) int64 {
	groups := max(e.Groups, 0)
	if e.Rows < 0 {
		return product(groups, e.State)
	}
	rows := e.Rows / int64(splits)
	bytes := product(min(groups, rows), e.State)
	if e.Values && bytes < math.MaxInt64-8*rows {
		bytes += 8 * rows
	}
	return bytes
}

// ceil returns a divided by b, rounded up, of a that is not negative.
func ceil(a, b int64) int64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// product returns a times b, which are not negative, or the largest number where they are too large.
func product(a, b int64) int64 {
	if high, low := bits.Mul64(uint64(a), uint64(b)); high == 0 && low <= math.MaxInt64 {
		return int64(low)
	}
	return math.MaxInt64
}

// treeNodes returns the number of nodes that are merged of as many splits each as there are nodes.
func treeNodes(splits int) int {
	n := 1
	for n*n < splits {
		n++
	}
	return n
}
