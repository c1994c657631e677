package device

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
)

// ranking is the strings of a column in their order, by whose ranks devices find the least and the greatest.
type ranking struct {
	strings *encode.Strings
	numbers []uint32 // by rank; rank 0 belongs to no string
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

// rank puts the strings of a device's column in order, and returns the rank of each number. No string gets a number
// any more.
func (q *Query) rank(ctx context.Context, l *Layout, column int) ([]uint32, error) {
	in := l.columns[column].numbers
	r := &ranking{strings: in.Strings(), numbers: make([]uint32, in.Len()+1)}
	order := stringOrder{strings: r.strings, list: make([]numberedString, in.Len()), parts: 2 * q.Workers}
	err := order.sort(func(f func(part int)) error {
		return threads.Parallel(ctx, q.Threads, order.parts, nil, func(_ context.Context, part int, _ *threads.Thread) error {
			f(part)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	ranks := make([]uint32, len(r.numbers))
	for i, s := range order.list {
		r.numbers[i+1], ranks[s.number] = s.number, uint32(i+1)
	}
	l.rankings[column] = r
	return ranks, nil
}

// numberedString is a string that is sorted. head is some of its bytes: heads compare as strings do.
type numberedString struct {
	head   uint64
	number uint32
}

// stringOrder sorts the strings of numbers 1 and up. A sample cuts them into buckets of neighbours, which are sorted
// side by side.
type stringOrder struct {
	strings *encode.Strings
	list    []numberedString
	parts   int // that work is cut into
	skip    int // bytes that all strings begin with
}

// bounds returns the part of the list that one worker looks at.
func (o *stringOrder) bounds(part int) (from, to int) {
	return len(o.list) * part / o.parts, len(o.list) * (part + 1) / o.parts
}

func (o *stringOrder) compare(a, b numberedString) int {
	if c := cmp.Compare(a.head, b.head); c != 0 {
		return c
	}
	x, y := o.strings.At(uint64(a.number)), o.strings.At(uint64(b.number))
	return x.Compare(&y)
}

// sort sorts the list, which it fills. each calls a function for all parts, side by side.
func (o *stringOrder) sort(each func(func(part int)) error) error {
	if len(o.list) == 0 {
		return nil
	}
	shared := make([]int, o.parts)
	err := each(func(part int) { shared[part] = o.shared(part) })
	if err != nil {
		return err
	}
	o.skip = slices.Min(shared)
	if err := each(o.fill); err != nil {
		return err
	}
	cuts := o.cuts()
	buckets, places := make([]uint16, len(o.list)), make([][]int, o.parts)
	err = each(func(part int) {
		places[part] = make([]int, len(cuts)+1)
		from, to := o.bounds(part)
		for i, s := range o.list[from:to] {
			bucket, _ := slices.BinarySearchFunc(cuts, s, o.compare)
			buckets[from+i] = uint16(bucket)
			places[part][bucket]++
		}
	})
	if err != nil {
		return err
	}
	starts, at := make([]int, len(cuts)+2), 0
	for bucket := range len(cuts) + 1 {
		starts[bucket] = at
		for part := range places {
			size := places[part][bucket]
			places[part][bucket] = at
			at += size
		}
	}
	starts[len(cuts)+1] = at
	sorted := make([]numberedString, len(o.list))
	err = each(func(part int) {
		from, to := o.bounds(part)
		for i, s := range o.list[from:to] {
			place := &places[part][buckets[from+i]]
			sorted[*place] = s
			*place++
		}
	})
	if err != nil {
		return err
	}
	o.list = sorted
	return each(func(part int) {
		for bucket := part; bucket <= len(cuts); bucket += o.parts {
			slices.SortFunc(sorted[starts[bucket]:starts[bucket+1]], o.compare)
		}
	})
}

// shared returns how many bytes the strings of a part begin with that the first string does. Few numbers have no
// string; it is empty then.
func (o *stringOrder) shared(part int) int {
	first := o.strings.At(1)
	from, to := o.bounds(part)
	n := first.Len()
	for i := from; i < to; i++ {
		s := o.strings.At(uint64(i + 1))
		b := s.Bytes()
		if len(b) == 0 {
			continue
		}
		n = min(n, len(b))
		for j, c := range first.Bytes()[:n] {
			if c != b[j] {
				n = j
				break
			}
		}
	}
	return n
}

// fill fills in a part of the list.
func (o *stringOrder) fill(part int) {
	from, to := o.bounds(part)
	for i := from; i < to; i++ {
		s := o.strings.At(uint64(i + 1))
		var head [8]byte
		copy(head[:], s.Bytes()[min(o.skip, s.Len()):])
		o.list[i] = numberedString{binary.BigEndian.Uint64(head[:]), uint32(i + 1)}
	}
}

// cuts returns the last strings of all buckets but one.
func (o *stringOrder) cuts() (cuts []numberedString) {
	const perBucket = 64 // strings of the sample, so that buckets are of about the same size
	if len(o.list) < perBucket*o.parts {
		return nil
	}
	sample := make([]numberedString, perBucket*o.parts)
	for i := range sample {
		sample[i] = o.list[len(o.list)/len(sample)*i]
	}
	slices.SortFunc(sample, o.compare)
	for i := perBucket; i < len(sample); i += perBucket {
		cuts = append(cuts, sample[i])
	}
	return cuts
}
