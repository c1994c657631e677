package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// leakHandler fails a test when an engine closes a device that has something left: memory, pinned
// memory, streams, events.
type leakHandler struct {
	slog.Handler
	t *testing.T
}

func (h leakHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h leakHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "device closed" {
		r.Attrs(func(a slog.Attr) bool {
			h.t.Errorf("%s: %v", r.Message, a)
			return true
		})
	}
	return nil
}

func leakLogger(t *testing.T) *slog.Logger { return slog.New(leakHandler{slog.DiscardHandler, t}) }

// Would catch queries that take each other's memory: with patience, each has the device to itself
// or a part of it, and none is the CPU's; without, some are, and all answers are right.
func TestDeviceShared(t *testing.T) {
	schema, batches := deviceTable(2000, 1500)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	const queries = 6
	for _, deviceName := range []string{"host:1MiB", "host:3MiB", "host:64MiB"} {
		for _, patience := range []time.Duration{time.Nanosecond, time.Minute} {
			for _, groups := range []int64{1, 2000, 1 << 40} {
				t.Run(fmt.Sprintf("%s/%v/groups=%d", deviceName, patience, groups), func(t *testing.T) {
					knobs := testknobs.Engine{ResultRows: 100, Device: testknobs.Device{Groups: groups, TileRows: 200, RadixBits: 2, Streams: 2, Patience: patience}}
					opt := testknobs.With(engine.Options{Threads: 2, Device: deviceName}, knobs)
					onDevice(t, &opt)
					eng := openChecked(t, opt)
					var onCPU atomic.Int64
					var wg sync.WaitGroup
					for range queries {
						wg.Go(func() {
							result, err := eng.Aggregate(t.Context(), scan.Batches(schema, batches), deviceQuery)
							if err != nil {
								t.Error(err)
								return
							}
							defer result.Release()
							got, err := grouptest.ReadAll(result, 1)
							if err == nil {
								err = grouptest.Equal(want, got)
							}
							if err != nil {
								t.Error(err)
							}
							if reason := result.Stats().Device.Reason; reason != "" {
								onCPU.Add(1)
								if !strings.HasPrefix(reason, "other queries have the device") {
									t.Errorf("on the CPU: %s", reason)
								}
							}
						})
					}
					wg.Wait()
					if n := onCPU.Load(); n == queries || patience > time.Second && n > 0 {
						t.Errorf("%d of %d queries were the CPU's", n, queries)
					}
				})
			}
		}
	}
}

// Would catch a query that hangs, or that fails, because nobody reads the result of another, which
// has the device; and one that waits in vain when it is cancelled.
func TestDeviceHeld(t *testing.T) {
	schema, batches := deviceTable(3000, 2000)
	knobs := testknobs.Engine{ResultRows: 10, Device: testknobs.Device{TileRows: 200, Patience: 50 * time.Millisecond}}
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:1MiB"}, knobs))
	held := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery)
	defer held.Release()
	if !held.Next() {
		t.Fatal(held.Err())
	}
	other := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery)
	defer other.Release()
	if _, err := grouptest.ReadAll(other, 1); err != nil {
		t.Error(err)
	}
	if d := other.Stats().Device; d.Tiles > 0 || !strings.Contains(d.Reason, "within 50ms") {
		t.Errorf("the device is shared: %+v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits, err := eng.Aggregate(ctx, scan.Batches(schema, batches), deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	defer waits.Release()
	cancel()
	for waits.Next() {
	}
	if err := waits.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that was cancelled: %v", err)
	}
	for held.Next() {
	}
	if err := held.Err(); err != nil {
		t.Error(err)
	}
}

// Would catch a line that nobody moves on when the device is lost under one of those that use it,
// when one that waits goes away, and memory that is not given back: any of many queries fails, is
// cancelled or is let go.
func TestDeviceSharedFaults(t *testing.T) {
	schema, batches := deviceTable(3000, 2000)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	seed := newSeed(t)
	rounds := uint64(60)
	if testing.Short() {
		rounds = 15
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, round))
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			cause := []error{kernels.ErrDeviceLost, kernels.ErrOutOfMemory, errors.New("boom")}[rng.IntN(3)]
			failAt, work := 20+rng.Int64N(800), rng.IntN(2) == 0
			knobs := testknobs.Engine{ResultRows: 50, SpillAll: rng.IntN(2) == 0, Device: testknobs.Device{
				Count: rng.IntN(3), LFMin: 0.05 + rng.Float64()/2, Opens: time.Duration(rng.IntN(2_000_000)),
				Groups: []int64{1, 2000, 1 << 40}[rng.IntN(3)], TileRows: 200, RadixBits: 2, Streams: 2,
				Patience: []time.Duration{time.Nanosecond, time.Millisecond, time.Minute}[rng.IntN(3)],
				Fail:     hostdevice.FailNth(failAt, work, cause),
			}}
			deviceName := []string{"host:1MiB", "host:40MiB"}[rng.IntN(2)]
			t.Logf("%s, %v at %d, work: %v; %+v", deviceName, cause, failAt, work, knobs)
			fsys := faultfs.New(vfs.OS)
			defer func() {
				if n := fsys.OpenFiles(); n != 0 {
					t.Errorf("%d files are open", n)
				}
			}()
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: deviceName, FS: fsys, TempDir: t.TempDir()}, knobs))
			var wg sync.WaitGroup
			for range 6 {
				whole, wait := rng.IntN(3) > 0, time.Duration(rng.IntN(5_000_000))
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					result, err := eng.Aggregate(ctx, scan.Batches(schema, batches), deviceQuery)
					if err != nil {
						t.Error(err)
						return
					}
					defer result.Release()
					if !whole {
						time.AfterFunc(wait, cancel)
					}
					got, err := grouptest.ReadAll(result, 1)
					switch {
					case err == nil:
						err = grouptest.Equal(want, got)
					case !whole && errors.Is(err, context.Canceled):
						err = nil
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}
