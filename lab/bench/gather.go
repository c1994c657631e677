package bench

import (
	"errors"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// GatherTimes are the nanoseconds of gathers of a column of 4 bytes, and of what makes them clustered.
type GatherTimes struct {
	Unclustered int64 // by numbers in no order
	Clustered   int64 // by numbers whose order is that of partitions of 4,096 rows
	Sequential  int64 // by numbers in order
	Partition   int64 // of a key of 4 bytes and the column
	Sort        int64 // likewise
}

// windowRows are the rows of a partition that a clustered gather reads in no order.
const windowRows = 4096

// Gathers measures gathers of a number of rows.
func (r *Runner) Gathers(rows int64) (t GatherTimes, err error) {
	before := len(r.buffers)
	defer func() { err = errors.Join(err, r.freeFrom(before)) }()
	keys := make([]uint64, rows)
	if err := parallel(rows, func(begin, end int64) {
		for i := begin; i < end; i++ {
			keys[i] = scramble(uint64(i), 4)
		}
	}); err != nil {
		return t, err
	}
	column, err := r.put(narrow(keys, 4))
	if err != nil {
		return t, err
	}
	to, err := r.alloc(4 * rows)
	if err != nil {
		return t, err
	}
	for _, g := range []struct {
		nanos  *int64
		number func(row int64) uint64
	}{
		{&t.Unclustered, func(row int64) uint64 { return partition.Mix64(uint64(row)) % uint64(rows) }},
		{&t.Clustered, func(row int64) uint64 {
			return min(uint64(row)/windowRows*windowRows+partition.Mix64(uint64(row))%windowRows, uint64(rows-1))
		}},
		{&t.Sequential, func(row int64) uint64 { return uint64(row) }},
	} {
		if *g.nanos, err = r.gather(rows, column, to, g.number); err != nil {
			return t, err
		}
	}
	if t.Partition, err = r.partitionColumn(rows, column, to); err != nil {
		return t, err
	}
	t.Sort, err = r.sortColumn(rows, column, to)
	return t, err
}

func (r *Runner) gather(rows int64, from, to kernels.Span, number func(row int64) uint64) (nanos int64, err error) {
	numbers := make([]uint64, rows)
	if err := parallel(rows, func(begin, end int64) {
		for i := begin; i < end; i++ {
			numbers[i] = number(i)
		}
	}); err != nil {
		return 0, err
	}
	g := &kernels.Gathering{Count: rows, Columns: []kernels.GatherColumn{{Bytes: 4, From: from, FromRows: rows, To: to}}}
	if g.Numbers, err = r.put(narrow(numbers, 4)); err != nil {
		return 0, err
	}
	return r.median(func() error { return r.stream.Gather(g) })
}

// partitionColumn times the partition of keys, which are the column too, and a column.
func (r *Runner) partitionColumn(rows int64, column, to kernels.Span) (int64, error) {
	device := r.device.Properties()
	radixBits := kernels.JoinRadixBits(rows, device)
	shape := &kernels.Shape{KeyBytes: 4, Columns: []kernels.ColumnType{kernels.Uint32}}
	room, err := r.alloc(4 * rows)
	if err != nil {
		return 0, err
	}
	offsets, err := r.alloc(8<<radixBits + 8)
	if err != nil {
		return 0, err
	}
	scratch, err := r.alloc(kernels.PartitionScratch(shape, rows, radixBits, device))
	if err != nil {
		return 0, err
	}
	none := []kernels.Span{{}}
	in := &kernels.Rows{Count: rows, Keys: column, Columns: []kernels.Span{column}, Valid: none}
	out := &kernels.Rows{Count: rows, Keys: room, Columns: []kernels.Span{to}, Valid: none}
	return r.median(func() error { return r.stream.Partition(shape, in, radixBits, out, offsets, scratch) })
}

func (r *Runner) sortColumn(rows int64, column, to kernels.Span) (int64, error) {
	room, err := r.alloc(4 * rows)
	if err != nil {
		return 0, err
	}
	s := &kernels.Sorting{Count: rows, KeyBytes: 4, Keys: column, ToKeys: room}
	s.Values, s.ValueBytes, s.ToValues = column, 4, to
	scratch, err := r.alloc(s.SortScratch())
	if err != nil {
		return 0, err
	}
	return r.median(func() error { return r.stream.Sort(s, scratch) })
}
