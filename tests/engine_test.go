package tests

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// ask answers a query with an engine of its own, and checks that it gives its memory back.
func ask(t *testing.T, opt engine.Options, src scan.Source, q query.Query) (*grouptest.Rows, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	opt.Allocator = mem
	eng, err := engine.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := answer(eng, src, q)
	if err := eng.Close(); err != nil {
		t.Errorf("closing the engine: %v", err)
	}
	mem.AssertSize(t, 0)
	return rows, err
}

// answer runs a query and reads its result to the end.
func answer(eng *engine.Engine, src scan.Source, q query.Query) (*grouptest.Rows, error) {
	res, err := eng.Aggregate(context.Background(), src, q)
	if err != nil {
		return nil, err
	}
	rows, err := grouptest.ReadAll(res, len(q.Keys))
	if err != nil {
		return nil, err
	}
	if stats := res.Stats(); stats.Groups != int64(len(rows.Cells)) {
		return nil, fmt.Errorf("the statistics tell of %d groups, the result has %d", stats.Groups, len(rows.Cells))
	}
	return rows, nil
}

// compareEngine holds an engine's answer against the oracle's. text says how to see it again.
func compareEngine(t *testing.T, text string, opt engine.Options, src scan.Source, q query.Query, want *grouptest.Rows, wantErr error) {
	t.Helper()
	got, err := ask(t, opt, src, q)
	if errors.Is(wantErr, grouptest.ErrOverflow) && errors.Is(err, engine.ErrOverflow) {
		return
	}
	if err != nil || wantErr != nil {
		t.Errorf("%s: the engine answers with the error %v, the oracle with %v", text, err, wantErr)
		return
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Errorf("%s: the engine differs from the oracle: %v", text, err)
	}
}

// memoryBytesLeast is the least memory for pages and tables that queries must finish in.
const memoryBytesLeast = 8 << 20

// randomOptions forces the engine onto paths that inputs of this size would not take. No option
// may change an answer.
func randomOptions(rng *rand.Rand) (engine.Options, testknobs.Engine) {
	choose := func(values ...int) int { return values[rng.IntN(len(values))] }
	opt := engine.Options{Threads: 1 + rng.IntN(8)}
	knobs := testknobs.Engine{
		BatchRows:   choose(0, 0, 7, 100, 1000, 2048, 5000, 1<<16),
		TableGroups: choose(0, 0, 1, 10, 64, 1000),
		RadixBits:   choose(0, 0, 1, 3, 6, 9),
		ResultRows:  choose(0, 0, 1, 10, 1000),
		NoDense:     rng.IntN(2) == 0,
	}
	switch rng.IntN(4) {
	case 0:
		knobs.MemoryBytes = memoryBytesLeast + rng.Int64N(64<<20)
	case 1:
		knobs.SpillAll = true
	}
	if rng.IntN(4) == 0 {
		knobs.ForceSplits = 1 + rng.IntN(3)
	}
	if rng.IntN(2) == 0 {
		knobs.EstimateFactor = math.Pow(10, 12*rng.Float64()-6)
	}
	switch rng.IntN(4) {
	case 0:
		knobs.NoPreAgg = true
	case 1:
		knobs.AlwaysPreAgg = true
	}
	if rng.IntN(3) == 0 {
		opt.Device = fmt.Sprintf("host:%dMiB", choose(1, 4, 32))
		knobs.Device = testknobs.Device{
			TileRows:  choose(0, 32, 1000, 1<<14),
			Streams:   choose(0, 1, 3),
			RadixBits: choose(0, 1, 4),
			Groups:    int64(choose(0, 1, 1000, 1<<40)),
		}
		if rng.IntN(2) == 0 {
			knobs.Device.LFMin = 0.01 + 0.9*rng.Float64()
			knobs.Device.LFMax = knobs.Device.LFMin + (1-knobs.Device.LFMin)*rng.Float64()
		}
	}
	return opt, knobs
}

// The shared cases on paths that are drawn; the engine's own test has those that are forced one by
// one.
func TestCases(t *testing.T) {
	for i, c := range grouptest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			batches := c.Batches()
			want, wantErr := grouptest.Oracle(c.Schema, batches, c.Query)
			variants := uint64(2)
			if testing.Short() {
				variants = 1
			}
			for variant := range variants {
				opt, knobs := randomOptions(rand.New(rand.NewPCG(uint64(i), variant)))
				text := fmt.Sprintf("%d threads, %+v", opt.Threads, knobs)
				compareEngine(t, text, testknobs.With(opt, knobs), scan.Batches(c.Schema, batches), c.Query, want, wantErr)
			}
		})
	}
}

// Several queries at once on one engine, and on the same record batches, answer as they do alone.
func TestConcurrentQueries(t *testing.T) {
	eng, err := engine.Open(engine.Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	done := make(chan error)
	const tables, askers = 6, 3
	for i := range uint64(tables) {
		rng := rand.New(rand.NewPCG(i, 3))
		schema, batches := grouptest.RandomTable(rng, 5000)
		q := grouptest.RandomQuery(rng, schema)
		q.Overflow = query.OverflowWrap
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			t.Fatal(err)
		}
		// Arrays that nobody has looked at yet: arrow-go counts NULLs and opens dictionaries
		// lazily.
		fresh := make([]arrow.RecordBatch, len(batches))
		for i, b := range batches {
			fresh[i] = b.NewSlice(0, b.NumRows())
		}
		for range askers {
			src := scan.Batches(schema, fresh) // a source serves one query at a time
			go func() {
				err := concurrentQuery(eng, src, q, want)
				if err != nil {
					err = fmt.Errorf("table %d, whose number is its seed: %w", i, err)
				}
				done <- err
			}()
		}
	}
	for range tables * askers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func concurrentQuery(eng *engine.Engine, src scan.Source, q query.Query, want *grouptest.Rows) error {
	for range 3 {
		got, err := answer(eng, src, q)
		if err != nil {
			return err
		}
		if err := grouptest.Equal(want, got); err != nil {
			return err
		}
	}
	return nil
}
