package device

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
		got := newRates("", discard).compare(c.rows, crossing{bytes: float64(c.rowBytes)}, c.groups, c.threads, c.link, 1)
		if got.deviceWins() != c.wins {
			t.Errorf("%s: the device wins: %v; %s", c.name, !c.wins, got.reason)
		}
		if saved := got.saves(c.rows); (saved > 0) != c.wins {
			t.Errorf("%s: a device saves %v; %s", c.name, saved, got.reason)
		}
	}

	r := newRates("", discard)
	for range 50 { // a CPU that takes 0.5 ns a row of a thread
		r.sawCPU(1e9, 1e7, 16, 1e9*time.Nanosecond/32)
	}
	if c := r.compare(1e9, crossing{bytes: 8}, 1e7, 16, 55e9, 1); c.deviceWins() {
		t.Errorf("the device wins over a CPU that was seen to be fast: %s", c.reason)
	}
}

// Would catch a query that only asks for rates, and waits for a link that is being measured.
func TestRatesMeasuring(t *testing.T) {
	r := newRates("", slog.New(slog.DiscardHandler))
	measuring, answer, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if _, err := r.link("gpu", func() (float64, error) {
			close(measuring)
			<-answer
			return 55e9, nil
		}); err != nil {
			t.Error(err)
		}
	}()
	<-measuring
	if r.cpuTime(1e6, 10, 1) <= 0 {
		t.Error("the CPU takes no time")
	}
	close(answer)
	<-done
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
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "cut off": string(good[:len(good)/2]), "nothing": "{}", "no object": "[1]", "NaN": strings.Replace(string(good), "0.3", "NaN", 1),
		"no link": strings.Replace(string(good), "55000000000", "0", 1), "negative": strings.Replace(string(good), "0.3", "-1", 1),
		"absurd": strings.Replace(string(good), "0.3", "1e300", 1), "another version": strings.Replace(string(good), `"version": 4`, `"version": 99`, 1),
		"another machine": strings.Replace(string(good), "threads", "strings", 1),
	} {
		if text == string(good) {
			t.Errorf("%s: the file has changed its form: %s", name, good)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := newRates(file, discard)
		if r.seen.Fill != ratesBefore.Fill || r.seen.CPU != ratesBefore.CPU || len(r.seen.Link) != 0 {
			t.Errorf("%s was taken for rates: %+v", name, r.seen)
		}
		if _, err := r.link("gpu", measure); err != nil {
			t.Error(err)
		}
		r.save() // over it
		if again := newRates(file, discard); len(again.seen.Link) != 1 {
			t.Errorf("%s stays: %+v", name, again.seen)
		}
	}
}

// How long devices take to open is learnt by processes that end before they are open, too.
func TestRatesOpening(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rates.json")
	for _, want := range []time.Duration{500 * time.Millisecond, time.Second, 1200 * time.Millisecond, 1200 * time.Millisecond} {
		r := newRates(file, slog.New(slog.DiscardHandler)) // of the next process
		r.sawOpening(1200*time.Millisecond, false)
		if got := r.opens(); got != want {
			t.Errorf("devices open after %v, want %v", got, want)
		}
		r.save()
	}
	r := newRates(file, slog.New(slog.DiscardHandler))
	if r.sawOpening(time.Millisecond, false); r.opens() != 1200*time.Millisecond {
		t.Errorf("devices that have not opened after a millisecond open after %v", r.opens())
	}
	for range 50 {
		r.sawOpening(200*time.Millisecond, true)
	}
	if got := r.opens(); got < 199*time.Millisecond || got > 210*time.Millisecond {
		t.Errorf("devices open after %v, want 200ms", got)
	}
}

// Would catch an error, a panic or a file elsewhere where rates cannot be kept.
func TestRatesUnwritable(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(blocked, "rates.json"), dir, ""} {
		r := newRates(file, slog.New(slog.DiscardHandler))
		r.seen.Link["gpu"] = 55e9
		r.save()
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// Would catch a file that two processes have written together, and a link that one of them has
// measured in vain.
func TestRatesTogether(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	file := filepath.Join(t.TempDir(), "rates.json")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := newRates(file, discard)
			r.seen.Link[fmt.Sprint("gpu ", i%2)] = 50e9
			for range 20 {
				r.save()
				if _, err := readRates(file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r := newRates(file, discard)
	r.seen.Link["gpu 2"] = 50e9
	r.save()
	again := newRates(file, discard)
	if len(again.seen.Link) < 2 || again.seen.Link["gpu 2"] != 50e9 {
		t.Errorf("links %v", again.seen.Link)
	}
	if files, err := os.ReadDir(filepath.Dir(file)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// Would catch a rate that one slow reader of a result spoils for the queries to come.
func TestRatesFollow(t *testing.T) {
	r := newRates("", slog.New(slog.DiscardHandler))
	before := r.seen.CPU[3]
	r.sawCPU(1e9, 5000, 16, 24*time.Hour)
	if got := r.seen.CPU[3]; got <= before || got > 1.26*before {
		t.Errorf("from %g to %g ns a row by one query", before, got)
	}
	for range 100 {
		r.sawCPU(1e9, 5000, 1, 7*time.Second)
	}
	if got := r.seen.CPU[3]; got < 6.9 || got > 7.1 {
		t.Errorf("%g ns a row, want 7", got)
	}
}

// Would catch a query whose pages a device decodes that is judged, or learnt from, as one whose rows it
// gets from the CPU.
func TestRatesPages(t *testing.T) {
	r := newRates("", slog.New(slog.DiscardHandler))
	r.seen.Fill, r.seen.Pages = 100, 0.1
	const rows, groups, threads, link = 1e9, 1e6, 16, 50e9
	if c := r.compare(rows, crossing{bytes: 8}, groups, threads, link, 1); c.deviceWins() {
		t.Errorf("rows: %s", c.reason)
	}
	if c := r.compare(rows, crossing{bytes: 8, pages: true}, groups, threads, link, 1); !c.deviceWins() {
		t.Errorf("pages: %s", c.reason)
	}
	for range 100 {
		r.sawDevice("gpu", 16e9, true, threads, 2*time.Second, 0)
	}
	if r.seen.Fill != 100 || r.seen.Pages < 1.9 || r.seen.Pages > 2.1 {
		t.Errorf("%g ns a byte of rows, %g a byte of pages, want 100 and 2", r.seen.Fill, r.seen.Pages)
	}
}

// Would catch a query whose condition leaves few rows that is judged by these, and rates that do not follow what decoding
// takes.
func TestRatesDecoding(t *testing.T) {
	r := newRates("", slog.New(slog.DiscardHandler))
	const threads, link = 16, 50e9
	if c := r.compareDecoding(60e6, 16, threads, link); !c.deviceWins() {
		t.Errorf("many rows: %s", c.reason)
	}
	if c := r.compareDecoding(1e6, 16, threads, link); c.deviceWins() {
		t.Errorf("few rows: %s", c.reason)
	}
	query := took{rows: 1e6, groups: 1, workers: threads, both: time.Second, few: true, filtered: 16e9}
	for range 100 {
		r.sawDecoding(&query)
	}
	if r.seen.Decode < 0.9 || r.seen.Decode > 1.1 {
		t.Errorf("%g ns a byte, want 1", r.seen.Decode)
	}
}

// Would catch rates that nobody sees.
func TestRatesShown(t *testing.T) {
	c := newRates("", slog.New(slog.DiscardHandler)).compare(1e9, crossing{bytes: 8}, 1e7, 16, 50e9, 1)
	f := Forecast{Devices: "GPU", Reason: "why", Rates: c.reason}
	if got, want := f.String(), "GPU; why; chosen by the machine's rates: about 10,000,000 groups: 1.2 ns a row on the CPU, 0.18 on the device (link 0.16, filling 0.15, starting 0.02)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Would catch a comparison that auto does not learn from, and one that keeps rates where no device was seen.
func TestLearnCPU(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	LearnCPU(1e8, 1e6, 8, time.Second)
	if _, err := os.Stat(ratesFile()); err == nil {
		t.Fatal("rates are kept where no device was seen")
	}
	before := newRates(ratesFile(), slog.New(slog.DiscardHandler))
	before.seen.Link["gpu"] = 50e9
	before.save()
	slow := before.cpuTime(1e8, 1e6, 8)
	LearnCPU(1e8, 1e6, 8, slow/10, slow/10, slow/10)
	after := newRates(ratesFile(), slog.New(slog.DiscardHandler))
	if got := after.cpuTime(1e8, 1e6, 8); got > slow*3/4 || got < slow/10 {
		t.Errorf("the CPU is expected to take %v, after %v and three queries of %v", got, slow, slow/10)
	}
}
