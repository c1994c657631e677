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
}

const (
	splitBytesDefault  = 128 << 20
	splitsMax          = 100_000 // 5 digits in names
	groupsPerPartition = 1 << 14

	// A state that stands for a few rows costs as much on its way as these rows: splits should be large
	// beside the groups, and yet enough to keep all slots busy while one is slow.
	rowsPerGroup  = 8
	splitsPerSlot = 3
	slotsDefault  = 16

	partitionsDefault  = 64 // as of partial.Options
	stateBytesPerMerge = 64 << 20

	// Below a tree's node a merge would open that many packs, and read so little of each that the calls
	// take longer than the bytes.
	packsWithoutTree = 64
	bytesWithoutTree = 64 << 10
)

// ValidateCounts reports fields that are out of their bounds, of those that Count reads.
func (r *Request) ValidateCounts() error {
	var errs []error
	check := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(r.Splits >= 0 && r.Splits <= splitsMax, "%d splits: want 1 to %d", r.Splits, splitsMax)
	check(r.Slots >= 0, "%d slots: want 1 or more", r.Slots)
	check(r.SplitBytes >= 0, "splits of %d B: want 1 or more", r.SplitBytes)
	check(r.Partitions >= 0 && r.Partitions <= partition.FanOutMax && r.Partitions&(r.Partitions-1) == 0,
		"%d partitions: want a power of two up to %d", r.Partitions, partition.FanOutMax)
	check(r.Merges >= 0, "%d merges: want 1 or more", r.Merges)
	check(r.Combines >= -1, "%d nodes: want 1 or more", r.Combines)
	return errors.Join(errs...)
}

// Count returns how many tasks a plan has of an input of some bytes and rows in about as many groups, whose
// states take some bytes each. Rows and groups are negative where they are not known. An input of fewer
// parts has fewer splits.
func (r *Request) Count(bytes, rows, groups, state int64) Counts {
	return r.count(r.splits(bytes, rows, groups), groups, state)
}

// splits returns how many splits there are to be, of an input of some bytes and rows, of about as many
// groups. Rows and groups are negative where they are not known.
func (r *Request) splits(bytes, rows, groups int64) int {
	if r.Splits > 0 {
		return r.Splits
	}
	each := cmp.Or(r.SplitBytes, splitBytesDefault)
	n := max(min((bytes+each-1)/each, splitsMax), 1)
	if r.SplitBytes == 0 && rows > 0 && groups > 0 {
		n = min(n, max(rows/product(rowsPerGroup, groups), splitsPerSlot*int64(cmp.Or(r.Slots, slotsDefault))))
	}
	return int(n)
}

// count is Count for a number of splits.
func (r *Request) count(splits int, groups, state int64) Counts {
	n := Counts{Splits: splits, Partitions: r.Partitions}
	if n.Partitions == 0 {
		n.Partitions = partitionsDefault
		if groups >= 0 {
			most := min((groups+groupsPerPartition-1)/groupsPerPartition, partition.FanOutMax)
			n.Partitions = 1 << bits.Len64(uint64(max(most, 1)-1))
		}
	}
	each := product(max(groups, 0), state) // of a split that has all groups
	if n.Merges = r.Merges; n.Merges == 0 {
		n.Merges = n.Partitions
		if groups >= 0 {
			states := product(int64(splits), each)
			n.Merges = int(min((max(states, 1)-1)/stateBytesPerMerge+1, int64(n.Partitions)))
		}
	}
	n.Merges = min(n.Merges, n.Partitions)
	switch {
	case r.Combines > 0:
		n.Combines = min(r.Combines, splits)
	case r.Combines == 0 && splits > packsWithoutTree && each/int64(n.Merges) < bytesWithoutTree:
		n.Combines = treeNodes(splits)
	}
	return n
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
