package order

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/internal/spawn"
)

// workers are the goroutines that a sort may use.
type workers struct {
	n     int
	units *semaphore.Weighted // nil where nobody shares them
}

// each calls a function for 0 to n-1, in parallel. It stops at the first error and when ctx is
// done.
func (w workers) each(ctx context.Context, n int, f func(i int) error) error {
	group, groupCtx := spawn.WithContext(ctx)
	group.SetLimit(w.n)
	for i := range n {
		group.Go(func() error {
			if w.units != nil {
				if err := w.units.Acquire(groupCtx, 1); err != nil {
					return err
				}
				defer w.units.Release(1)
			}
			if err := groupCtx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	err := group.Wait()
	if ctx.Err() != nil && !errors.Is(err, spawn.ErrInternal) {
		return context.Cause(ctx)
	}
	return err
}

// sorting is a sort of entries by their keys, then by their places: a radix sort from the first
// bit in which keys differ, which leaves few rows to be compared. Every pass keeps the order of
// entries with equal bytes. O2.
type sorting struct {
	ctx  context.Context
	long []longKeys // nil where all keys fit their entries
}

// fewRows is the most entries that are sorted by comparing them.
const fewRows = 64

// parallelRows is the least number of entries that several workers scatter at once.
const parallelRows = 1 << 16

// sortEntries puts entries, which are in the order of their places, in the order of their keys: all workers scatter
// ranges that are too large for one of them, and each of them sorts smaller ones.
func sortEntries(ctx context.Context, w workers, entries []entry, long []longKeys) error {
	s := &sorting{ctx, long}
	scratch := make([]entry, len(entries))
	large := max(len(entries)/(2*w.n), parallelRows)
	var small [][2]int
	for ranges := [][2]int{{0, len(entries)}}; len(ranges) > 0; {
		at := ranges[len(ranges)-1]
		ranges = ranges[:len(ranges)-1]
		if at[1]-at[0] <= large {
			small = append(small, at)
			continue
		}
		starts, err := s.scatterAll(w, entries[at[0]:at[1]], scratch[at[0]:at[1]])
		if err != nil {
			return err
		}
		if starts == nil { // equal heads
			small = append(small, at)
			continue
		}
		for i := range len(starts) - 1 {
			if starts[i] < starts[i+1] {
				ranges = append(ranges, [2]int{at[0] + starts[i], at[0] + starts[i+1]})
			}
		}
	}
	return w.each(ctx, len(small), func(i int) error {
		return s.sort(entries[small[i][0]:small[i][1]], scratch[small[i][0]:small[i][1]])
	})
}

// scatterAll orders entries by a digit, by all workers, each of which has a part of the entries. It returns where the
// entries of each value of the digit start; nil where all heads are equal.
func (s *sorting) scatterAll(w workers, entries, scratch []entry) (starts []int, err error) {
	parts := slices.Collect(slices.Chunk(entries, max((len(entries)+w.n-1)/w.n, 1)))
	differ := make([][2]uint64, len(parts))
	_ = w.each(s.ctx, len(parts), func(i int) error {
		differ[i] = differing(parts[i], entries[0].head)
		return nil
	})
	all := differ[0]
	for _, d := range differ[1:] {
		all[0], all[1] = all[0]|d[0], all[1]|d[1]
	}
	at, ok := digitOf(all)
	if !ok {
		return nil, nil
	}
	next := make([][digits]int, len(parts))
	_ = w.each(s.ctx, len(parts), func(i int) error {
		at.count(parts[i], &next[i])
		return nil
	})
	starts = make([]int, digits+1)
	for v := range digits {
		first := starts[v]
		for i := range next {
			next[i][v], first = first, first+next[i][v]
		}
		starts[v+1] = first
	}
	_ = w.each(s.ctx, len(parts), func(i int) error {
		at.move(parts[i], scratch, &next[i])
		return nil
	})
	from := slices.Collect(slices.Chunk(scratch, max((len(entries)+w.n-1)/w.n, 1)))
	err = w.each(s.ctx, len(parts), func(i int) error {
		copy(parts[i], from[i])
		return nil
	})
	return starts, err
}

// sort sorts entries. scratch is as long.
func (s *sorting) sort(entries, scratch []entry) error {
	if len(entries) <= fewRows {
		return s.compareAll(entries)
	}
	at, ok := digitOf(differing(entries, entries[0].head))
	if !ok {
		return s.compareAll(entries)
	}
	var starts [digits]int
	at.count(entries, &starts)
	first := 0
	for v, n := range starts {
		starts[v], first = first, first+n
	}
	at.move(entries, scratch, &starts)
	copy(entries, scratch)
	first = 0
	for _, end := range starts {
		if end-first > 1 {
			if err := s.sort(entries[first:end], scratch[first:end]); err != nil {
				return err
			}
		}
		first = end
	}
	return nil
}

// digit is eight bits of the heads of entries: the highest ones in which they differ.
type digit struct{ word, shift int }

// digits is how many values a digit has.
const digits = 1 << 8

// differing returns the bits in which heads differ from one of them.
func differing(entries []entry, head [2]uint64) (differ [2]uint64) {
	for i := range entries {
		differ[0] |= entries[i].head[0] ^ head[0]
		differ[1] |= entries[i].head[1] ^ head[1]
	}
	return differ
}

// digitOf returns the digit by which entries are scattered whose heads differ in some bits; ok is false of none.
func digitOf(differ [2]uint64) (d digit, ok bool) {
	if differ[0] == 0 {
		d.word = 1
	}
	d.shift = max(bits.Len64(differ[d.word])-8, 0)
	return d, differ[d.word] != 0
}

func (d digit) value(e *entry) byte { return byte(e.head[d.word] >> d.shift) }

// count counts the entries of each value.
func (d digit) count(entries []entry, counts *[digits]int) {
	for i := range entries {
		counts[d.value(&entries[i])]++
	}
}

// move moves the entries to the places of their values, which it advances.
func (d digit) move(entries, to []entry, next *[digits]int) {
	for i := range entries {
		at := &next[d.value(&entries[i])]
		to[*at] = entries[i]
		*at++
	}
}

// compareAll sorts entries by comparing their keys.
func (s *sorting) compareAll(entries []entry) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	slices.SortFunc(entries, func(a, b entry) int { return s.compare(&a, &b) })
	return nil
}

func (s *sorting) compare(a, b *entry) int {
	if c := compareHeads(a, b); c != 0 {
		return c
	}
	if s.long != nil {
		if c := compareLong(s.long[a.batch].at(a.row), s.long[b.batch].at(b.row)); c != 0 {
			return c
		}
	}
	if a.batch != b.batch {
		return cmp.Compare(a.batch, b.batch)
	}
	return cmp.Compare(a.row, b.row)
}

// bound is the key of the last row that a limit admits so far: later rows come before it or do not
// matter.
type bound struct {
	head   [2]uint64
	key    []byte       // the whole key; nil where all keys fit their entries
	values []boundValue // in the first columns, as far as their values are words
}

// admits says whether a row comes before the bound. A row with the bound's key comes behind the
// bound's row. O2.
func (b *bound) admits(e *entry, long *longKeys) bool {
	if c := compareHeads(e, &entry{head: b.head}); c != 0 || long.ends == nil {
		return c < 0
	}
	return bytes.Compare(long.at(e.row), b.key) < 0
}
