package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
)

// memoryBlob is a blob in memory.
type memoryBlob struct {
	name string
	data []byte
}

func (b *memoryBlob) Name() string { return b.name }
func (b *memoryBlob) Open() (partial.BlobReader, error) {
	return memoryReader{bytes.NewReader(b.data)}, nil
}

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

// memoryBlobs takes the blobs of one source.
type memoryBlobs struct {
	source string
	mu     sync.Mutex
	list   []partial.Blob
}

func (m *memoryBlobs) create(partition int) (io.WriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &memoryBlob{name: fmt.Sprintf("%s, blob %d", m.source, partition)}
	m.list = append(m.list, b)
	return memoryWriter{b}, nil
}

type memoryWriter struct{ *memoryBlob }

func (w memoryWriter) Write(b []byte) (int, error) {
	w.data = append(w.data, b...)
	return len(b), nil
}
func (memoryWriter) Close() error { return nil }

// partial returns the blobs of a source.
func partialOf(eng *engine.Engine, name string, src scan.Source, q query.Query, partitions int) ([]partial.Blob, error) {
	blobs := &memoryBlobs{source: name}
	_, err := eng.Partial(context.Background(), src, q, partial.Options{Partitions: partitions, Create: blobs.create})
	return blobs.list, err
}

// mergePartial returns the blobs that sources are merged to.
func mergePartial(eng *engine.Engine, name string, sources [][]partial.Blob, partitions int) ([]partial.Blob, error) {
	blobs := &memoryBlobs{source: name}
	_, err := eng.MergePartial(context.Background(), sources, partial.Options{Partitions: partitions, Create: blobs.create})
	return blobs.list, err
}

func mergeAll(eng *engine.Engine, sources [][]partial.Blob, opt partial.MergeOptions, keys int) (*grouptest.Rows, error) {
	result, err := eng.Merge(context.Background(), sources, opt)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	return grouptest.ReadAll(result, keys)
}

// cutBatches cuts a table into n pieces at random rows.
func cutBatches(rng *rand.Rand, batches []arrow.RecordBatch, n int) [][]arrow.RecordBatch {
	var rows int64
	for _, b := range batches {
		rows += b.NumRows()
	}
	ends := make([]int64, n)
	for i := range ends {
		ends[i] = rng.Int64N(rows + 1)
	}
	ends[n-1] = rows
	slices.Sort(ends)
	pieces := make([][]arrow.RecordBatch, n)
	var at int64
	piece := 0
	for _, b := range batches {
		for from := int64(0); from < b.NumRows(); {
			for ends[piece] == at {
				piece++
			}
			n := min(b.NumRows()-from, ends[piece]-at)
			pieces[piece] = append(pieces[piece], b.NewSlice(from, from+n))
			from += n
			at += n
		}
	}
	return pieces
}

// checkPartial answers a query by pieces, each with options of its own, and compares the answer.
func checkPartial(t *testing.T, rng *rand.Rand, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, want *grouptest.Rows, wantErr error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	open := func() *engine.Engine {
		options := engine.Options{Threads: 1 + rng.IntN(4), Allocator: mem}
		knobs := testknobs.Engine{
			NoDense: rng.IntN(2) == 0, NoPreAgg: rng.IntN(3) == 0, AlwaysPreAgg: rng.IntN(3) == 0,
			RadixBits: rng.IntN(5), TableGroups: []int{0, 5, 100, 3000}[rng.IntN(4)],
			ResultRows: []int{0, 3, 1000}[rng.IntN(3)],
			SpillAll:   rng.IntN(3) == 0, ForceSplits: rng.IntN(6) % 4,
			MemoryBytes: []int64{0, 64 << 20, 128 << 20}[rng.IntN(3)], // a list of all rows takes 9 MiB, and six times as much for a while
		}
		if rng.IntN(2) == 0 {
			options.Device, knobs.Device = randomDevice(rng)
		}
		eng, err := engine.Open(testknobs.With(options, knobs))
		if err != nil {
			t.Fatal(err)
		}
		return eng
	}
	partitions := 1 << rng.IntN(7)
	var sources [][]partial.Blob
	for i, piece := range cutBatches(rng, batches, 1+rng.IntN(5)) {
		eng := open()
		blobs, err := partialOf(eng, fmt.Sprintf("source %d", i), scan.Batches(schema, piece), q, partitions)
		eng.Close()
		if err != nil {
			if wantErr == nil {
				t.Fatalf("%v over %v: partial: %v", q.Aggregates, q.Keys, err)
			}
			return
		}
		rng.Shuffle(len(blobs), func(i, j int) { blobs[i], blobs[j] = blobs[j], blobs[i] })
		sources = append(sources, blobs)
	}
	for len(sources) > 0 && rng.IntN(2) == 0 { // a tree of merges gives the same
		from := rng.IntN(len(sources))
		to := from + 1 + rng.IntN(len(sources)-from)
		eng := open()
		merged, err := mergePartial(eng, "merged", sources[from:to], []int{0, partitions}[rng.IntN(2)])
		eng.Close()
		if err != nil {
			t.Fatalf("%v over %v: a merge to partial states: %v", q.Aggregates, q.Keys, err)
		}
		sources = slices.Replace(sources, from, to, merged)
	}
	eng := open()
	defer eng.Close()
	got, err := mergeAll(eng, sources, partial.MergeOptions{}, len(q.Keys))
	if wantErr != nil || err != nil {
		if (wantErr != nil) != (err != nil) {
			t.Fatalf("%v over %v: error %v, want %v", q.Aggregates, q.Keys, err, wantErr)
		}
		return
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Fatalf("%d pieces, %d partitions, %v over %v: %v", len(sources), partitions, q.Aggregates, q.Keys, err)
	}
}

// Would catch any state that does not survive its blob, or that merges to another answer.
func TestPartialCases(t *testing.T) {
	seed := newSeed(t)
	every := uint64(invariants.Fewer(12, 48))
	for i, c := range grouptest.Cases() {
		if testing.Short() && (uint64(i)+seed)%every != 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			want, wantErr := c.Want()
			checkPartial(t, rand.New(rand.NewPCG(seed, uint64(i))), c.Schema, c.Batches(), c.Query, want, wantErr)
		})
	}
}

// TestPartialRandom cuts random tables, and holds deterministic queries to the bits of one run.
func TestPartialRandom(t *testing.T) {
	seed := newSeed(t)
	queries := 60
	if testing.Short() {
		queries = 4
	}
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng))
		q := grouptest.RandomQuery(rng, schema)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			want, wantErr := grouptest.Oracle(schema, batches, q)
			checkPartial(t, rng, schema, batches, q, want, wantErr)
			if wantErr == nil {
				q.Deterministic = true
				one := openChecked(t, engine.Options{})
				exact, err := answer(one, scan.Batches(schema, batches), q)
				if err != nil {
					t.Fatal(err)
				}
				checkPartial(t, rng, schema, batches, q, exact, nil)
			}
		})
	}
}
