package device

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/encode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
)

// ranking is the strings of a column in their order, by whose ranks devices find the least and the greatest.
type ranking struct {
	strings *encode.Strings
	numbers []uint32 // by rank: the first, 0, is that of no string
}

// rankedColumns returns the device's columns whose numbers become ranks.
func (l *Layout) rankedColumns() (list []int) {
	for i := range l.columns {
		if l.columns[i].ranked {
			list = append(list, i)
		}
	}
	return list
}

// at returns the string of a rank.
func (r *ranking) at(rank uint64) rowdata.Bytes2 { return r.strings.At(uint64(r.numbers[rank])) }

// states returns states of FoldBest, of groups whose least or greatest ranks are given; what is no rank is of a group
// without a string.
func (r *ranking) states(buf, ranks []uint64) []uint64 {
	const words = 3 // whether there is a string, and the string
	buf = rowdata.Grow(buf, words*len(ranks))
	clear(buf)
	for i, rank := range ranks {
		if rank == 0 || rank >= uint64(len(r.numbers)) {
			continue
		}
		s := r.at(rank)
		buf[words*i], buf[words*i+1], buf[words*i+2] = 1, s[0], s[1]
	}
	return buf
}

// stringsOf returns the strings of numbers, in two words each; of 0, which a NULL has, the empty string.
func stringsOf(buf []uint64, numbers []uint32, strings *encode.Strings) []uint64 {
	buf = rowdata.Grow(buf, 2*len(numbers))
	clear(buf)
	for i, number := range numbers {
		if number != 0 {
			s := strings.At(uint64(number))
			buf[2*i], buf[2*i+1] = s[0], s[1]
		}
	}
	return buf
}

// rankedString is a string that is sorted. head is its first bytes, by which it compares as strings do.
type rankedString struct {
	head   uint64
	number uint32
}

// headBytes are the bytes of a rankedString's head.
const headBytes = 8

// rank puts the strings of a device's column in order, and returns the rank of each number. No string gets a number
// any more.
func (q *Query) rank(ctx context.Context, l *Layout, column int) ([]uint32, error) {
	in := l.columns[column].numbers
	r := &ranking{strings: in.Strings(), numbers: make([]uint32, in.Len()+1)}
	list, err := q.sorted(ctx, r.strings, in.Len())
	if err != nil {
		return nil, err
	}
	ranks := make([]uint32, len(r.numbers))
	for i, s := range list {
		r.numbers[i+1], ranks[s.number] = s.number, uint32(i+1)
	}
	l.rankings[column] = r
	return ranks, nil
}

// sorted returns the strings of numbers 1 to n in their order. Each worker sorts a part, and pairs of parts are merged.
func (q *Query) sorted(ctx context.Context, strings *encode.Strings, n int) ([]rankedString, error) {
	list, scratch := make([]rankedString, n), make([]rankedString, n)
	compare := func(a, b rankedString) int {
		if c := cmp.Compare(a.head, b.head); c != 0 {
			return c
		}
		x, y := strings.At(uint64(a.number)), strings.At(uint64(b.number))
		return x.Compare(&y)
	}
	parts := 1 << bits.Len(uint(q.Workers-1))
	bound := func(part int) int { return n * part / parts }
	each := func(n int, f func(i int)) error {
		return threads.Parallel(ctx, q.Threads, n, nil, func(_ context.Context, i int, _ *threads.Thread) error {
			f(i)
			return nil
		})
	}
	err := each(parts, func(i int) {
		part := list[bound(i):bound(i+1)]
		for j := range part {
			number := uint32(bound(i) + j + 1)
			s := strings.At(uint64(number))
			part[j] = rankedString{headOf(s.Bytes()), number}
		}
		slices.SortFunc(part, compare)
	})
	for step := 1; step < parts && err == nil; step *= 2 {
		err = each(parts/(2*step), func(i int) {
			from, mid, to := bound(2*step*i), bound(2*step*i+step), bound(2*step*(i+1))
			merge(scratch[from:to], list[from:mid], list[mid:to], compare)
		})
		list, scratch = scratch, list
	}
	return list, err
}

// headOf returns the first bytes of a string as a number that compares as they do.
func headOf(s []byte) uint64 {
	var head [headBytes]byte
	copy(head[:], s)
	return binary.BigEndian.Uint64(head[:])
}

// merge merges two lists in order into one.
func merge[T any](into, a, b []T, compare func(a, b T) int) {
	for i := range into {
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			into[i], a = a[0], a[1:]
		} else {
			into[i], b = b[0], b[1:]
		}
	}
}
