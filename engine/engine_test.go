package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"
	"go.uber.org/goleak"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels"
	_ "github.com/mpga/mpga/kernels/cuda"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// checkedRun is the run of the tests with the checks of invariants.Run; goleak looks for goroutines
// after it.
type checkedRun struct{ tests *testing.M }

func (r checkedRun) Run() int { return invariants.Run(r.tests) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(checkedRun{m}) }

var (
	seedFlag   = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the time")
	deviceFlag = flag.String("device", "", "a device, as engine.Options has it, in place of the host's double of one, with as much memory")
)

// onDevice puts the device of the flag in the place of the host's.
func onDevice(t *testing.T, opt *engine.Options) {
	size, host := strings.CutPrefix(opt.Device, "host:")
	if !host || *deviceFlag == "" {
		return
	}
	if _, err := kernels.Devices(); err != nil {
		t.Skip(err)
	}
	limit, err := humanize.ParseBytes(size)
	if err != nil {
		t.Fatal(err)
	}
	opt.Device, opt.DeviceMemoryLimit = *deviceFlag, int64(limit)
}

func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("again: go test -run '^%s$' -seed=%d\n", t.Name(), seed) // at once: a panic of another goroutine drops what a test has logged
	return seed
}

// routes are the option sets that every case is answered with: each forces a path.
var routes = []struct {
	name    string
	options engine.Options
	knobs   testknobs.Engine
}{
	{"default", engine.Options{}, testknobs.Engine{}},
	{"one thread", engine.Options{Threads: 1}, testknobs.Engine{}},
	{"hash", engine.Options{Threads: 3}, testknobs.Engine{NoDense: true}},
	{"scatter rows", engine.Options{Threads: 2}, testknobs.Engine{NoDense: true, NoPreAgg: true, RadixBits: 3}},
	{"scatter states", engine.Options{Threads: 2}, testknobs.Engine{NoDense: true, AlwaysPreAgg: true, TableGroups: 2, RadixBits: 2}},
	{"tiny tables", engine.Options{Threads: 4}, testknobs.Engine{NoDense: true, TableGroups: 4, ResultRows: 7}},
	{"device", engine.Options{Threads: 2, Device: "host:16MiB"}, testknobs.Engine{}},
	{"device, tiny tiles", engine.Options{Threads: 3, Device: "host:16MiB"}, testknobs.Engine{ResultRows: 7, Device: testknobs.Device{TileRows: 32, Streams: 2}}},
	{"device, one table", engine.Options{Threads: 3, Device: "host:4MiB"}, testknobs.Engine{Device: testknobs.Device{Groups: 20_000, TileRows: 100}}},
	{"device, a full table", engine.Options{Threads: 2, Device: "host:1MiB"}, testknobs.Engine{Device: testknobs.Device{Groups: 3000, TileRows: 64, LFMin: 0.001, LFMax: 0.1, RadixBits: 2}}},
	{"device, partitions", engine.Options{Threads: 3, Device: "host:4MiB"}, testknobs.Engine{ResultRows: 10, Device: testknobs.Device{Groups: 1 << 40, TileRows: 200, RadixBits: 3}}},
	{"device, partitions too large", engine.Options{Threads: 2, Device: "host:1MiB"}, testknobs.Engine{Device: testknobs.Device{Groups: 1 << 40, TileRows: 32, RadixBits: 1}}},
	{"one partition", engine.Options{Threads: 2}, testknobs.Engine{NoDense: true, NoPreAgg: true, RadixBits: 1, BatchRows: 100}},
}

// TestCases answers the shared case list by every path of the CPU route.
func TestCases(t *testing.T) {
	part := newSeed(t) % 3 // so that many short tests take every case
	for n, c := range grouptest.Cases() {
		if testing.Short() && uint64(n)%3 != part {
			continue
		}
		want, wantErr := c.Want()
		for i, r := range routes {
			if testing.Short() && (n+i)%8 != 0 {
				continue
			}
			t.Run(c.Name+"/"+r.name, func(t *testing.T) {
				check(t, c.Schema, c.Batches(), c.Query, want, wantErr, testknobs.With(r.options, r.knobs))
			})
		}
	}
}

// TestRandom answers random queries on random tables with random options.
func TestRandom(t *testing.T) {
	seed := newSeed(t)
	queries := 300
	if testing.Short() {
		queries = invariants.Fewer(25, 8)
	}
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng))
		q := grouptest.RandomQuery(rng, schema)
		want, wantErr := grouptest.Oracle(schema, batches, q)
		options := engine.Options{Threads: 1 + rng.IntN(6)}
		knobs := testknobs.Engine{
			NoDense: rng.IntN(2) == 0, NoPreAgg: rng.IntN(3) == 0, AlwaysPreAgg: rng.IntN(3) == 0,
			RadixBits: rng.IntN(5), TableGroups: []int{0, 5, 100, 3000}[rng.IntN(4)],
			ResultRows: []int{0, 3, 1000}[rng.IntN(3)],
			SpillAll:   rng.IntN(3) == 0, ForceSplits: rng.IntN(6) % 4,
			MemoryBytes: []int64{0, 1, 2}[rng.IntN(3)] * memoryFor(q),
		}
		if rng.IntN(2) == 0 {
			options.Device, knobs.Device = randomDevice(rng)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			check(t, schema, batches, q, want, wantErr, testknobs.With(options, knobs))
		})
	}
}

// memoryFor returns a memory limit that a query of random rows can do with: a list of all rows takes 9 MiB, and
// six times as much for a while.
func memoryFor(q query.Query) int64 {
	grows := func(a query.Aggregate) bool { return a.Func == query.List || a.Func == query.StringAgg }
	if slices.ContainsFunc(q.Aggregates, grows) {
		return 64 << 20
	}
	return 16 << 20
}

// randomDevice returns a device of the host, and knobs that force its paths, or let it fail.
func randomDevice(rng *rand.Rand) (string, testknobs.Device) {
	k := testknobs.Device{
		TileRows:  []int{0, 32, 100, 1000}[rng.IntN(4)],
		Streams:   rng.IntN(5),
		RadixBits: rng.IntN(4),
		Groups:    []int64{0, 1, 100, 3000, 1 << 40}[rng.IntN(5)],
		Count:     []int{0, 0, 2, 3}[rng.IntN(4)],
		Opens:     []time.Duration{0, 0, time.Nanosecond, time.Millisecond}[rng.IntN(4)],

		PinnedBytes: []int64{0, 0, 64 << 10, 1 << 20}[rng.IntN(4)],
	}
	if rng.IntN(2) == 0 {
		k.LFMin = 0.001 + 0.9*rng.Float64()
		k.LFMax = k.LFMin + (1-k.LFMin)*rng.Float64()
	}
	if rng.IntN(3) == 0 {
		cause := []error{errors.New("boom"), kernels.ErrDeviceLost, kernels.ErrOutOfMemory}[rng.IntN(3)]
		k.Fail = hostdevice.FailNth(1+rng.Int64N(500), rng.IntN(2) == 0, cause)
	}
	return []string{"host:1MiB", "host:2MiB", "host:16MiB"}[rng.IntN(3)], k
}

// check runs a query and compares the answer, or that there is none, and what is left in memory.
func check(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, want *grouptest.Rows, wantErr error, opt engine.Options) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	opt.Allocator, opt.Logger = mem, leakLogger(t)
	onDevice(t, &opt)
	eng, err := engine.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	got, err := answer(eng, scan.Batches(schema, batches), q)
	if wantErr != nil || err != nil {
		if (wantErr != nil) != (err != nil) {
			t.Fatalf("%v over %v: error %v, want %v", q.Aggregates, q.Keys, err, wantErr)
		}
		return
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Fatalf("%v over %v: %v", q.Aggregates, q.Keys, err)
	}
}

func answer(eng *engine.Engine, src scan.Source, q query.Query) (*grouptest.Rows, error) {
	result, err := eng.Aggregate(context.Background(), src, q)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	return grouptest.ReadAll(result, len(q.Keys))
}
