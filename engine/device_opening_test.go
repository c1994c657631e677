package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// Would catch rows that are lost, or taken twice, while a device is being opened: where all of them
// wait, where there is room for some or for none, and where opening or preparing the device fails
// in the end.
func TestDeviceOpens(t *testing.T) {
	const rows = 6000
	schema, batches := deviceTable(rows, 2000)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	for _, memoryBytes := range []int64{0, 2 << 20, 64 << 10} {
		for _, groups := range []int64{1, 1 << 40} {
			for _, fail := range []int64{0, 1, 2, 3, 9} {
				t.Run(fmt.Sprintf("memory=%d/groups=%d/fail=%d", memoryBytes, groups, fail), func(t *testing.T) {
					knobs := testknobs.Engine{MemoryBytes: memoryBytes, Device: testknobs.Device{
						Opens: 5 * time.Millisecond, Groups: groups, TileRows: 500, RadixBits: 2,
						Fail: hostdevice.FailNth(fail, false, errors.New("boom")),
					}}
					opt := engine.Options{Threads: 1 + int(fail)%3, Device: "host:16MiB", TempDir: t.TempDir()}
					eng := openChecked(t, testknobs.With(opt, knobs))
					for i := range 2 {
						result := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery)
						got, err := grouptest.ReadAll(result, 1)
						if err == nil {
							err = grouptest.Equal(want, got)
						}
						if err != nil {
							t.Error(err)
						}
						s := result.Stats()
						if s.RowsRead < rows || fail == 0 && (s.Device.Rows == 0 || s.Route == "cpu") {
							t.Errorf("query %d: %d rows read, on route %s: %+v", i, s.RowsRead, s.Route, s.Device)
						}
						if i == 0 && fail == 2 && s.Device.Reason == "" { // the call after that for the memory's size
							t.Error("the device has not failed")
						}
						result.Release()
					}
				})
			}
		}
	}
}

// Would catch a query that hangs, and batches that nobody releases, when the input fails, the query
// is cancelled or the engine is closed while a device is being opened.
func TestDeviceOpensInVain(t *testing.T) {
	seed := newSeed(t)
	for i := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, i))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			knobs := testknobs.Engine{Device: testknobs.Device{Opens: 3 * time.Millisecond, TileRows: 100, Groups: []int64{1, 1 << 40}[rng.IntN(2)]}}
			if rng.IntN(2) == 0 {
				knobs.MemoryBytes = 64 << 10
			}
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 3, Device: "host:16MiB"}, knobs))
			boom := errors.New("boom")
			var batches atomic.Int64
			failAt := rng.Int64N(60)
			made := &madeSource{splits: 4, batches: 10, rows: 100, groups: 50}
			made.hook = func(context.Context, int, int, memory.Allocator) (arrow.RecordBatch, error) {
				time.Sleep(100 * time.Microsecond)
				if batches.Add(1) == failAt {
					return nil, boom
				}
				return nil, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rng.IntN(2) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(6_000_000)), cancel)
			}
			var wg sync.WaitGroup
			for range 2 { // which open one device
				q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
				result, err := eng.Aggregate(ctx, made, q)
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					defer result.Release()
					for result.Next() {
					}
					if err := result.Err(); err != nil && !errors.Is(err, boom) && !errors.Is(err, context.Canceled) && !errors.Is(err, engine.ErrClosed) {
						t.Error(err)
					}
				})
			}
			if rng.IntN(3) == 0 {
				time.Sleep(time.Duration(rng.IntN(5_000_000)))
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
			}
			wg.Wait()
		})
	}
}

// Would catch a query that has failed, and still waits for a device that another has.
func TestDeviceFailsWaiting(t *testing.T) {
	schema, batches := deviceTable(3000, 2000)
	knobs := testknobs.Engine{ResultRows: 10, Device: testknobs.Device{TileRows: 200, Opens: 20 * time.Millisecond, Patience: time.Minute}}
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:1MiB"}, knobs))
	held := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery) // opens the device
	defer held.Release()
	boom := errors.New("boom")
	made := &madeSource{splits: 2, batches: 5, rows: 100, groups: 50}
	made.hook = func(ctx context.Context, _, _ int, _ memory.Allocator) (arrow.RecordBatch, error) {
		time.Sleep(10 * time.Millisecond)
		return nil, boom
	}
	start := time.Now()
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	if err := fails(t, eng, made, q); !errors.Is(err, boom) {
		t.Error(err)
	}
	if waited := time.Since(start); waited > 20*time.Second {
		t.Errorf("the query has failed after %v", waited)
	}
}

// Would catch devices that are not opened ahead, or that a query waits for again; and a CPU that has some.
func TestWarmDevices(t *testing.T) {
	schema, batches := deviceTable(6000, 2000)
	knobs := testknobs.Engine{Device: testknobs.Device{Opens: 5 * time.Millisecond}}
	eng := openChecked(t, testknobs.With(engine.Options{Device: "host:16MiB", TempDir: t.TempDir()}, knobs))
	for range 2 {
		if err := eng.WarmDevices(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	result := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery)
	for result.Next() {
	}
	if s := result.Stats(); result.Err() != nil || s.Device == nil || s.Device.Rows != 6000 {
		t.Errorf("the query after: %v, %+v", result.Err(), s.Device)
	}
	result.Release()
	if err := openChecked(t, engine.Options{Device: "cpu", TempDir: t.TempDir()}).WarmDevices(t.Context()); err != nil {
		t.Errorf("the CPU alone: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	slow := openChecked(t, testknobs.With(engine.Options{Device: "host:16MiB", TempDir: t.TempDir()}, knobs))
	if err := slow.WarmDevices(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that is gone: %v", err)
	}
}
