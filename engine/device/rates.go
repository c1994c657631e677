package device

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/singleflight"

	"github.com/mpga/mpga/internal/vfs"
)

// rates are the measured speeds of the machine: CPU or device is chosen by them. They are measured
// when a device is first used, follow what queries take, and are kept between processes, in a file
// for each kind of machine, since machines share home directories.
//
//   - V1 (no harm): a file that is no file of rates, or that cannot be read or written, counts as
//     no file; and a file is there whole or not at all.
//   - V2 (no haste): one query moves a rate by a quarter at most: the reader of its result may be
//     slow, or the machine have had other work.
type rates struct {
	file      string // "" keeps nothing
	log       *slog.Logger
	measuring singleflight.Group // of links, by UUID

	mu     sync.Mutex // not held while a link is measured
	seen   measured
	opened bool // seen.Open is of this process
}

// measured is what the file of rates holds.
type measured struct {
	// Version numbers what the rates mean; Machine names the machine that they were measured on.
	Version int    `json:"version"`
	Machine string `json:"machine"`
	// Link is the bytes a second to each device, by UUID.
	Link map[string]float64 `json:"link_bytes_per_second"`
	// Fill is how many nanoseconds of a thread a byte of rows takes to a device, decoded by the CPU.
	Fill float64 `json:"fill_nanos_per_byte"`
	// Pages is how many nanoseconds of a thread a byte of pages takes to a device that decodes them.
	Pages float64 `json:"pages_nanos_per_byte"`
	// Decode is how many nanoseconds of a thread a byte of pages takes where the CPU decodes them and asks a condition.
	Decode float64 `json:"decode_nanos_per_byte"`
	// CPU is how many nanoseconds of a thread a row takes where the CPU aggregates, by decimal
	// digits of the number of groups.
	CPU [cpuRates]float64 `json:"cpu_nanos_per_row"`
	// Open is how many nanoseconds devices take to open, once for an engine.
	Open float64 `json:"open_nanos"`
}

const (
	cpuRates     = 10
	ratesVersion = 4
)

// ratesBefore are the rates of a machine that was not measured yet: the rates of cores of an AMD
// EPYC, Zen 4, by mpga-lab; and beside an H100, 16 cores, driver 580, where a context takes 0.25 s, or 1.2 in some
// virtual machines.
var ratesBefore = measured{
	Fill:   0.3,
	Pages:  1,
	Decode: 2,
	CPU:    [cpuRates]float64{2.4, 2.4, 2.4, 2.4, 3, 4, 13, 19, 40, 60},
	Open:   250e6,
}

// ratesFile returns where the rates of this kind of machine are kept: in the user's cache.
func ratesFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(machineName())) // a hash takes everything
	return filepath.Join(dir, "mpga", fmt.Sprintf("rates-%08x.json", h.Sum32()))
}

// machineName is Machine.
var machineName = sync.OnceValue(func() string {
	model := runtime.GOARCH
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d threads", model, runtime.NumCPU())
})

// Machine names the kind of machine: its processors, and how many threads they have.
func Machine() string { return machineName() }

// newRates reads the rates that were kept: V1.
func newRates(file string, log *slog.Logger) *rates {
	r := &rates{file: file, log: log, seen: ratesBefore}
	r.seen.Version, r.seen.Machine, r.seen.Link = ratesVersion, machineName(), map[string]float64{}
	kept, err := readRates(file)
	switch {
	case err == nil:
		r.seen = *kept
	case file != "" && !errors.Is(err, fs.ErrNotExist):
		log.Debug("rates of the machine", slog.String("file", file), slog.Any("error", err))
	}
	return r
}

// readRates reads a file of rates of this machine.
func readRates(file string) (*measured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var m measured
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	return &m, m.validate()
}

// validate returns why rates cannot be this machine's.
func (m *measured) validate() error {
	if m.Version != ratesVersion || m.Machine != machineName() {
		return fmt.Errorf("version %d of %q, want version %d of %q", m.Version, m.Machine, ratesVersion, machineName())
	}
	ok := m.Link != nil
	for _, v := range []float64{m.Fill, m.Pages, m.Decode} {
		ok = ok && v > 1e-3 && v < 1e4
	}
	ok = ok && m.Open >= openMin && m.Open <= openMax
	for _, v := range m.Link {
		ok = ok && v > 1e8 && v < 1e13
	}
	for _, v := range m.CPU {
		ok = ok && v > 1e-2 && v < 1e6
	}
	if !ok {
		return fmt.Errorf("rates that no machine has: %+v", *m)
	}
	return nil
}

// save writes the rates to their file, if they have one.
func (r *rates) save() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == "" || len(r.seen.Link) == 0 && r.seen.Open == ratesBefore.Open {
		return // no device has been seen
	}
	seen := r.seen
	if other, err := readRates(r.file); err == nil { // another process has used another device
		seen.Link = maps.Clone(r.seen.Link)
		if !r.opened {
			seen.Open = other.Open
		}
		for uuid, speed := range other.Link {
			if _, known := seen.Link[uuid]; !known {
				seen.Link[uuid] = speed
			}
		}
	}
	text, err := json.MarshalIndent(&seen, "", "  ")
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(r.file), 0o755); err == nil {
			err = vfs.WriteFile(vfs.OS, r.file, append(text, '\n'))
		}
	}
	if err != nil {
		r.log.Debug("rates of the machine", slog.String("file", r.file), slog.Any("error", err))
	}
}

// follow moves a rate towards what was seen: V2.
func (r *rates) follow(rate *float64, seen float64) {
	if seen <= 0 || math.IsInf(seen, 0) || math.IsNaN(seen) {
		return
	}
	const weight, most = 4, 2
	seen = min(max(seen, *rate/most), *rate*most)
	*rate += (seen - *rate) / weight
}

// openMin and openMax are the least and the longest time for devices to open that is believed, in nanoseconds.
const openMin, openMax = 1e6, 1e11

// sawOpening notes how long devices took to open; or, where they are not open yet, that they take longer.
func (r *rates) sawOpening(took time.Duration, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
	switch seen := min(float64(took), openMax); {
	case seen > r.seen.Open:
		const most = 2 // the machine may have had other work
		r.seen.Open = min(seen, most*r.seen.Open)
	case open:
		r.follow(&r.seen.Open, max(seen, openMin))
	}
}

// opens returns how long devices are expected to take to open.
func (r *rates) opens() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.seen.Open)
}

// groupClass returns the digits of a number of groups, as an index of measured.CPU.
func groupClass(groups int64) int {
	class := 0
	for groups >= 10 && class < cpuRates-1 {
		groups /= 10
		class++
	}
	return class
}

// sawCPU notes how long a query on the CPU took its threads, decoding included.
func (r *rates) sawCPU(rows, groups int64, threads int, elapsed time.Duration) {
	if rows < rateRowsMin {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(&r.seen.CPU[groupClass(groups)], float64(elapsed)*float64(threads)/float64(rows))
}

// sawDecoding is sawCPU of a query whose condition has left few rows.
func (r *rates) sawDecoding(t *took) {
	if t.filtered < rateRowsMin {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	grouping := r.seen.CPU[groupClass(t.groups)] * float64(t.rows)
	r.follow(&r.seen.Decode, (float64(t.both)*float64(t.workers)-grouping)/t.filtered)
}

// LearnCPU lets the rates that are kept of this machine follow queries that the CPU alone answered, where a device has
// been seen. Each query had these rows, groups and threads; times is how long each took.
func LearnCPU(rows, groups int64, threads int, times ...time.Duration) {
	r := newRates(ratesFile(), slog.New(slog.DiscardHandler))
	for _, took := range times {
		r.sawCPU(rows, groups, threads, took)
	}
	r.save()
}

// sawDevice notes how long a query took to bring bytes to a device: bytes of pages, or else of rows.
func (r *rates) sawDevice(uuid string, bytes int64, pages bool, threads int, filling, copying time.Duration) {
	if bytes < rateRowsMin {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := &r.seen.Fill
	if pages {
		rate = &r.seen.Pages
	}
	r.follow(rate, float64(filling)*float64(threads)/float64(bytes))
	if old, known := r.seen.Link[uuid]; known && copying > 0 {
		r.follow(&old, float64(bytes)/copying.Seconds())
		r.seen.Link[uuid] = old
	}
}

// rateRowsMin is the least number of rows, or of bytes, of a query from which rates are learnt.
const rateRowsMin = 1 << 20

// link returns the speed of the link to a device, in bytes a second. The first call measures it,
// and others wait for that.
func (r *rates) link(uuid string, measure func() (float64, error)) (float64, error) {
	speed, err, _ := r.measuring.Do(uuid, func() (any, error) {
		r.mu.Lock()
		speed, known := r.seen.Link[uuid]
		r.mu.Unlock()
		if known {
			return speed, nil
		}
		speed, err := measure()
		if err == nil {
			r.mu.Lock()
			r.seen.Link[uuid] = speed
			r.mu.Unlock()
		}
		return speed, err
	})
	return speed.(float64), err
}

// cpuTime returns how long the CPU is expected to take.
func (r *rates) cpuTime(rows, groups int64, threads int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.seen.CPU[groupClass(groups)] / float64(threads) * float64(rows))
}

// cpuTimeMost returns how long the CPU is expected to take at most, whatever the number of groups.
func (r *rates) cpuTimeMost(rows int64, threads int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(slices.Max(r.seen.CPU[:]) / float64(threads) * float64(rows))
}

// scatterPart is the part of the CPU's time for a row that scattering takes where groups are many:
// what a device saves that only scatters. 3e8 rows by 1e6, 1e7 and 1e8 groups, with medians, took
// 1.20, 1.94 and 3.44 s on 16 cores, and 1.26, 1.68 and 2.43 s where an H200 had scattered them.
const scatterPart = 0.25

// comparison is how many nanoseconds a row is expected to take the CPU, for the part of its work that
// devices would do, and devices.
type comparison struct {
	cpu, device float64
	reason      string // the rates that say so
}

// crossing is how a row crosses the link to a device.
type crossing struct {
	bytes float64
	pages bool // the device decodes pages: bytes is what a row takes in them
}

// compare compares the CPU with devices, for a part of the CPU's work. Requires: there are rows.
func (r *rates) compare(rows int64, row crossing, groups int64, threads int, link, part float64) comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := comparison{cpu: part * r.seen.CPU[groupClass(groups)] / float64(threads)}
	fill := r.seen.Fill
	if row.pages {
		fill = r.seen.Pages
	}
	filling := fill * row.bytes / float64(threads)
	copying := row.bytes / link * 1e9
	starting := float64(deviceStart) / float64(rows)
	c.device = max(filling, copying) + starting
	c.reason = fmt.Sprintf(
		"about %s groups: %.2g ns a row on the CPU, %.2g on the device (link %.2g, filling %.2g, starting %.2g)",
		humanize.Comma(groups), c.cpu, c.device, copying, filling, starting)
	return c
}

// decodeStart is how long it takes devices to begin to decode, in memory that they have had before.
const decodeStart = 5 * time.Millisecond

// compareDecoding compares the CPU with devices where a condition is asked of rows, whose pages take rowBytes a row.
// Requires: there are rows.
func (r *rates) compareDecoding(rows int64, rowBytes float64, threads int, link float64) comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := comparison{cpu: r.seen.Decode * rowBytes / float64(threads)}
	filling, copying := r.seen.Pages*rowBytes/float64(threads), rowBytes/link*1e9
	starting := float64(decodeStart) / float64(rows)
	c.device = max(filling, copying) + starting
	const text = "decoding takes %.2g ns a row on the CPU, %.2g on the device (link %.2g, filling %.2g, starting %.2g)"
	c.reason = fmt.Sprintf(text, c.cpu, c.device, copying, filling, starting)
	return c
}

// deviceWins reports whether devices are expected to take less time than the CPU: what is no faster
// by a tenth is left to the CPU.
func (c comparison) deviceWins() bool { return c.device*1.1 < c.cpu }

// saves returns how much less time than the CPU devices are expected to take for `rows` rows.
func (c comparison) saves(rows int64) time.Duration {
	return time.Duration((c.cpu - c.device) * float64(rows))
}

// fastestLink returns the speed of the fastest link that was measured on this machine, in bytes a
// second, and the speed of PCIe 5 where no link was measured.
func (r *rates) fastestLink() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	const pcie5 = 50e9
	fastest := 0.0
	for _, speed := range r.seen.Link {
		fastest = max(fastest, speed)
	}
	return cmp.Or(fastest, pcie5)
}

// deviceStart is how long a query takes on a device beside its rows: for memory and streams.
const deviceStart = 20 * time.Millisecond
