package device

import (
	"errors"
	"log/slog"
	"testing"
)

// Would catch devices that open anew for each engine, ones that another engine's options have closed under an engine
// that uses them, and ones that nobody closes.
func TestPool(t *testing.T) {
	p := NewPool(slog.New(slog.DiscardHandler))
	open := func(name string, limit int64) (*Devices, func()) {
		t.Helper()
		d, release, err := p.Open(Options{Device: name, MemoryLimit: limit, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		return d, func() {
			t.Helper()
			if err := release(errors.New("the engine is closed")); err != nil {
				t.Error(err)
			}
		}
	}
	const limit = 1 << 30
	first, release := open("host:64MiB", limit)
	release()
	onCPU, releaseCPU := open("cpu", limit)
	releaseCPU()
	second, release := open("host:64MiB", limit)
	if first != second || !second.Opened() {
		t.Error("the devices of an engine that is closed are not the next one's")
	}
	other, releaseOther := open("host:64MiB", 2*limit)
	if other == second || other == onCPU || !second.Opened() {
		t.Error("devices for one memory limit are used for another, or closed while they are used")
	}
	release()
	if second.Opened() {
		t.Error("devices that the pool has not kept are open when nobody uses them")
	}
	if err := p.Close(); err != nil || !other.Opened() {
		t.Errorf("a pool closes devices that are used: %v", err)
	}
	releaseOther()
	if other.Opened() {
		t.Error("devices of a pool that is closed are open when nobody uses them")
	}
}

// Would catch an engine that fails for ever, because devices could not be opened once.
func TestPoolTriesAgain(t *testing.T) {
	p := NewPool(slog.New(slog.DiscardHandler))
	var before *Devices
	for range 2 {
		d, release, err := p.Open(Options{Device: "host:64MiB", MemoryLimit: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if d == before {
			t.Error("devices that could not be opened are kept")
		}
		before = d
		d.reason = errors.New("no driver")
		if err := release(errors.New("the engine is closed")); err != nil {
			t.Error(err)
		}
	}
}
