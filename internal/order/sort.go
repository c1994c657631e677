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
// byte in which keys differ, which leaves few rows to be compared. Every pass keeps the order of
// entries with equal bytes. O2.
type sorting struct {
	ctx  context.Context
	long []longKeys // nil where all keys fit their entries
}

// fewRows is the most entries that are sorted by comparing them.
const fewRows = 64

// sortEntries puts entries, which are in the order of their places, in the order of their keys.
func sortEntries(ctx context.Context, w workers, entries []entry, long []longKeys) error {
	s := &sorting{ctx, long}
	scratch := make([]entry, len(entries))
	starts, ok := s.scatter(entries, scratch)
	if !ok {
		return s.compareAll(entries)
	}
	return w.each(ctx, len(starts)-1, func(i int) error {
		return s.sort(entries[starts[i]:starts[i+1]], scratch[starts[i]:starts[i+1]])
	})
}

// sort sorts entries. scratch is as long.
func (s *sorting) sort(entries, scratch []entry) error {
	if len(entries) <= fewRows {
		return s.compareAll(entries)
	}
	starts, ok := s.scatter(entries, scratch)
	if !ok {
		return s.compareAll(entries)
	}
	for i := range len(starts) - 1 {
		if starts[i+1]-starts[i] < 2 {
			continue
		}
		if err := s.sort(entries[starts[i]:starts[i+1]], scratch[starts[i]:starts[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

// scatter orders entries by the first byte in which their heads differ. It returns where the
// entries of each value of that byte start. ok is false where all heads are equal.
func (s *sorting) scatter(entries, scratch []entry) (starts [257]int, ok bool) {
	var differ [2]uint64
	for i := range entries {
		differ[0] |= entries[i].head[0] ^ entries[0].head[0]
		differ[1] |= entries[i].head[1] ^ entries[0].head[1]
	}
	word := 0
	if differ[0] == 0 {
		word = 1
	}
	if differ[word] == 0 {
		return starts, false
	}
	shift := (63 - bits.LeadingZeros64(differ[word])) &^ 7
	for i := range entries {
		starts[1+int(byte(entries[i].head[word]>>shift))]++
	}
	for i := range 256 {
		starts[i+1] += starts[i]
	}
	next := starts
	for i := range entries {
		at := &next[byte(entries[i].head[word]>>shift)]
		scratch[*at] = entries[i]
		*at++
	}
	copy(entries, scratch)
	return starts, true
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
