//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/testknobs"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/kernels"
	_ "github.com/mpga/mpga/kernels/cuda"
)

var (
	sizeDevice   = flag.String("device", "", "a device, as engine.Options has it, in place of the host's double of one")
	sizeSeed     = flag.Uint64("seed", 0, "of the random statements; 0 takes the time")
	sizeRows     = flag.Int("rows", 100_000, "of the table that random statements are asked of")
	sizeQueries  = flag.Int64("queries", 16, "how many answers of devices are compared")
	sizeTogether = flag.Int("together", 2, "how many statements are asked at once")
	sizeFor      = flag.Duration("for", time.Hour, "ends the test early, and says how many answers it has compared")
)

// Random statements at the size of real tables, over record batches and Parquet, several engines at
// once, each with little of a device's memory: their answers are those of the CPU's route. Would
// catch what only many copies, full tables and partitions of a device show, and queries that take
// each other's memory.
func TestDeviceSize(t *testing.T) {
	if *sizeDevice != "" {
		if _, err := kernels.Devices(); err != nil {
			t.Skip(err)
		}
	}
	s := &sizeTest{seed: *sizeSeed, deadline: time.Now().Add(*sizeFor)}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("again: -seed %d -rows %d -queries %d -together %d -device %q", s.seed, *sizeRows, *sizeQueries, *sizeTogether, *sizeDevice)
	s.makeTable(t)
	var workers sync.WaitGroup
	for w := range *sizeTogether {
		workers.Go(func() { s.work(t, rand.New(rand.NewPCG(s.seed, uint64(w)))) })
	}
	workers.Wait()
	t.Logf("%d answers compared, %d of a device alone or with the CPU, %d cancelled, in %v", s.asked.Load(), s.devices.Load(), s.cancelled.Load(),
		time.Since(s.deadline.Add(-*sizeFor)).Round(time.Second))
	for route, n := range s.routes.byName() {
		t.Logf("%6d %s", n, route)
	}
	if s.devices.Load() < s.asked.Load()/4 {
		t.Errorf("only %d of %d answers were a device's", s.devices.Load(), s.asked.Load())
	}
}

// sizeTest is one run of TestDeviceSize.
type sizeTest struct {
	seed     uint64
	deadline time.Time
	sources  []scan.Source // of the same rows

	asked, devices, cancelled atomic.Int64
	routes                    counts
}

// counts counts by name.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[name]++
}

func (c *counts) byName() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of
}

// makeTable makes the rows, in memory and as a Parquet file.
func (s *sizeTest) makeTable(t *testing.T) {
	schema, batches := sizeTable(*sizeRows, s.seed)
	path := filepath.Join(t.TempDir(), "t.parquet")
	w, err := sink.Create(t.Context(), path, schema, sink.Options{RowGroupRows: 250_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	file, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.sources = []scan.Source{scan.Batches(schema, batches), file}
}

// statementsOfEngine is how many statements are asked of an engine before others with other options
// take its place.
const statementsOfEngine = 8

// work asks statements until there have been enough.
func (s *sizeTest) work(t *testing.T, rng *rand.Rand) {
	for s.more(t) {
		cpu, err := engine.Open(engine.Options{Device: "cpu"})
		if err != nil {
			t.Error(err)
			return
		}
		var list []*sizeEngine
		for range 2 {
			e, err := openSizeEngine(rng)
			if err != nil {
				t.Error(err)
				break
			}
			list = append(list, e)
		}
		for range statementsOfEngine {
			if s.more(t) && len(list) == 2 {
				s.statement(t, rng, cpu, list)
			}
		}
		for _, e := range append(list, &sizeEngine{Engine: cpu}) {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// more reports whether further statements are to be asked.
func (s *sizeTest) more(t *testing.T) bool {
	return !t.Failed() && s.asked.Load() < *sizeQueries && time.Now().Before(s.deadline)
}

// sizeEngine is an engine with a device, and what it was opened with.
type sizeEngine struct {
	*engine.Engine
	text string
}

// openSizeEngine opens an engine with random limits of a device.
func openSizeEngine(rng *rand.Rand) (*sizeEngine, error) {
	// Of 3e7 rows, from far less than the smallest table to more than all rows.
	limit := int64(64<<20) << rng.IntN(6)
	limit += limit / 4 * rng.Int64N(4)
	name := *sizeDevice
	if name == "" {
		limit = max(limit*int64(*sizeRows)/30_000_000, 1<<20)
		name = fmt.Sprintf("host:%dB", limit)
	}
	opt := engine.Options{Device: name, DeviceMemoryLimit: limit, Threads: []int{0, 2, 5}[rng.IntN(3)]}
	knobs := testknobs.Engine{Device: testknobs.Device{Streams: []int{0, 0, 2, 6}[rng.IntN(4)]}}
	if rng.IntN(4) == 0 {
		knobs.Device.RadixBits = 1 + rng.IntN(9)
	}
	if rng.IntN(4) == 0 {
		knobs.Device.Groups = []int64{1, 1000, 1 << 20, 1 << 40}[rng.IntN(4)]
	}
	if rng.IntN(4) == 0 {
		knobs.Device.PinnedBytes = int64(*sizeRows) << rng.IntN(6)
	}
	e, err := engine.Open(testknobs.With(opt, knobs))
	return &sizeEngine{e, fmt.Sprintf("%+v, %+v", opt, knobs.Device)}, err
}

// statement compares the answers of devices to one statement with that of the CPU.
func (s *sizeTest) statement(t *testing.T, rng *rand.Rand, cpu *engine.Engine, engines []*sizeEngine) {
	text := sizeStatement(rng)
	want, _, err := digestOf(t.Context(), cpu, s.sources[0], text, 0)
	if err != nil {
		t.Errorf("%s: of the CPU: %v", text, err)
		return
	}
	for _, e := range engines {
		for i, src := range s.sources {
			if !s.more(t) {
				return
			}
			batches := 0
			if rng.IntN(20) == 0 {
				batches = 1 + rng.IntN(3)
			}
			got, stats, err := digestOf(t.Context(), e.Engine, src, text, batches)
			s.asked.Add(1)
			if errors.Is(err, errEndedEarly) {
				s.cancelled.Add(1)
				continue
			}
			if err != nil || got != want {
				if bug := new(engine.PanicError); errors.As(err, &bug) {
					t.Logf("%s", bug.Stack)
				}
				t.Errorf("%s\nsource %d, %s\n%+v, want %+v, %v\n%+v", text, i, e.text, got, want, err, stats.Device)
				return
			}
			route := stats.Route
			if d := stats.Device; d != nil && d.Rows > 0 {
				s.devices.Add(1)
				route += ": " + strings.Join(d.Routes, ", ")
			}
			s.routes.add(route)
		}
	}
}

// digest is what is compared of a result whose order is not promised.
type digest struct {
	rows int64
	sum  uint64 // of the hashes of rows
}

// errEndedEarly says that a result was released before its end.
var errEndedEarly = errors.New("ended early")

// digestOf answers a statement. It ends it after so many batches, if that is not 0.
func digestOf(ctx context.Context, eng *engine.Engine, src scan.Source, text string, batches int) (d digest, stats engine.Stats, err error) {
	q, err := prepared(ctx, eng, src, text)
	if err != nil {
		return d, stats, err
	}
	defer q.Close()
	r, err := q.Run(ctx)
	if err != nil {
		return d, stats, err
	}
	defer r.Release()
	var hashes []uint64
	for r.Next() {
		batch := r.RecordBatch()
		hashes = hashRows(hashes[:0], batch)
		d.rows += batch.NumRows()
		for _, h := range hashes {
			d.sum += h
		}
		if batches--; batches == 0 {
			return d, stats, errEndedEarly
		}
	}
	return d, r.Stats(), r.Err()
}
