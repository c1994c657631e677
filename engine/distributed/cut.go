package distributed

import (
	"math"
	"sort"

	"github.com/mpga/mpga/engine/scan"
)

// cut puts the splits of a source together to about n splits of equal bytes, each of neighbours.
// starts has the position of the first row of each file.
func cut(splits []scan.Split, starts []uint64, n int) []Split {
	if len(splits) == 0 {
		return []Split{{None: true}}
	}
	n = min(n, len(splits))
	var total int64
	ends := make([]int64, len(splits)) // bytes up to the end of each split
	for i, s := range splits {
		total += max(s.Bytes(), 1)
		ends[i] = total
	}
	var made []Split
	for i := 0; i < len(splits); {
		left := n - len(made)
		share := (total - before(ends, i)) / int64(left)
		to := i + 1
		for to < len(splits)-left+1 && ends[to]-before(ends, i) <= share+(ends[to]-ends[to-1])/2 {
			to++
		}
		if left == 1 {
			to = len(splits)
		}
		made = append(made, join(splits, starts, i, to))
		i = to
	}
	return made
}

func before(ends []int64, i int) int64 {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// join makes one split of splits [from, to).
func join(splits []scan.Split, starts []uint64, from, to int) Split {
	var s Split
	s.First, s.From = place(splits[from].Position(), starts)
	s.Last, _ = place(splits[to-1].Position(), starts)
	if to < len(splits) {
		if file, at := place(splits[to].Position(), starts); file == s.Last {
			s.To = at
		}
	}
	for _, of := range splits[from:to] {
		s.Bytes += of.Bytes()
		if s.Rows >= 0 && of.Rows() >= 0 {
			s.Rows += of.Rows()
		} else {
			s.Rows = -1
		}
	}
	return s
}

// place returns the file of a position, and the position in the file.
func place(position uint64, starts []uint64) (file int, at uint64) {
	file = sort.Search(len(starts), func(i int) bool { return starts[i] > position }) - 1
	return file, position - starts[file]
}

// span returns the positions of a split in a table of its files alone, [from, to).
func (s *Split) span(starts []uint64) (from, to uint64) {
	from, to = s.From, math.MaxUint64
	if s.To > 0 {
		to = starts[len(starts)-1] + s.To
	}
	return from, to
}

// ranges cuts partitions into n ranges of about equal size.
func ranges(partitions, n int) []Range {
	n = min(n, partitions)
	list := make([]Range, n)
	for i := range list {
		list[i] = Range{First: partitions * i / n, Last: partitions*(i+1)/n - 1}
	}
	return list
}
