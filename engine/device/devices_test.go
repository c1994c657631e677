package device

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels"
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
		d, err := New(Options{MemoryLimit: 1 << 30, Device: c.device, Log: slog.New(slog.DiscardHandler), Knobs: testknobs.Device{Count: c.host}})
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

// Would catch a query, those behind it, or the end of the engine that waits for a driver which does
// not answer while a device is closed.
func TestDeviceSilentClosing(t *testing.T) {
	errClosed := errors.New("closed")
	d, err := New(Options{MemoryLimit: 1 << 30, Device: "host:1MiB", Log: slog.New(slog.DiscardHandler), Knobs: testknobs.Device{Timeout: 50 * time.Millisecond}})
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
		d.Close(errClosed)
		if _, err := d.get(context.Background()); !errors.Is(err, errClosed) {
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
