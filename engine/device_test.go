package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// deviceTable has an int64 key of so many values, and an int32 value with NULLs.
func deviceTable(rows, groups int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "v", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	rng := rand.New(rand.NewPCG(8, 9))
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += 1000 {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		for range min(1000, rows-from) {
			b.Field(0).(*array.Int64Builder).Append(rng.Int64N(int64(groups)) - 5)
			if rng.IntN(10) == 0 {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.Int32Builder).Append(rng.Int32() - 1<<30)
			}
		}
		batches = append(batches, b.NewRecordBatch())
	}
	return schema, batches
}

var deviceQuery = query.Query{
	Keys: []query.Key{{Column: "k"}},
	Aggregates: []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Min, Args: []string{"v"}},
		{Func: query.Avg, Args: []string{"v"}}, {Func: query.StddevSamp, Args: []string{"v"}},
	},
}

// The routes that are forced are taken, and told.
func TestDeviceStats(t *testing.T) {
	schema, batches := deviceTable(20_000, 5000)
	for _, c := range []struct {
		knobs testknobs.Device
		route string
	}{
		{testknobs.Device{Groups: 1}, "one table"},
		{testknobs.Device{Groups: 5000}, "one table"},
		{testknobs.Device{Groups: 1 << 40, RadixBits: 2, TileRows: 1000}, "partitions"},
	} {
		opt := testknobs.With(engine.Options{Threads: 2, Device: "host:16MiB"}, testknobs.Engine{Device: c.knobs})
		stats := deviceStats(t, opt, schema, batches, deviceQuery)
		d := stats.Device
		if d == nil || len(d.Routes) == 0 || d.Routes[len(d.Routes)-1] != c.route {
			t.Errorf("%+v: %+v, want the route %s", c.knobs, d, c.route)
			continue
		}
		if d.Rows != 20_000 || d.BytesIn < 20_000*12 || d.Kernel <= 0 || stats.Groups != 4896 {
			t.Errorf("%+v: %d groups, %+v", c.knobs, stats.Groups, d)
		}
		if c.route == "partitions" && (d.Emitted != 4 || stats.Route != "device") {
			t.Errorf("%d partitions were emitted on route %s", d.Emitted, stats.Route)
		}
	}
}

func deviceStats(t *testing.T, opt engine.Options, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query) engine.Stats {
	t.Helper()
	eng := openChecked(t, opt)
	result, err := eng.Aggregate(context.Background(), scan.Batches(schema, batches), q)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	for result.Next() {
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return result.Stats()
}

// failEach lets each call of a device fail in turn, or one of each step of them, then each piece of
// work, until none is left; in short mode fewer, and the later the fewer. try answers queries with the knobs, which say
// what fails.
func failEach(t *testing.T, name string, knobs testknobs.Engine, step int64, try func(*testing.T, testknobs.Engine)) {
	t.Helper()
	growth := int64(math.MaxInt64) // a step is longer by n/growth
	if testing.Short() {
		step, growth = 4*step+1, 16
	}
	first := 1 + int64(newSeed(t)%uint64(step)) // so that many runs try every n
	for _, work := range []bool{false, true} {
		for n := first; ; n += step + n/growth {
			var failed atomic.Bool
			cause := []error{kernels.ErrDeviceLost, kernels.ErrOutOfMemory, errors.New("boom")}[n%3]
			knobs.Device.Fail = hostdevice.Noting(&failed, hostdevice.FailNth(n, work, cause))
			t.Run(fmt.Sprintf("%s/work=%v/%d", name, work, n), func(t *testing.T) { try(t, knobs) })
			if !failed.Load() || t.Failed() {
				break
			}
		}
	}
}

// Whatever call or work of a device fails, the answer is right, and the next query's is.
func TestDeviceFaults(t *testing.T) {
	schema, batches := deviceTable(2000, 1500)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		groups    int64
		tileRows  int
		memory    int64
		radixBits int
		pinned    int64
	}{
		{1, 400, 2 << 20, 2, 0},
		{3000, 400, 2 << 20, 2, 0},
		{3000, 400, 2 << 20, 2, 64 << 10}, // a table whose groups leave in parts
		{100, 200, 200 << 10, 4, 0},       // a table that is full soon, and partitions
		{1 << 40, 400, 2 << 20, 2, 0},
		{1 << 40, 200, 64 << 10, 1, 0}, // partitions that are split
	} {
		knobs := testknobs.Engine{ResultRows: 100, Device: testknobs.Device{
			Groups: c.groups, TileRows: c.tileRows, RadixBits: c.radixBits, Streams: 2, PinnedBytes: c.pinned,
		}}
		failEach(t, fmt.Sprintf("groups=%d/pinned=%d", c.groups, c.pinned), knobs, 5, func(t *testing.T, knobs testknobs.Engine) {
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB", DeviceMemoryLimit: c.memory}, knobs))
			for range 2 {
				got, err := answer(eng, scan.Batches(schema, batches), deviceQuery)
				if err != nil {
					t.Fatal(err)
				}
				if err := grouptest.Equal(want, got); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A device that stops answering holds nobody up.
func TestDeviceTimeout(t *testing.T) {
	schema, batches := deviceTable(5000, 3000)
	answer := make(chan struct{})
	defer close(answer)
	knobs := testknobs.Engine{Device: testknobs.Device{Timeout: 50 * time.Millisecond, Fail: func(c hostdevice.Call) error {
		if c.Work && c.Number == 3 {
			<-answer
		}
		return nil
	}}}
	var stats engine.Stats
	ends(t, "a query", func() {
		stats = deviceStats(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB"}, knobs), schema, batches, deviceQuery)
	})
	if stats.Route != "cpu" || stats.Groups != 2452 || stats.Device.Reason == "" {
		t.Errorf("%d groups on route %s, because of %q", stats.Groups, stats.Route, stats.Device.Reason)
	}
}

// Batches that share the memory of a device outlive their query, and the engine.
func TestDeviceBatchesLast(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Uint32}, {Name: "v", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	const rows = 10_000
	for i := range uint32(rows) {
		b.Field(0).(*array.Uint32Builder).Append(i)
		b.Field(1).(*array.Uint32Builder).Append(2 * i)
	}
	src := scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	knobs := testknobs.Engine{ResultRows: 300, Device: testknobs.Device{Groups: 1 << 40, TileRows: 1000, RadixBits: 3}}
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, Device: "host:8MiB"}, knobs))
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}, {Func: query.CountStar}}}
	result, err := eng.Aggregate(context.Background(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	var kept []arrow.RecordBatch
	for result.Next() {
		batch := result.RecordBatch()
		batch.Retain()
		kept = append(kept, batch)
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	if stats := result.Stats(); stats.Route != "device" {
		t.Errorf("the route is %s: %+v", stats.Route, stats.Device)
	}
	result.Release()
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, batch := range kept {
		for i := range int(batch.NumRows()) {
			k := batch.Column(0).(*array.Uint32).Value(i)
			if sum, n := batch.Column(1).(*array.Int64).Value(i), batch.Column(2).(*array.Int64).Value(i); sum != 2*int64(k) || n != 1 {
				t.Fatalf("key %d: sum %d of %d rows", k, sum, n)
			}
			seen++
		}
		batch.Release()
	}
	if seen != rows {
		t.Errorf("%d groups, want %d", seen, rows)
	}
}

// Sums of 128 bits leave a device as numbers of 64 bits in the memory where they lie, each once; a
// sum that is none is an error, as on the CPU.
func TestDeviceWideSums(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	const rows, groups = 20_000, 5000
	for _, beyond := range []bool{false, true} {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		want := map[int64]int64{}
		for i := range int64(rows) {
			k, v := i%groups, (i-rows/2)<<40
			if beyond && k == groups/2 {
				v = math.MaxInt64
			}
			want[k] += v
			b.Field(0).(*array.Int64Builder).Append(k)
			b.Field(1).(*array.Int64Builder).Append(v)
		}
		knobs := testknobs.Engine{ResultRows: 50, Device: testknobs.Device{Groups: groups, TileRows: 1000}}
		eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, Device: "host:8MiB"}, knobs))
		if err != nil {
			t.Fatal(err)
		}
		sum := query.Aggregate{Func: query.Sum, Args: []string{"v"}}
		twice := sum
		twice.Name = "again"
		result, err := eng.Aggregate(t.Context(), scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()}), query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{sum, twice, {Func: query.CountStar}}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]int64{}
		for result.Next() {
			batch := result.RecordBatch()
			for i := range int(batch.NumRows()) {
				s, again := batch.Column(1).(*array.Int64).Value(i), batch.Column(2).(*array.Int64).Value(i)
				if s != again {
					t.Fatalf("the same sum is %d and %d", s, again)
				}
				got[batch.Column(0).(*array.Int64).Value(i)] = s
			}
		}
		switch err := result.Err(); {
		case beyond && (err == nil || !strings.Contains(err.Error(), "v")):
			t.Errorf("a sum beyond 64 bits: %v", err)
		case !beyond && (err != nil || !maps.Equal(got, want)):
			t.Errorf("%d groups, want %d; %v", len(got), len(want), err)
		}
		if stats := result.Stats(); !beyond && stats.Route != "device" {
			t.Errorf("the route is %s: %+v", stats.Route, stats.Device)
		}
		result.Release()
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Would catch progress that falls on a device's route, or when the CPU begins again after a fault
// in either phase.
func TestDeviceProgress(t *testing.T) {
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}}}
	for _, groups := range []int64{1, 200, 1 << 40} {
		for _, fault := range []int64{0, 20, 130, 160} {
			t.Run(fmt.Sprintf("groups=%d/fault=%d", groups, fault), func(t *testing.T) {
				var calls []engine.Progress
				var failed atomic.Bool
				fail := hostdevice.FailNth(fault, true, errors.New("boom"))
				knobs := testknobs.Engine{ResultRows: 10, Device: testknobs.Device{
					Groups: groups, TileRows: 100, RadixBits: 2, Streams: 2,
					Fail: func(c hostdevice.Call) error {
						if c.Work {
							time.Sleep(time.Millisecond)
						}
						err := fail(c)
						failed.CompareAndSwap(false, err != nil)
						return err
					},
				}}
				opt := engine.Options{Threads: 2, Device: "host:16MiB", Progress: func(p engine.Progress) { calls = append(calls, p) }}
				eng := openChecked(t, testknobs.With(opt, knobs))
				made := &madeSource{splits: 4, batches: 5, rows: 100, groups: 200}
				made.hook = func(context.Context, int, int, memory.Allocator) (arrow.RecordBatch, error) {
					time.Sleep(30 * time.Millisecond)
					return nil, nil
				}
				result := mustAggregate(t, eng, made, q)
				for result.Next() {
					time.Sleep(5 * time.Millisecond)
				}
				if err := result.Err(); err != nil {
					t.Fatal(err)
				}
				if d := result.Stats().Device; d.Tiles == 0 || (d.Reason != "") != failed.Load() {
					t.Errorf("%+v, failed: %v", d, failed.Load())
				}
				result.Release()
				checkProgress(t, calls, made.total(), false, failed.Load())
			})
		}
	}
}
