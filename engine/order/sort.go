package order

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// workers are the goroutines that a sort may use.
type workers struct {
	n     int
	units *semaphore.Weighted // nil where nobody shares them
}

// each calls a function for 0 to n-1, in parallel. It stops at the first error and when ctx is done.
func (w workers) each(ctx context.Context, n int, f func(i int) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sortRows is how many entries are sorted at a time: few enough that cancelling is not kept waiting,
// and that entries fit a core's cache.
const sortRows = 1 << 15

// sortEntries sorts entries by their keys, then by their places.
func sortEntries(ctx context.Context, w workers, entries []entry, long []longKeys) ([]entry, error) {
	compare := func(a, b *entry) int {
		if c := compareHeads(a, b); c != 0 {
			return c
		}
		if long != nil {
			if c := compareLong(long[a.batch].at(a.row), long[b.batch].at(b.row)); c != 0 {
				return c
			}
		}
		if a.batch != b.batch {
			return cmp.Compare(a.batch, b.batch)
		}
		return cmp.Compare(a.row, b.row)
	}
	chunks := (len(entries) + sortRows - 1) / sortRows
	err := w.each(ctx, chunks, func(i int) error {
		chunk := entries[i*sortRows : min((i+1)*sortRows, len(entries))]
		slices.SortFunc(chunk, func(a, b entry) int { return compare(&a, &b) })
		return nil
	})
	if err != nil || chunks <= 1 {
		return entries, err
	}
	other := make([]entry, len(entries))
	for size := sortRows; size < len(entries); size *= 2 {
		err := w.each(ctx, (len(entries)+2*size-1)/(2*size), func(i int) error {
			from := i * 2 * size
			mid, to := min(from+size, len(entries)), min(from+2*size, len(entries))
			mergeEntries(other[from:to], entries[from:mid], entries[mid:to], compare)
			return nil
		})
		if err != nil {
			return entries, err
		}
		entries, other = other, entries
	}
	return entries, nil
}

// mergeEntries merges two sorted lists.
func mergeEntries(out, a, b []entry, compare func(a, b *entry) int) {
	for len(a) > 0 && len(b) > 0 {
		if compare(&b[0], &a[0]) < 0 {
			out[0], b = b[0], b[1:]
		} else {
			out[0], a = a[0], a[1:]
		}
		out = out[1:]
	}
	copy(out, a)
	copy(out[len(a):], b)
}

// bound is a key that rows must be before to matter.
type bound struct {
	head [2]uint64
	key  []byte // of a long key
}

// admits says whether a row comes before the bound. A row with the same key comes behind the one that
// has set it. O2.
func (b *bound) admits(e *entry, long *longKeys) bool {
	if c := compareHeads(e, &entry{head: b.head}); c != 0 || long.ends == nil {
		return c < 0
	}
	return bytes.Compare(long.at(e.row), b.key) < 0
}
