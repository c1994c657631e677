package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// exactTable has a key of so many values, and doubles of like sizes: or, from the second batch on,
// some of another size.
func exactTable(rng *rand.Rand, rows, groups int, other float64) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "y", Type: arrow.PrimitiveTypes.Float32},
	}, nil)
	scale := rng.IntN(1800) - 900
	var batches []arrow.RecordBatch
	for at := 0; at < rows; at += 1000 {
		var columns [3][]any
		for range min(1000, rows-at) {
			var x any = math.Ldexp(rng.NormFloat64(), scale)
			switch {
			case other != 0 && at > 0 && rng.IntN(10) == 0:
				x = math.Ldexp(other, scale)
			case rng.IntN(10) == 0:
				x = nil
			}
			columns[0] = append(columns[0], rng.Int64N(int64(groups)))
			columns[1] = append(columns[1], x)
			columns[2] = append(columns[2], float64(float32(rng.NormFloat64())))
		}
		batches = append(batches, grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, columns[0]),
			grouptest.Array(schema.Field(1).Type, columns[1]), grouptest.Array(schema.Field(2).Type, columns[2])))
	}
	return schema, batches
}

// Sums of a deterministic query have the same bits from devices and from the CPU, on each route and where the CPU
// takes a part; and where devices have no room for a value, the CPU takes all.
func TestDeviceExact(t *testing.T) {
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Deterministic: true, Aggregates: []query.Aggregate{
		{Func: query.Sum, Args: []string{"x"}}, {Func: query.Avg, Args: []string{"x"}}, {Func: query.Sum, Args: []string{"y"}}, {Func: query.CountStar},
	}}
	seed := newSeed(t)
	for i, c := range []struct {
		groups int
		memory string
		knobs  testknobs.Device
		other  float64
		alone  bool // devices make the groups, or merge with the CPU's
	}{
		{5, "host:16MiB", testknobs.Device{}, 0, true},
		{3000, "host:16MiB", testknobs.Device{}, 0, true},
		{3000, "host:1MiB", testknobs.Device{TileRows: 500, Groups: 100}, 0, true},
		{6000, "host:16MiB", testknobs.Device{Groups: 1 << 40, RadixBits: 3, Count: 2}, 0, true},
		{6000, "host:2MiB", testknobs.Device{Groups: 1 << 40, RadixBits: 3, PinnedBytes: 200 << 10}, 0, true},
		{3000, "host:16MiB", testknobs.Device{Count: 2}, 0, true},
		{3000, "host:16MiB", testknobs.Device{TileRows: 1000}, 0x1p60, false},
		{3000, "host:16MiB", testknobs.Device{TileRows: 1000}, math.Ldexp(math.Pi, -64), false},
		{5, "host:16MiB", testknobs.Device{TileRows: 1000}, math.NaN(), false},
		{5, "host:16MiB", testknobs.Device{TileRows: 1000}, math.Inf(-1), false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if c.knobs.PinnedBytes > 0 && *deviceFlag != "" {
				t.Skip("pinned memory of a GPU comes in larger pieces")
			}
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			schema, batches := exactTable(rng, 20_000, c.groups, c.other)
			want, err := grouptest.Oracle(schema, batches, q)
			if err != nil {
				t.Fatal(err)
			}
			opt := engine.Options{Device: c.memory, Threads: 3, TempDir: t.TempDir()}
			onDevice(t, &opt)
			result := mustAggregate(t, openChecked(t, testknobs.With(opt, testknobs.Engine{Device: c.knobs})), scan.Batches(schema, batches), q)
			defer result.Release()
			got, err := grouptest.ReadAll(result, 1)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Fatal(err)
			}
			d := result.Stats().Device
			if !c.alone && d.Reason == "" && d.Rows <= 2*1000 {
				t.Skip("the CPU has had all batches but the first")
			}
			if (d.Reason == "") != c.alone || c.alone && d.Rows == 0 {
				t.Errorf("route %s: %+v", result.Stats().Route, d)
			}
		})
	}
}
