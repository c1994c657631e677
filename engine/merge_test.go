package engine_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch a merge that holds its input in memory, or that cannot spill it.
func TestMergeWithinMemory(t *testing.T) {
	schema, batches := mixedTable(200_000)
	q := mixedQuery
	q.Aggregates = q.Aggregates[:5]
	pieces := cutBatches(rand.New(rand.NewPCG(1, 1)), batches, 3)
	var sources [][]partial.Blob
	var size int64
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2}, testknobs.Engine{MemoryBytes: 2 << 20}))
	for _, piece := range pieces {
		blobs, err := partialOf(eng, "a piece", scan.Batches(schema, piece), q, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blobs {
			size += int64(len(b.(*memoryBlob).data))
		}
		sources = append(sources, blobs)
	}
	one := openChecked(t, engine.Options{})
	want, err := answer(one, scan.Batches(schema, batches), q)
	if err != nil {
		t.Fatal(err)
	}
	result, err := eng.Merge(context.Background(), sources, partial.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	got, err := grouptest.ReadAll(result, len(q.Keys))
	if err != nil {
		t.Fatal(err)
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Error(err)
	}
	s := result.Stats()
	if s.PartitionsSplit == 0 || s.SpilledBytes == 0 || s.MemoryPeak > 4<<20 {
		t.Errorf("%d B of blobs: %d partitions split, %d B spilled, at most %d B of memory for a budget of 2 MiB", size, s.PartitionsSplit, s.SpilledBytes, s.MemoryPeak)
	}
}

// Would catch partitions that share a key, or lose one.
func TestMergeByPartition(t *testing.T) {
	schema, batches := mixedTable(5_000)
	eng := openChecked(t, engine.Options{})
	defer eng.Close()
	want, err := answer(eng, scan.Batches(schema, batches), mixedQuery)
	if err != nil {
		t.Fatal(err)
	}
	var sources [][]partial.Blob
	for _, piece := range cutBatches(rand.New(rand.NewPCG(2, 1)), batches, 2) {
		blobs, err := partialOf(eng, "a piece", scan.Batches(schema, piece), mixedQuery, 8)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, blobs)
	}
	all := &grouptest.Rows{Schema: want.Schema, Keys: want.Keys}
	for p := range 8 {
		some := [][]partial.Blob{sources[0], {sources[1][p]}} // the others need not be there
		got, err := mergeAll(eng, some, partial.MergeOptions{Partitions: []int{p}}, len(mixedQuery.Keys))
		if err != nil {
			t.Fatal(err)
		}
		all.Cells = append(all.Cells, got.Cells...)
	}
	if err := grouptest.Equal(want, all); err != nil {
		t.Error(err)
	}
}

// Would catch states that are merged though they do not belong together, and errors that do not say
// which.
func TestMergeRefuses(t *testing.T) {
	schema, batches := mixedTable(100)
	eng := openChecked(t, engine.Options{})
	defer eng.Close()
	blobs := func(name string, q query.Query, partitions int) []partial.Blob {
		list, err := partialOf(eng, name, scan.Batches(schema, batches), q, partitions)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	q := query.Query{Keys: []query.Key{{Column: "k"}}}
	other := q
	other.Deterministic = true
	a, b := blobs("a", q, 2), blobs("b", q, 2)
	merge := func(name string, sources ...[]partial.Blob) []partial.Blob {
		list, err := mergePartial(eng, name, sources, 0)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	merged, again := merge("merged", a, b), merge("again", merge("a and more", b, blobs("more", q, 2)))
	older := bytes.Clone(a[0].(*memoryBlob).data)
	older[4] = 0
	for _, c := range []struct {
		name    string
		sources [][]partial.Blob
		want    string
		is      error
	}{
		{"nothing", nil, "there are none", partial.ErrMismatch},
		{"an empty source", [][]partial.Blob{a, {}}, "source 1 has no blobs", partial.ErrMismatch},
		{"another query", [][]partial.Blob{a, blobs("c", other, 2)}, `a, blob 0 and c, blob 0: they are of another query: {"keys":[{"column":"k"}]} and {"keys":[{"column":"k"}],"deterministic":true}`, partial.ErrMismatch},
		{"other partitions", [][]partial.Blob{a, blobs("c", q, 4)}, "they are in 2 and 4 partitions", partial.ErrMismatch},
		{"a source twice", [][]partial.Blob{a, b, a}, "a, blob 0 and a, blob 0 are of the same run", partial.ErrMismatch},
		{"a source merged and apart", [][]partial.Blob{merged, b}, "merged, blob 0 and b, blob 0 are of the same run", partial.ErrMismatch},
		{"a source in two merges", [][]partial.Blob{merged, again}, "merged, blob 0 and again, blob 0 are of the same run", partial.ErrMismatch},
		{"a partition missing", [][]partial.Blob{a, b[:1]}, "partition 1 of 2 is missing beside b, blob 0", partial.ErrMismatch},
		{"a partition twice", [][]partial.Blob{a, {b[1], b[1]}}, "are both partition 1", partial.ErrMismatch},
		{"two runs in a source", [][]partial.Blob{{a[0], b[1]}}, "a, blob 0 and b, blob 1 are not of the same run", partial.ErrMismatch},
		{"another version", [][]partial.Blob{{&memoryBlob{"old", older}, a[1]}}, "old: unknown version: partial states of version 0, this program reads 1", store.ErrVersion},
		{"a cut", [][]partial.Blob{{&memoryBlob{"short", older[:50]}, a[1]}}, "short: 50 B are too few", store.ErrCorrupt},
		{"no states", [][]partial.Blob{{&memoryBlob{"text", bytes.Repeat([]byte("text"), 100)}}}, "text: these are no partial states", store.ErrCorrupt},
	} {
		_, err := mergeAll(eng, c.sources, partial.MergeOptions{}, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
