package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// hurry is how long a test waits at most for what a timeout of some milliseconds is to end.
const hurry = 20 * time.Second

// ends fails a test if a function takes so long that it must wait for what does not answer.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(hurry):
		t.Fatalf("%s has not ended after %v", what, hurry)
	}
}

// Would catch a query, those behind it, or the end of the engine that waits for a driver which does
// not answer while a device is opened, and a device that nobody uses any more when it does.
func TestDeviceSilentOpening(t *testing.T) {
	schema, batches := deviceTable(5000, 3000)
	want, err := grouptest.Oracle(schema, batches, deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	for _, silent := range []string{"Memory", "AllocPinned", "NewStream", "work"} { // the first is also asked for the device's size
		t.Run(silent, func(t *testing.T) {
			answer := make(chan struct{})
			knobs := testknobs.Engine{Device: testknobs.Device{Timeout: 50 * time.Millisecond, Opens: time.Nanosecond, Fail: func(c hostdevice.Call) error {
				if c.Name == silent || c.Work && silent == "work" {
					<-answer
				}
				return nil
			}}}
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB", MeasureLink: true, Logger: leakLogger(t)}, knobs))
			query := func() engine.Stats {
				result := mustAggregate(t, eng, scan.Batches(schema, batches), deviceQuery)
				defer result.Release()
				got, err := grouptest.ReadAll(result, 1)
				if err == nil {
					err = grouptest.Equal(want, got)
				}
				if err != nil {
					t.Error(err)
				}
				return result.Stats()
			}
			ends(t, "a query", func() {
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						const reason = "opening the device: no answer for 50ms: the device does not answer"
						if s := query(); s.Route != "cpu" || s.Device.Reason != reason {
							t.Errorf("route %s, since %q; want %q", s.Route, s.Device.Reason, reason)
						}
					})
				}
				wg.Wait()
			})
			start := time.Now()
			ends(t, "a query behind them", func() { query() })
			if waited := time.Since(start); waited > hurry/2 {
				t.Errorf("a query behind them took %v", waited)
			}
			close(answer)
			for s := query(); s.Device.Rows == 0; s = query() { // until the device is heard again
				if time.Since(start) > 10*hurry { // a busy machine answers late, too
					t.Fatalf("the device answers, and is not used since %q", s.Device.Reason)
				}
			}
			ends(t, "the end of the engine", func() {
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Would catch a query that has been cancelled, and still waits for a device that takes long to
// open.
func TestDeviceCancelledOpening(t *testing.T) {
	schema, batches := deviceTable(5000, 3000)
	answer := make(chan struct{})
	knobs := testknobs.Engine{Device: testknobs.Device{Opens: time.Nanosecond, Fail: func(hostdevice.Call) error {
		<-answer
		return nil
	}}}
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB", Logger: leakLogger(t)}, knobs))
	defer close(answer)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	result, err := eng.Aggregate(ctx, scan.Batches(schema, batches), deviceQuery)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	cancel(cause)
	ends(t, "a query that was cancelled", func() {
		for result.Next() {
		}
	})
	if err := result.Err(); !errors.Is(err, cause) {
		t.Error(err)
	}
}
