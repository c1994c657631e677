package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// sortsQuery returns a query of which at least one aggregate needs the values of a group in order.
func sortsQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	q := query.Query{Overflow: query.OverflowWiden}
	for range 1 + rng.IntN(2) {
		q.Keys = append(q.Keys, query.Key{Column: schema.Field(rng.IntN(schema.NumFields())).Name, Name: fmt.Sprintf("k%d", len(q.Keys))})
	}
	sorts := []query.Func{query.Median, query.QuantileCont, query.QuantileDisc, query.CountDistinct}
	others := []query.Func{query.CountStar, query.Count, query.Sum, query.Max, query.StddevSamp, query.MaxN}
	for n := 1 + rng.IntN(4); len(q.Aggregates) < n; {
		a := query.Aggregate{Func: sorts[rng.IntN(len(sorts))], Name: fmt.Sprintf("a%d", len(q.Aggregates)), Fraction: rng.Float64()}
		if len(q.Aggregates) > 0 && rng.IntN(2) == 0 {
			a.Func = others[rng.IntN(len(others))]
		}
		if a.Func.Param() != query.FractionParam {
			a.Fraction = 0
		}
		if a.Func.Param() == query.LengthParam {
			a.Length = 1 + rng.IntN(7)
		}
		a.Distinct = a.Func == query.QuantileCont && rng.IntN(8) == 0 // a set of which more than the size is wanted
		if field := schema.Field(rng.IntN(schema.NumFields())); a.Func != query.CountStar {
			a.Args = []string{field.Name}
			if !grouptest.Suits(a.Func, field.Type) {
				continue
			}
		}
		q.Aggregates = append(q.Aggregates, a)
	}
	return q
}

// fixedTypes are the types whose values are words.
var fixedTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint32,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32,
	arrow.FixedWidthTypes.Timestamp_us, &arrow.Decimal128Type{Precision: 12, Scale: 2},
}

// answerOnDevices answers random queries on devices of the host, compares the answers with the oracle's, and has the
// statistics noted. force draws the knobs that only some queries have a use for.
func answerOnDevices(
	t *testing.T, queries int, draw func(*rand.Rand, *arrow.Schema) query.Query, force func(*rand.Rand, *testknobs.Device), note func(engine.Stats),
) {
	t.Helper()
	seed := newSeed(t)
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng)/4, fixedTypes...)
		q := draw(rng, schema)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			continue
		}
		opt := engine.Options{Device: "host:" + []string{"1MiB", "4MiB", "64MiB"}[rng.IntN(3)], Threads: 1 + rng.IntN(4)}
		onDevice(t, &opt)
		knobs := testknobs.Engine{ResultRows: []int{0, 100}[rng.IntN(2)], Device: testknobs.Device{
			TileRows: []int{0, 1000, 4000}[rng.IntN(3)], Streams: []int{0, 1, 2}[rng.IntN(3)], RadixBits: []int{0, 0, 3}[rng.IntN(3)],
		}}
		force(rng, &knobs.Device)
		knobs.Device.Count = 1 + rng.IntN(2)
		eng := openChecked(t, testknobs.With(opt, knobs))
		got, stats, err := answerWithStats(eng, scan.Batches(schema, batches), q)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Fatalf("query %d, %v over %v of %v, %+v: %v", i, q.Aggregates, q.Keys, schema, stats.Device, err)
		}
		note(stats)
	}
}

// Medians, quantiles and sets of which the size is wanted are made by devices, of every type, and by the CPU
// where it has rows of a partition, or a partition is too large.
func TestDeviceSorts(t *testing.T) {
	queries := 300 // of 40, one time in twenty none is divided
	if testing.Short() {
		queries = 120
	}
	whole, divided := 0, 0
	force := func(rng *rand.Rand, k *testknobs.Device) { k.PinnedBytes = []int64{0, 0, 256 << 10}[rng.IntN(3)] }
	answerOnDevices(t, queries, sortsQuery, force, func(stats engine.Stats) {
		switch d := stats.Device; {
		case d.Finisher != "" || d.Rows == 0: // another aggregate is the CPU's
		case d.RowsBack == 0:
			whole++
		default:
			divided++
		}
	})
	if t.Logf("%d queries were the devices' alone, %d were divided", whole, divided); whole < queries/4 || divided == 0 && !testing.Short() {
		t.Errorf("of %d queries %d were the devices' alone, and %d were divided", queries, whole, divided)
	}
}

// sortsTable returns a table and a query of it that devices have alone.
func sortsTable(rows int) (*arrow.Schema, []arrow.RecordBatch, query.Query) {
	schema, batches := deviceTable(rows, rows/10)
	return schema, batches, query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Median, Args: []string{"v"}}, {Func: query.QuantileCont, Args: []string{"v"}, Fraction: 0.9},
		{Func: query.CountDistinct, Args: []string{"v"}}, {Func: query.QuantileDisc, Args: []string{"v"}, Fraction: 0.5}, {Func: query.Sum, Args: []string{"v"}},
	}}
}

// Whatever fails while a device sorts, the answer is right.
func TestDeviceSortsFaults(t *testing.T) {
	schema, batches, q := sortsTable(2000)
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{2 << 20, 160 << 10} { // sets are split in the second
		knobs := testknobs.Engine{ResultRows: 100, Device: testknobs.Device{TileRows: 300, Streams: 2, RadixBits: 1}}
		failEach(t, fmt.Sprintf("memory=%d", memory), knobs, 3, func(t *testing.T, knobs testknobs.Engine) {
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB", DeviceMemoryLimit: memory}, knobs))
			got, err := answer(eng, scan.Batches(schema, batches), q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The groups with the largest counts have their quantiles.
func TestDeviceSortsMost(t *testing.T) {
	schema, batches, q := sortsTable(5000)
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	eng := openChecked(t, engine.Options{Threads: 2, Device: "host:16MiB"})
	result, err := eng.Statement(t.Context()).Groups(t.Context(), scan.Batches(schema, batches), q,
		engine.GroupsOptions{Most: &engine.Most{N: 50, Count: 0, Ties: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	got, err := grouptest.ReadAll(result, len(q.Keys))
	if err != nil {
		t.Fatal(err)
	}
	if route := result.Stats().Route; route != "device" {
		t.Errorf("the route is %s", route)
	}
	if len(got.Cells) < 50 {
		t.Errorf("%d groups", len(got.Cells))
	}
	chosen := map[any]bool{}
	for _, row := range got.Cells {
		chosen[row[0]] = true
	}
	want.Cells = slices.DeleteFunc(want.Cells, func(row []any) bool { return !chosen[row[0]] })
	if err := grouptest.Equal(want, got); err != nil {
		t.Error(err)
	}
}

// States that are merged later have all values: devices partition rows for them.
func TestDeviceSortsPartial(t *testing.T) {
	schema, batches, q := sortsTable(5000)
	checkDevicePartial(t, schema, batches, q)
}

// checkDevicePartial makes partial states of two parts of a table on a device, and compares the merged answer with the
// oracle's.
func checkDevicePartial(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query) {
	t.Helper()
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	eng := openChecked(t, engine.Options{Threads: 2, Device: "host:16MiB"})
	var sources [][]partial.Blob
	for i, part := range [][]arrow.RecordBatch{batches[:1], batches[1:]} {
		blobs, err := partialOf(eng, fmt.Sprint("source ", i), scan.Batches(schema, part), q, 4)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, blobs)
	}
	got, err := mergeAll(eng, sources, partial.MergeOptions{}, len(q.Keys))
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil {
		t.Error(err)
	}
}
