package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// Would catch devices that pin half of the memory limit each.
func TestDevicePinnedShare(t *testing.T) {
	for _, c := range []struct {
		device string
		host   int
		want   int64
	}{
		{"auto", 0, 512 << 20}, {"cuda", 0, 512 << 20}, {"cuda:3", 0, 512 << 20}, {"cuda:0,1", 0, 256 << 20}, {"cuda:0,1,2,5", 0, 128 << 20},
		{"host:1MiB", 0, 512 << 20}, {"host:1MiB", 8, 64 << 20},
	} {
		o := Options{MemoryLimit: 1 << 30, Device: c.device, testing: TestingKnobs{Device: DeviceKnobs{Count: c.host}}}
		o.EnsureDefaults()
		d, err := newDevices(&o)
		if err != nil {
			t.Fatal(err)
		}
		if d.pinned != c.want {
			t.Errorf("%s, %d of the host: %d B of 1 GiB for each, want %d", c.device, c.host, d.pinned, c.want)
		}
	}
}

// silentClose is a device whose driver does not answer when it is closed.
type silentClose struct {
	kernels.Device
	answer chan struct{}
}

func (d silentClose) Close() error {
	<-d.answer
	return d.Device.Close()
}

// Would catch a query, those behind it, or the end of the engine that waits for a driver which does not answer while a
// device is closed.
func TestDeviceSilentClosing(t *testing.T) {
	o := Options{MemoryLimit: 1 << 30, Device: "host:1MiB", testing: TestingKnobs{Device: DeviceKnobs{Timeout: 50 * time.Millisecond}}}
	o.EnsureDefaults()
	d, err := newDevices(&o)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			set, err := d.get(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			set.list[0] = silentClose{set.list[0], answer}
			d.put(set, kernels.ErrDeviceLost)
		}
		set, err := d.get(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		set.list[0] = silentClose{set.list[0], answer}
		d.put(set, nil)
		d.close()
		if _, err := d.get(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("three devices that do not close are waited for after 20 s")
	}
	close(answer)
	<-done
}

// Would catch a query that waits for a driver which does not answer while its link is measured, and a device that is never
// used again when it does.
func TestDeviceSilentLink(t *testing.T) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Uint32}}, nil))
	for i := range uint32(autoRowsMin) {
		b.Field(0).(*array.Uint32Builder).Append(i * 7919)
	}
	batch := b.NewRecordBatch()
	src := scan.Batches(batch.Schema(), []arrow.RecordBatch{batch})
	eng, err := Open(Options{Threads: 2, MemoryLimit: 2 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	silent, answer := make(chan struct{}, 100), make(chan struct{})
	eng.devices.choice.hostBytes, eng.devices.timeout = 256<<20, 200*time.Millisecond
	eng.devices.fail = func(c hostdevice.Call) error {
		if c.Name == "AllocPinned" {
			silent <- struct{}{}
			<-answer
		}
		return nil
	}
	eng.rates = newRates("", slog.New(slog.DiscardHandler))
	for i := range eng.rates.seen.CPU {
		eng.rates.seen.CPU[i] *= 1000
	}
	q := func() *DeviceStats {
		result, err := eng.Aggregate(t.Context(), src, query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}})
		if err != nil {
			t.Error(err)
			return &DeviceStats{}
		}
		defer result.Release()
		rows := int64(0)
		for result.Next() {
			rows += result.RecordBatch().NumRows()
		}
		if err := result.Err(); err != nil || rows != autoRowsMin {
			t.Errorf("%d groups, %v", rows, err)
		}
		return result.Stats().Device
	}
	done := make(chan *DeviceStats)
	for range 3 {
		go func() { done <- q() }()
	}
	<-silent
	for range 3 {
		select {
		case s := <-done:
			if want := "measuring the link: no answer for 200ms: the device does not answer"; s.Reason != want {
				t.Errorf("since %q, want %q", s.Reason, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a query waits for the link after 20 s")
		}
	}
	if len(silent) > 0 {
		t.Errorf("the device was asked %d times more", len(silent))
	}
	eng.devices.timeout = time.Minute
	close(answer)
	for s, start := q(), time.Now(); s.Rows == 0; s = q() { // until the device is heard again
		if !strings.Contains(s.Reason, "measuring the link") || time.Since(start) > 20*time.Second {
			t.Fatalf("the device answers, and is not used since %q", s.Reason)
		}
	}
}
