package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch rows that are marked as different, or as equal, in spite of their keys: packed, as bytes, and read back
// from disk; and spans whose batches are other rows.
func TestSpans(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 2))
		rows := rng.IntN(4000)
		schema, batches := grouptest.RandomTable(rng, rows, sortableTypes()...)
		by := randomBy(rng, schema, rows)
		by = By{Keys: by.Keys} // spans have no limit
		if seed%4 == 0 {
			by.Keys = nil
		}
		prefix := rng.IntN(len(by.Keys) + 1)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		r := newReader(t, batchReader(t, schema, batches), by, Options{
			Bytes: 1 << (12 + rng.IntN(14)), Temp: store.NewTemp(vfs.OS, t.TempDir(), math.MaxInt64), Allocator: mem,
			Threads: 1 + rng.IntN(3), BatchRows: 1 + rng.IntN(500),
		})
		r.MarkPrefix(prefix)
		var got [][]any
		var marks []uint8
		var spans []*Span
		take := func() {
			made, err := Batches(spans)
			check(t, err)
			got = append(got, cellsOf(made)...)
			recordreader.ReleaseAll(made)
			for _, s := range spans {
				s.Release()
			}
			spans = nil
		}
		for {
			span, err := r.NextSpan()
			check(t, err)
			if span == nil {
				break
			}
			marks = append(marks, span.Marks...)
			at := rng.IntN(len(span.Marks) + 1)
			spans = append(spans, span.Slice(0, at))
			if rng.IntN(2) == 0 {
				take()
			}
			spans = append(spans, span.Slice(at, len(span.Marks)))
			span.Release()
		}
		take()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			same(t, got, oracle(cellsOf(batches), by))
			for i, mark := range marks {
				want := NewPrefix | NewKey
				if i > 0 {
					want = markOf(got[i-1], got[i], by.Keys, prefix)
				}
				if mark != want {
					t.Fatalf("row %d, %v behind %v: mark %d, want %d", i, got[i], got[i-1], mark, want)
				}
			}
		})
		r.Release()
		mem.AssertSize(t, 0)
	}
}

// markOf returns the mark of a row behind another.
func markOf(before, row []any, keys []Key, prefix int) (mark uint8) {
	for i, k := range keys {
		if compareCells(before[k.Column], row[k.Column], k) == 0 {
			continue
		}
		if mark = NewKey; i < prefix {
			return NewPrefix | NewKey
		}
	}
	return mark
}

// Would catch entries that several workers lose, double or put at a wrong place.
func TestSortEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for name, head := range map[string]func() [2]uint64{
		"uniform":        func() [2]uint64 { return [2]uint64{rng.Uint64(), rng.Uint64()} },
		"few keys":       func() [2]uint64 { return [2]uint64{0, rng.Uint64N(3)} },
		"one key":        func() [2]uint64 { return [2]uint64{1, 1} },
		"most in a part": func() [2]uint64 { return [2]uint64{rng.Uint64() >> rng.IntN(64), rng.Uint64N(9)} },
		"second words":   func() [2]uint64 { return [2]uint64{7, rng.Uint64() >> rng.IntN(64)} },
	} {
		entries := make([]entry, 5*parallelRows+rng.IntN(100))
		for i := range entries {
			entries[i] = entry{head: head(), batch: uint32(i / 1000), row: uint32(i % 1000)}
		}
		want := slices.Clone(entries)
		slices.SortFunc(want, func(a, b entry) int { return (&sorting{}).compare(&a, &b) })
		check(t, sortEntries(t.Context(), workers{n: 1 + rng.IntN(4)}, entries, nil))
		if !slices.Equal(entries, want) {
			t.Errorf("%s: not in order", name)
		}
	}
}

// Would catch a row that is dropped though it is among the first ones of its prefix, and rows that are lost or change
// places where others are dropped before and after runs are written.
func TestFirstOfPrefix(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 4))
		rows := rng.IntN(4000)
		schema, batches := grouptest.RandomTable(rng, rows, sortableTypes()...)
		by := randomBy(rng, schema, rows)
		by = By{Keys: by.Keys} // spans have no limit
		by.Prefix, by.First, by.Ties = rng.IntN(len(by.Keys)+1), 1+rng.Int64N(4), seed%2 == 0
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		r := newReader(t, batchReader(t, schema, batches), by, Options{
			Bytes: 1 << (12 + rng.IntN(14)), Temp: store.NewTemp(vfs.OS, t.TempDir(), math.MaxInt64), Allocator: mem,
			Threads: 1 + rng.IntN(3), BatchRows: 1 + rng.IntN(500), ThinRows: 1 + rng.IntN(4000),
		})
		got, err := read(r)
		check(t, err)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			same(t, firstOf(got, by), firstOf(oracle(cellsOf(batches), by), by))
		})
		r.Release()
		mem.AssertSize(t, 0)
	}
}

// firstOf returns the first rows of each prefix, of rows in order.
func firstOf(rows [][]any, by By) (first [][]any) {
	n, matters := int64(0), false
	for i, row := range rows {
		mark := NewPrefix | NewKey
		if i > 0 {
			mark = markOf(rows[i-1], row, by.Keys, by.Prefix)
		}
		if mark&NewPrefix != 0 {
			n, matters = 0, false
		}
		n++
		if matters = n <= by.First || by.Ties && matters && mark&NewKey == 0; matters {
			first = append(first, row)
		}
	}
	return first
}
