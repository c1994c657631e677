package engine

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The faster of CPU and device is chosen, by what was seen.
func TestRatesChoose(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		name           string
		rows, rowBytes int64
		groups         int64
		threads        int
		link           float64
		wins           bool
	}{
		{"many groups over a fast link", 1e9, 8, 1e7, 16, 55e9, true},
		{"few groups over a slow link", 1e9, 8, 10, 16, 6e9, false},
		{"many groups over a slow link", 1e9, 8, 1e8, 16, 6e9, true},
		{"few rows", 1e6, 8, 1e6, 16, 55e9, false},
		{"wide rows, few groups", 1e9, 64, 10, 64, 25e9, false},
	} {
		wins, reason := newRates("", discard).deviceWins(c.rows, c.rowBytes, c.groups, c.threads, c.link)
		if wins != c.wins {
			t.Errorf("%s: the device wins: %v; %s", c.name, wins, reason)
		}
	}

	r := newRates("", discard)
	for range 50 { // a CPU that takes 0.5 ns a row of a thread
		r.sawCPU(1e9, 1e7, 16, 1e9*time.Nanosecond/32)
	}
	if wins, reason := r.deviceWins(1e9, 8, 1e7, 16, 55e9); wins {
		t.Errorf("the device wins over a CPU that was seen to be fast: %s", reason)
	}
}

// Rates last from process to process, and a file that makes no sense does no harm.
func TestRatesFile(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	file := filepath.Join(t.TempDir(), "cache", "rates.json")
	r := newRates(file, discard)
	r.save()
	if _, err := os.Stat(file); err == nil {
		t.Error("rates were kept of a machine without devices")
	}
	if _, err := r.link("gpu", func() (float64, error) { return 0, errors.New("boom") }); err == nil {
		t.Error("an error of measuring is lost")
	}
	measures := 0
	measure := func() (float64, error) {
		measures++
		return 55e9, nil
	}
	for range 2 {
		if link, err := r.link("gpu", measure); err != nil || link != 55e9 {
			t.Errorf("a link of %g, %v", link, err)
		}
	}
	r.sawCPU(1e9, 100, 1, 10*time.Second)
	r.save()
	again := newRates(file, discard)
	if link, _ := again.link("gpu", measure); link != 55e9 || measures != 1 {
		t.Errorf("a link of %g after %d measurements", link, measures)
	}
	if a, b := again.seen.CPU, r.seen.CPU; a != b || a == ratesBefore.CPU {
		t.Errorf("%v, want %v", a, b)
	}
	for _, text := range []string{"", "{", `{"fill_nanos_per_byte": -1}`, `{"link_bytes_per_second": {"gpu": 0}}`, `{"link_bytes_per_second": null}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := newRates(file, discard); r.seen.Fill != ratesBefore.Fill || len(r.seen.Link) != 0 {
			t.Errorf("%q was taken for rates: %+v", text, r.seen)
		}
	}
}
