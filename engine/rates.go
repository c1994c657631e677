package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mpga/mpga/stream"
)

// rates are what the machine was seen to do: which of CPU and device is to work is decided by them. They are
// measured when a device is first used, follow what queries take, and are kept between processes.
type rates struct {
	mu   sync.Mutex
	file string // "" keeps nothing
	log  *slog.Logger
	seen measured
}

// measured is what the file of rates holds.
type measured struct {
	// Link is the bytes a second to each device, by UUID.
	Link map[string]float64 `json:"link_bytes_per_second"`
	// Fill is the nanoseconds of a thread that a row takes on its way to a device, by bytes of the row.
	Fill float64 `json:"fill_nanos_per_byte"`
	// CPU is the nanoseconds of a thread that a row takes where the CPU aggregates, by decimal digits of
	// the number of groups.
	CPU [cpuRates]float64 `json:"cpu_nanos_per_row"`
}

const cpuRates = 10

// ratesBefore are taken for a machine that was not measured: cores of an AMD EPYC, Zen 4; bench.
var ratesBefore = measured{
	Fill: 0.3,
	CPU:  [cpuRates]float64{2.4, 2.4, 2.4, 2.4, 3, 4, 13, 19, 40, 60},
}

// ratesFile returns where rates are kept: in the user's cache.
func ratesFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mpga", "rates.json")
}

// newRates reads what was kept. A file that makes no sense is as good as none.
func newRates(file string, log *slog.Logger) *rates {
	r := &rates{file: file, log: log, seen: ratesBefore}
	r.seen.Link = map[string]float64{}
	if file == "" {
		return r
	}
	text, err := os.ReadFile(file)
	if err == nil {
		kept := r.seen
		kept.Link = map[string]float64{}
		if err = json.Unmarshal(text, &kept); err == nil && kept.valid() {
			r.seen = kept
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Debug("rates of the machine", slog.String("file", file), slog.Any("error", err))
	}
	return r
}

func (m *measured) valid() bool {
	ok := func(v float64) bool { return v > 0 && v < 1e15 }
	for _, v := range m.Link {
		if !ok(v) {
			return false
		}
	}
	for _, v := range m.CPU {
		if !ok(v) {
			return false
		}
	}
	return ok(m.Fill) && m.Link != nil
}

// save keeps the rates, if there is a place for them.
func (r *rates) save() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == "" || len(r.seen.Link) == 0 {
		return // nothing to choose from
	}
	text, err := json.MarshalIndent(&r.seen, "", "  ")
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(r.file), 0o755); err == nil {
			err = stream.WriteFile(stream.OS, r.file, append(text, '\n'))
		}
	}
	if err != nil {
		r.log.Debug("rates of the machine", slog.String("file", r.file), slog.Any("error", err))
	}
}

// follow moves a rate towards what was seen.
func (r *rates) follow(rate *float64, seen float64) {
	if seen <= 0 || math.IsInf(seen, 0) || math.IsNaN(seen) {
		return
	}
	const weight = 4
	*rate += (seen - *rate) / weight
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

// sawCPU notes what a query on the CPU took: of all its threads, decoding included.
func (r *rates) sawCPU(rows, groups int64, threads int, elapsed time.Duration) {
	if rows < rateRowsMin {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(&r.seen.CPU[groupClass(groups)], float64(elapsed)*float64(threads)/float64(rows))
}

// sawDevice notes what a query on a device took to get its rows there.
func (r *rates) sawDevice(uuid string, bytes int64, threads int, filling, copying time.Duration) {
	if bytes < rateRowsMin {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(&r.seen.Fill, float64(filling)*float64(threads)/float64(bytes))
	if old, known := r.seen.Link[uuid]; known && copying > 0 {
		r.follow(&old, float64(bytes)/copying.Seconds())
		r.seen.Link[uuid] = old
	}
}

// rateRowsMin is how many rows or bytes a query has at least that rates are learnt from.
const rateRowsMin = 1 << 20

// link returns the speed of the link to a device; the first time it is measured.
func (r *rates) link(uuid string, measure func() (float64, error)) (float64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if speed, known := r.seen.Link[uuid]; known {
		return speed, nil
	}
	speed, err := measure()
	if err == nil {
		r.seen.Link[uuid] = speed
	}
	return speed, err
}

// cpuTime returns how long the CPU is expected to take.
func (r *rates) cpuTime(rows, groups int64, threads int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.seen.CPU[groupClass(groups)] / float64(threads) * float64(rows))
}

// deviceWins reports whether rows are expected to be aggregated sooner by devices, with the reason.
func (r *rates) deviceWins(rows, rowBytes, groups int64, threads int, link float64) (wins bool, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	class := groupClass(groups)
	cpu := r.seen.CPU[class] / float64(threads)
	filling := r.seen.Fill * float64(rowBytes) / float64(threads)
	copying := float64(rowBytes) / link * 1e9
	device := max(filling, copying)
	const margin = 1.1 // what is no faster than that is left to the CPU
	wins = device*margin+deviceStart/float64(max(rows, 1)) < cpu
	return wins, fmt.Sprintf("about %d groups: %.2g ns a row on the CPU, %.2g on the device (link %.2g, filling %.2g)", groups, cpu, device, copying, filling)
}

// deviceStart is what a query takes on a device beside its rows, in nanoseconds: memory and streams.
const deviceStart = 20e6
