package gen

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// h2oOrder makes the rows of a sorted H2O table, split by split, without sorting the whole.
//
// Each row of the unsorted table draws a tuple of values. Number the tuples of (id1, id2, id3) in
// their order from 0 to K * K * N/K, where the values that become NULL come first and count as
// one. A split is a range of these numbers: how many rows fall into it is a multinomial draw, made
// beforehand; given that, its rows are uniform in the range, and sorting them is the split's own
// business.
type h2oOrder struct {
	g      *h2o
	tuples uint64     // K * K * N/K
	starts []int64    // of Table
	nulls  [6][]int64 // by id column: the values that are NULL, ascending
}

func newH2OOrder(g *h2o) *h2oOrder {
	o := &h2oOrder{g: g, tuples: g.distinct(id1) * g.distinct(id2) * g.distinct(id3)}
	splits := max(1, (g.Rows+blockRows/2)/blockRows)
	o.starts = o.drawStarts(splits)
	for c := range o.nulls {
		if g.nulls[c] == nil {
			continue
		}
		for v := range g.distinct(c) {
			if g.nulls[c].at(v) < g.nullCount[c] {
				o.nulls[c] = append(o.nulls[c], int64(v))
			}
		}
	}
	return o
}

// drawStarts draws how many rows fall into each range: binomial numbers of the rows that are left,
// by their normal approximation, as the counts are some hundred thousand.
func (o *h2oOrder) drawStarts(splits int64) []int64 {
	r := newRNG(o.g.Seed, h2oColumns, permutationSplit)
	starts := make([]int64, splits+1)
	for s := range splits {
		left := float64(o.g.Rows - starts[s])
		low, high := o.bounds(int(s), splits)
		p := float64(high-low) / float64(o.tuples-low)
		n := left * p
		if p < 1 {
			gauss := math.Sqrt(-2*math.Log(1-r.float())) * math.Cos(2*math.Pi*r.float()) // Box-Muller
			n += gauss * math.Sqrt(left*p*(1-p))
		}
		starts[s+1] = starts[s] + int64(math.Round(min(max(n, 0), left)))
	}
	return starts
}

// bounds returns the range of tuples of a split: about equal parts, cut where the values change.
// A range may be empty where NULLs make a tuple stand for many.
func (o *h2oOrder) bounds(split int, splits int64) (low, high uint64) {
	step, rest := o.tuples/uint64(splits), o.tuples%uint64(splits)
	cut := func(s uint64) uint64 {
		if s == uint64(splits) {
			return o.tuples
		}
		return o.tuple(id1, s*step+min(s, rest)).first
	}
	return cut(uint64(split)), cut(uint64(split) + 1)
}

// sortedIDs are the ids of a split's rows: two numbers that compare as (id1, id2, id3) and
// (id4, id5, id6).
type sortedIDs struct {
	order *h2oOrder
	rows  [][2]uint64
}

// rows draws a split's ids and sorts them.
func (o *h2oOrder) rows(split int) *sortedIDs {
	low, high := o.bounds(split, int64(len(o.starts)-1))
	last := o.g.distinct(id4) * o.g.distinct(id5) * o.g.distinct(id6)
	r := newRNG(o.g.Seed, id1, split)
	ids := &sortedIDs{order: o, rows: make([][2]uint64, o.starts[split+1]-o.starts[split])}
	for i := range ids.rows {
		ids.rows[i] = [2]uint64{o.tuple(id1, low+r.below(high-low)).first, o.tuple(id4, r.below(last)).first}
	}
	slices.SortFunc(ids.rows, func(a, b [2]uint64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return ids
}

// tuple is what the number of a tuple of three columns stands for.
type tuple struct {
	first uint64    // the smallest number of the same values and NULLs
	class [3]uint64 // of each column: the value's place in the order; meaningless where null
	null  [3]bool
}

// tuple reads the number t of a tuple of the columns from, from+1, from+2. A column divides the
// range that the columns before it leave into as many equal parts as it has values; the parts of
// the values that are NULL come first and are one.
func (o *h2oOrder) tuple(from int, t uint64) tuple {
	out := tuple{}
	weight := uint64(1) // of the columns before: the product of what their NULLs stand for
	below := o.g.distinct(from) * o.g.distinct(from+1) * o.g.distinct(from+2)
	for i := range out.class {
		c := from + i
		below /= o.g.distinct(c)
		part := weight * below
		class, nulls := t/part, o.g.nullCount[c]
		if class < nulls {
			out.null[i] = true
			weight *= nulls
			continue
		}
		out.class[i] = class
		out.first += class * part
		t -= class * part
	}
	return out
}

// column returns the values of one column, row by row.
func (s *sortedIDs) column(c int) func() (uint64, bool) {
	row := 0
	return func() (uint64, bool) {
		from, number := id1, s.rows[row][0]
		if c >= id4 {
			from, number = id4, s.rows[row][1]
		}
		row++
		t := s.order.tuple(from, number)
		return s.order.value(c, t.class[c-from]), !t.null[c-from]
	}
}

// value returns the value at a place in a column's order, where the values that are NULL come
// first: the values below it that are NULL are skipped.
func (o *h2oOrder) value(c int, class uint64) uint64 {
	nulls := o.nulls[c]
	if len(nulls) == 0 || class < uint64(len(nulls)) {
		return class
	}
	rank := int64(class) - int64(len(nulls)) // among the values that are not NULL
	// The k-th NULL value v has v - k values below it that are not NULL.
	below := sort.Search(len(nulls), func(k int) bool { return nulls[k]-int64(k) > rank })
	return uint64(rank + int64(below))
}
