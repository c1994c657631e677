package device

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch devices that no query opens by itself, however many queries would have been answered earlier, and ones
// that are opened for a single query.
func TestMissed(t *testing.T) {
	d, err := New(Options{
		Device: "auto", MemoryLimit: 2 << 30, Log: slog.New(slog.DiscardHandler),
		Knobs: testknobs.Device{AutoHostBytes: 64 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.opening != nil || d.current != nil
	}
	for _, part := range []time.Duration{-10, 3, 0, 3} { // of ten
		d.missed(d.rates.opens() * part / 10)
		if begun() {
			t.Fatal("devices are opened for less than they take to open")
		}
	}
	if d.missed(d.rates.opens() / 2); !begun() {
		t.Error("devices are not opened for more than they take to open")
	}
	if err := d.Warm(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Close(errors.New("closed")); err != nil {
		t.Error(err)
	}
}
