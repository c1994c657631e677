package tests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// Random queries over tables that do not fit: neither the memory, nor spills, splits, threads or an
// estimate of the groups that is wrong by a factor of up to a million changes an answer.
func TestRandomLimits(t *testing.T) {
	rows, queries := 200_000, 8
	if testing.Short() {
		rows, queries = 20_000, 4
	}
	spilled := 0
	for i := range queries {
		rng := rand.New(rand.NewPCG(*seedFlag, uint64(1000+i)))
		schema, batches := grouptest.RandomTable(rng, rows)
		q := grouptest.RandomQuery(rng, schema)
		q.Overflow = query.OverflowWrap
		if i%2 == 0 { // the random keys of a random table are few
			q.Keys = []query.Key{{Column: schema.Field(0).Name}, {Column: schema.Field(1).Name}}
		}
		src := scan.Batches(schema, batches)
		want, err := ask(t, engine.Options{Threads: 1}, src, q)
		if err != nil {
			t.Fatalf("query %d: %v", i, err)
		}
		for range 3 {
			opt, knobs := randomOptions(rng)
			opt.TempDir = t.TempDir()
			knobs.TableGroups, knobs.ResultRows = 0, 0
			knobs.MemoryBytes = memoryBytesLeast + rng.Int64N(4<<20)
			knobs.EstimateFactor = math.Pow(10, 12*rng.Float64()-6)
			text := fmt.Sprintf("-seed=%d, query %d, %d threads, %+v", *seedFlag, i, opt.Threads, knobs)
			got, err := ask(t, testknobs.With(opt, knobs), src, q)
			if errors.Is(err, engine.ErrMemoryLimit) {
				t.Logf("%s: %v", text, err)
				continue
			}
			if err == nil {
				spilled++
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Errorf("%s: %v\n%v", text, err, q)
			}
		}
	}
	if spilled < queries {
		t.Errorf("only %d of %d runs had memory enough", spilled, 3*queries)
	}
}

// deterministicQuery adds doubles up in every way.
var deterministicQuery = query.Query{
	Deterministic: true,
	Keys:          []query.Key{{Column: "k"}},
	Aggregates: []query.Aggregate{
		{Func: query.Sum, Args: []string{"x"}}, {Func: query.Avg, Args: []string{"y"}}, {Func: query.StddevSamp, Args: []string{"x"}},
		{Func: query.Skewness, Args: []string{"y"}}, {Func: query.Kurtosis, Args: []string{"x"}}, {Func: query.Corr, Args: []string{"x", "y"}},
		{Func: query.RegrSlope, Args: []string{"y", "x"}},
	},
}

// Deterministic queries give the same bits for any memory, threads, order of the batches, spills,
// splits and estimates. Would catch a window of an exact sum that is lost on its way through a
// file.
func TestDeterministicBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seedFlag, 12))
	schema, batches := doubles(rng, 30, 2000, 3000)
	want := doubleBits(t, engine.Options{Threads: 1}, testknobs.Engine{}, schema, batches)
	for range 12 {
		opt, knobs := randomOptions(rng)
		opt.TempDir = t.TempDir()
		knobs.MemoryBytes = memoryBytesLeast
		rng.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
		got := doubleBits(t, opt, knobs, schema, batches)
		if !maps.EqualFunc(want, got, slices.Equal) {
			t.Errorf("-seed=%d: %d threads, %+v: other bits", *seedFlag, opt.Threads, knobs)
		}
	}
}

// doubles makes batches whose sums depend on the order that doubles are added in.
func doubles(rng *rand.Rand, batches, rows, groups int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "y", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	list := make([]arrow.RecordBatch, batches)
	for i := range list {
		columns := [3]*array.Float64Builder{}
		keys := array.NewInt64Builder(memory.DefaultAllocator)
		for c := 1; c < 3; c++ {
			columns[c] = array.NewFloat64Builder(memory.DefaultAllocator)
		}
		for range rows {
			keys.Append(rng.Int64N(int64(groups)) << 40)
			columns[1].Append(math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40))
			columns[2].Append(1e9 + rng.Float64())
		}
		list[i] = grouptest.Batch(schema, keys.NewArray(), columns[1].NewArray(), columns[2].NewArray())
	}
	return schema, list
}

// doubleBits answers deterministicQuery, by key.
func doubleBits(t *testing.T, opt engine.Options, knobs testknobs.Engine, schema *arrow.Schema, batches []arrow.RecordBatch) map[int64][]uint64 {
	t.Helper()
	eng, err := engine.Open(testknobs.With(opt, knobs))
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	res, err := eng.Aggregate(context.Background(), scan.Batches(schema, batches), deterministicQuery)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	groups := map[int64][]uint64{}
	for res.Next() {
		batch := res.RecordBatch()
		for row, key := range batch.Column(0).(*array.Int64).Int64Values() {
			bits := make([]uint64, batch.NumCols()-1)
			for c := range bits {
				bits[c] = math.Float64bits(batch.Column(c + 1).(*array.Float64).Value(row))
			}
			groups[key] = bits
		}
	}
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	return groups
}

// Estimates that are wrong by any factor cost time, and nothing else.
func TestWrongEstimates(t *testing.T) {
	for _, factor := range []float64{1e-6, 1e-3, 0.1, 10, 1e3, 1e6} {
		pairs := gen.PairsOptions{Rows: 300_000, Groups: 100_000, Sparse: true, Key: arrow.BinaryTypes.String, Seed: *seedFlag}
		src, err := gen.Pairs(pairs)
		if err != nil {
			t.Fatal(err)
		}
		knobs := testknobs.Engine{MemoryBytes: memoryBytesLeast, EstimateFactor: factor}
		q := query.Query{Keys: []query.Key{{Column: "key"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.Median, Args: []string{"value"}}}}
		groups, rows := 0, int64(0)
		got, err := ask(t, testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, knobs), src, q)
		if err != nil {
			t.Fatalf("estimates times %g: %v", factor, err)
		}
		for _, cells := range got.Cells {
			groups++
			n, ok := cells[1].(int64)
			if !ok {
				t.Fatalf("a count is a %T", cells[1])
			}
			rows += n
		}
		if groups != int(pairs.Groups) || rows != pairs.Rows {
			t.Errorf("estimates times %g: %d groups of %d rows", factor, groups, rows)
		}
	}
}
