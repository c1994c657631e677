package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// heavyCell returns one of about n values of a type, or one of its edges, or NULL.
func heavyCell(rng *rand.Rand, dt arrow.DataType, n int) any {
	if rng.IntN(20) == 0 {
		return nil
	}
	edges := grouptest.Edges(dt)
	id := rng.IntN(n)
	switch edges[0].(type) {
	case string:
		if _, fixed := dt.(*arrow.FixedSizeBinaryType); fixed {
			return fmt.Sprintf("%016x", id)
		}
		text := fmt.Sprintf("%d", id)
		return text + strings.Repeat("-", []int{0, max(12-len(text), 0), max(13-len(text), 0), 40}[id%4])
	case float64:
		return float64(id%4000) / 4
	case *big.Int:
		return big.NewInt(int64(id % 100_000))
	}
	return edges[rng.IntN(len(edges))]
}

// heavyTable has a column v, and a column k with the values 0 to heavy-1 in all but light rows,
// each of which has a key of its own.
func heavyTable(rng *rand.Rand, dt arrow.DataType, rows, heavy, light int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "v", Type: dt, Nullable: true},
	}, nil)
	k, v := make([]any, rows), make([]any, rows)
	for i := range k {
		k[i] = int64(rng.IntN(heavy))
		if rng.IntN(rows) < light {
			k[i] = int64(1000*i + 1000)
		}
		v[i] = heavyCell(rng, dt, rows/2)
	}
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += 5000 {
		to := min(from+5000, rows)
		batches = append(batches, grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, k[from:to]), grouptest.Array(dt, v[from:to])))
	}
	return schema, batches
}

// holistic are the aggregates whose states keep the values, and some whose states are fixed.
func holistic(dt arrow.DataType, rows int) []query.Aggregate {
	all := []query.Aggregate{
		{Func: query.CountStar},
		{Func: query.Avg, Args: []string{"v"}},
		{Func: query.First, Args: []string{"v"}},
		{Func: query.Max, Args: []string{"v"}},
		{Func: query.CountDistinct, Args: []string{"v"}},
		{Func: query.Mode, Args: []string{"v"}},
		{Func: query.Median, Args: []string{"v"}},
		{Func: query.QuantileCont, Args: []string{"v"}, Fraction: 0.99},
		{Func: query.QuantileDisc, Args: []string{"v"}, Fraction: 0.25},
		{Func: query.QuantileDisc, Args: []string{"v"}, Fraction: 1},
		{Func: query.List, Args: []string{"v"}},
		{Func: query.StringAgg, Args: []string{"v"}, Separator: ", "},
		{Func: query.MinN, Args: []string{"v"}, Length: rows / 3},
		{Func: query.MaxN, Args: []string{"v"}, Length: 2 * rows},
	}
	var suit []query.Aggregate
	for _, a := range all {
		if a.Func == query.CountStar || grouptest.Suits(a.Func, dt) {
			suit = append(suit, a)
		}
	}
	return suit
}

// runsOf answers a query within a budget, compares the answer, and returns how many runs it took.
func runsOf(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, knobs testknobs.Engine) int64 {
	t.Helper()
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, knobs))
	result := mustAggregate(t, eng, scan.Batches(schema, batches), q)
	defer result.Release()
	got, err := grouptest.ReadAll(result, len(q.Keys))
	if err != nil {
		t.Fatalf("%v: %v", q.Aggregates, err)
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Fatalf("%v: %v", q.Aggregates, err)
	}
	return result.Stats().SortedRuns
}

// Would catch an element that is lost, doubled or out of order on its way through runs and merges,
// of every type: equal elements of a set in several runs, strings that refer to a page that is
// gone, signs, NaN, the first position of a mode, the input order of a list, and other states of
// the group that runs empty too.
func TestGroupLargerThanMemory(t *testing.T) {
	const rows = 12_000
	for i, dt := range grouptest.Types() {
		if testing.Short() && i%6 != 0 {
			continue
		}
		t.Run(dt.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			schema, batches := heavyTable(rng, dt, rows, 2, rows/50)
			for _, keys := range [][]query.Key{nil, {{Column: "k"}}} {
				q := query.Query{Keys: keys, Aggregates: holistic(dt, rows), Overflow: query.OverflowWiden}
				if runs := runsOf(t, schema, batches, q, testknobs.Engine{MemoryBytes: 640 << 10}); runs < 4 {
					t.Errorf("%d runs: the test is too small", runs)
				}
			}
		})
	}
}

// Would catch runs that do not follow their group where its task is split.
func TestHeavyGroupsAmongOthers(t *testing.T) {
	seed := newSeed(t)
	inputs := 12
	if testing.Short() {
		inputs = 3 // one of each type
	}
	for i := range inputs {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		dt := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64}[i%3]
		rows := 20_000 + rng.IntN(15_000)
		schema, batches := heavyTable(rng, dt, rows, 1+rng.IntN(4), rng.IntN(rows/2))
		q := query.Query{Keys: []query.Key{{Column: "k"}}, Overflow: query.OverflowWiden}
		for _, a := range holistic(dt, 100) {
			if rng.IntN(2) == 0 {
				q.Aggregates = append(q.Aggregates, a)
			}
		}
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.CountDistinct, Args: []string{"v"}, Name: "d"})
		runs := runsOf(t, schema, batches, q, testknobs.Engine{
			MemoryBytes: []int64{1 << 20, 2 << 20, 12 << 20}[rng.IntN(3)], SpillAll: rng.IntN(3) == 0, NoDense: true,
			NoPreAgg: rng.IntN(3) == 0, RadixBits: rng.IntN(4), ForceSplits: rng.IntN(4) % 3, ResultRows: []int{0, 3}[rng.IntN(2)],
		})
		t.Logf("%d: %d runs", i, runs)
	}
}

// Would catch a result value that takes the process beyond its limit in place of an error that says
// which limit that is.
func TestResultLargerThanMemory(t *testing.T) {
	schema, batches := heavyTable(rand.New(rand.NewPCG(8, 8)), arrow.BinaryTypes.String, 80_000, 1, 0)
	for _, a := range []query.Aggregate{
		{Func: query.List, Args: []string{"v"}}, {Func: query.StringAgg, Args: []string{"v"}, Separator: ","},
	} {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 1, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: 1 << 19}))
		result := mustAggregate(t, eng, scan.Batches(schema, batches), query.Query{Aggregates: []query.Aggregate{a}})
		defer result.Release()
		_, err := grouptest.ReadAll(result, 0)
		if !errors.Is(err, engine.ErrMemoryLimit) || !strings.Contains(err.Error(), "raise MemoryLimit to ") {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// Would catch elements in runs that do not reach the partial states, or that no longer merge.
func TestPartialStatesOfHeavyGroups(t *testing.T) {
	for i, dt := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		rng := rand.New(rand.NewPCG(9, uint64(i)))
		schema, batches := heavyTable(rng, dt, 40_000, 2, 500)
		q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: holistic(dt, 100)}
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			t.Fatal(err)
		}
		open := func() *engine.Engine {
			return openChecked(t, testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: 3 << 20}))
		}
		var sources [][]partial.Blob
		for p, piece := range cutBatches(rng, batches, 2) {
			blobs, err := partialOf(open(), fmt.Sprint(p), scan.Batches(schema, piece), q, 4)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, blobs)
		}
		got, err := mergeAll(open(), sources, partial.MergeOptions{}, 1)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Errorf("%s: %v", dt, err)
		}
	}
}

// BenchmarkGroupLargerThanMemory takes a group whose values take five times the budget.
func BenchmarkGroupLargerThanMemory(b *testing.B) {
	const rows = 5_000_000
	for _, f := range []query.Func{query.Median, query.CountDistinct, query.Mode} {
		b.Run(f.String(), func(b *testing.B) {
			src, err := gen.Pairs(gen.PairsOptions{Rows: rows, Groups: 1, Seed: 1, Value: arrow.PrimitiveTypes.Float64})
			if err != nil {
				b.Fatal(err)
			}
			eng, err := engine.Open(testknobs.With(engine.Options{Threads: 1, TempDir: b.TempDir()}, testknobs.Engine{MemoryBytes: 8 << 20}))
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			b.SetBytes(8 * rows)
			for b.Loop() {
				result, err := eng.Aggregate(b.Context(), src, query.Query{Aggregates: []query.Aggregate{{Func: f, Args: []string{"value"}}}})
				if err != nil {
					b.Fatal(err)
				}
				for result.Next() {
				}
				if result.Err() != nil || result.Stats().SortedRuns == 0 {
					b.Fatalf("%v, %d runs", result.Err(), result.Stats().SortedRuns)
				}
				result.Release()
			}
		})
	}
}

// Would catch a fault of the temp directory, at any call, that changes an answer or whose cause is
// lost; and files, memory or space that are not given back after it.
func TestRunsFaults(t *testing.T) {
	schema, batches := heavyTable(rand.New(rand.NewPCG(10, 10)), arrow.BinaryTypes.String, 12_000, 2, 300)
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: holistic(arrow.BinaryTypes.String, 100)}
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	fsys := faultfs.New(vfs.OS)
	dir := t.TempDir()
	run := func(limit int64) error {
		opt := engine.Options{Threads: 2, FS: fsys, TempDir: dir, TempLimit: limit}
		eng := openChecked(t, testknobs.With(opt, testknobs.Engine{MemoryBytes: 1 << 20, NoDense: true}))
		result := mustAggregate(t, eng, scan.Batches(schema, batches), q)
		defer result.Release()
		got, err := grouptest.ReadAll(result, 1)
		if err != nil {
			return err
		}
		if result.Stats().SortedRuns == 0 {
			t.Error("no runs: the test is too small")
		}
		return grouptest.Equal(want, got)
	}
	dense := int64(8) // calls repeat
	if testing.Short() {
		dense = 3
	}
	for n := int64(0); ; n += 1 + n/dense {
		fsys.FailAt(n)
		if err := run(0); err != nil && !errors.Is(err, faultfs.ErrInjected) {
			t.Fatalf("call %d failed: %v", n, err)
		}
		if fsys.OpenFiles() != 0 {
			t.Fatalf("call %d failed: %d files are open", n, fsys.OpenFiles())
		}
		if n > 0 && !fsys.Fired() {
			t.Logf("%d calls", fsys.Ops())
			break
		}
	}
	fsys.FailAt(0)
	fsys.FlipBit()
	if err := run(0); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a bit flipped in a run: %v", err)
	}
	if err := run(200_000); !errors.Is(err, store.ErrTempLimit) || !strings.Contains(err.Error(), "TempLimit") {
		t.Errorf("the temp directory is full: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// Would catch a merge of runs that goes on after its query was cancelled, or ends it with another
// error.
func TestRunsCancelled(t *testing.T) {
	src, err := gen.Pairs(gen.PairsOptions{Rows: 400_000, Groups: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{Aggregates: []query.Aggregate{
		{Func: query.Median, Args: []string{"value"}}, {Func: query.CountDistinct, Args: []string{"value"}}, {Func: query.Mode, Args: []string{"value"}},
	}}
	cause := errors.New("enough")
	for i := range 30 {
		ctx, cancel := context.WithCancelCause(t.Context())
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 1, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: 8 << 20}))
		result, err := eng.Aggregate(ctx, src, q)
		if err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(i)*10*time.Millisecond, func() { cancel(cause) })
		_, err = grouptest.ReadAll(result, 0)
		if err != nil && !errors.Is(err, cause) {
			t.Errorf("cancelled after %d ms: %v", 10*i, err)
		}
		timer.Stop()
		result.Release()
		cancel(nil)
	}
}
