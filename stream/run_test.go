package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// input is rows with a key, a value, and a value that may be NULL.
type input struct {
	keyBytes int
	sumOnly  bool // of the first value: a table may be packed
	keys     []uint64
	values   []uint32
	others   []int64
	valid    []bool
	encoded  *encodedInput // the rows as pages; nil: tiles are not encoded
}

func makeInput(rng *rand.Rand, rows, groups, keyBytes int, heavy float64) *input {
	in := &input{keyBytes: keyBytes}
	for range rows {
		key := rng.Uint64N(uint64(groups)) * 0x9E3779B97F4A7C15 >> 32
		if rng.Float64() < heavy {
			key = 7
		}
		in.keys = append(in.keys, key)
		in.values = append(in.values, rng.Uint32())
		in.others = append(in.others, int64(rng.Uint64()))
		in.valid = append(in.valid, rng.IntN(4) > 0)
	}
	return in
}

func (in *input) shape() (kernels.Shape, []bool) {
	if in.sumOnly {
		return kernels.Shape{
			KeyBytes: in.keyBytes,
			Columns:  []kernels.ColumnType{kernels.Uint32},
			Folds:    []kernels.Fold{{Op: kernels.Sum64, Column: 0, Other: -1}},
		}, []bool{false}
	}
	return kernels.Shape{
		KeyBytes: in.keyBytes,
		Columns:  []kernels.ColumnType{kernels.Uint32, kernels.Int64},
		Folds: []kernels.Fold{
			{Op: kernels.Sum64, Column: 0, Other: -1},
			{Op: kernels.Count, Column: -1, Other: -1},
			{Op: kernels.Sum128, Column: 1, Other: -1},
			{Op: kernels.Count, Column: 1, Other: -1},
		},
	}, []bool{false, true}
}

// state is what a group of the input comes to.
type state struct {
	sum, rows uint64
	low       uint64 // of the sum of others, modulo 2^64
	valid     uint64
}

func (s *state) add(o state) {
	s.sum, s.rows, s.low, s.valid = s.sum+o.sum, s.rows+o.rows, s.low+o.low, s.valid+o.valid
}

func (in *input) oracle() map[uint64]state {
	m := map[uint64]state{}
	for i, k := range in.keys {
		s := m[k]
		row := state{sum: uint64(in.values[i])}
		if !in.sumOnly {
			row.rows = 1
		}
		if !in.sumOnly && in.valid[i] {
			row.low, row.valid = uint64(in.others[i]), 1
		}
		s.add(row)
		m[k] = s
	}
	return m
}

// answer gathers what a run gives.
type answer struct {
	mu      sync.Mutex
	final   map[uint64]state
	others  map[uint64]state
	ended   bool            // the input
	late    map[uint64]bool // keys of others that came after that
	largest int             // bytes of a set of groups
	err     error
}

func newAnswer() *answer {
	return &answer{final: map[uint64]state{}, others: map[uint64]state{}, late: map[uint64]bool{}}
}

// take adds to what the CPU has of a key.
func (a *answer) take(k uint64, s state) {
	sum := a.others[k]
	sum.add(s)
	a.others[k] = sum
	if a.ended {
		a.late[k] = true
	}
}

func (a *answer) keyAt(b []byte, i, keyBytes int) uint64 {
	if keyBytes == 4 {
		return uint64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return binary.LittleEndian.Uint64(b[keyBytes*i:])
}

func (a *answer) eachGroup(g *stream.Groups, keyBytes int, f func(uint64, state)) {
	bytes := len(g.Keys)
	for _, states := range g.States {
		bytes += len(states)
	}
	a.largest = max(a.largest, bytes)
	word := func(fold, words, i int) uint64 { return binary.LittleEndian.Uint64(g.States[fold][8*words*i:]) }
	for i := range g.Count {
		if len(g.States) == 1 {
			f(a.keyAt(g.Keys, i, keyBytes), state{sum: word(0, 1, i)})
			continue
		}
		f(a.keyAt(g.Keys, i, keyBytes), state{sum: word(0, 1, i), rows: word(1, 1, i), low: word(2, 2, i), valid: word(3, 1, i)})
	}
}

func (a *answer) emit(keyBytes int) func(context.Context, *stream.Groups) error {
	return func(_ context.Context, g *stream.Groups) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.eachGroup(g, keyBytes, func(k uint64, s state) {
			if _, twice := a.final[k]; twice {
				a.err = errors.New("a key is emitted twice: M2")
			}
			a.final[k] = s
		})
		return g.Release()
	}
}

func (a *answer) takeStates(keyBytes int) func(context.Context, *stream.Groups) error {
	return func(_ context.Context, g *stream.Groups) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.eachGroup(g, keyBytes, a.take)
		return nil
	}
}

func (a *answer) takeRows(keyBytes int) func(context.Context, *stream.Tile) error {
	return func(_ context.Context, t *stream.Tile) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		for i := range t.Rows {
			k := a.keyAt(t.Keys, i, keyBytes)
			row := state{sum: uint64(binary.LittleEndian.Uint32(t.Columns[0][4*i:]))}
			if len(t.Columns) == 1 {
				a.take(k, row)
				continue
			}
			row.rows = 1
			if t.Valid[1][i/32]>>(i%32)&1 != 0 {
				row.low, row.valid = binary.LittleEndian.Uint64(t.Columns[1][8*i:]), 1
			}
			a.take(k, row)
		}
		return nil
	}
}

// fill copies rows to a tile.
func (in *input) fill(t *stream.Tile, from, to int) {
	t.Rows = to - from
	for i := range t.Rows {
		row := from + i
		if in.keyBytes == 4 {
			binary.LittleEndian.PutUint32(t.Keys[4*i:], uint32(in.keys[row]))
		} else {
			clear(t.Keys[in.keyBytes*i : in.keyBytes*(i+1)])
			binary.LittleEndian.PutUint64(t.Keys[in.keyBytes*i:], in.keys[row])
		}
		binary.LittleEndian.PutUint32(t.Columns[0][4*i:], in.values[row])
		if in.sumOnly {
			continue
		}
		binary.LittleEndian.PutUint64(t.Columns[1][8*i:], uint64(in.others[row]))
		if i%32 == 0 {
			t.Valid[1][i/32] = 0
		}
		if in.valid[row] {
			t.Valid[1][i/32] |= 1 << (i % 32)
		}
	}
}

// submit sends the input to a run, by so many goroutines.
func (in *input) submit(r *stream.Run, fillers int) error {
	var group errgroup.Group
	for f := range fillers {
		group.Go(func() error {
			from, end := len(in.keys)*f/fillers, len(in.keys)*(f+1)/fillers
			for from < end {
				t, err := r.Tile(context.Background())
				if err != nil {
					return err
				}
				to := min(from+in.encoded.room(t), end)
				if submitted := in.encoded.submit(in, r, t, from, to); submitted != nil {
					err = *submitted
				} else {
					in.fill(t, from, to)
					err = r.Submit(t)
				}
				if err != nil {
					return err
				}
				from = to
			}
			return nil
		})
	}
	return group.Wait()
}

// run sends the input through a run.
func run(in *input, opt stream.Options, fillers int) (a *answer, c stream.Counters, err error) {
	return runSilent(in, opt, fillers, func() {})
}

// runSilent is run with devices that may not answer until it asks them to, once it has released the
// run.
func runSilent(in *input, opt stream.Options, fillers int, answers func()) (a *answer, c stream.Counters, err error) {
	a = newAnswer()
	opt.Shape, opt.Nullable = in.shape()
	if opt.Rows == 0 {
		opt.Rows = int64(len(in.keys))
	}
	opt.TakeRows, opt.TakeStates = a.takeRows(in.keyBytes), a.takeStates(in.keyBytes)
	if opt.Parts != nil {
		opt.Shape.Folds = nil
	}
	if in.encoded != nil {
		opt.Decode = in.encoded.decoding(in, a)
	}
	r, newErr := stream.New(context.Background(), opt)
	defer func() {
		c = r.Counters()
		released, releaseErr := r.Release()
		err = errors.Join(err, releaseErr)
		if !errors.Is(err, stream.ErrTimeout) {
			<-released
			return
		}
		select {
		case <-released:
			err = errors.New("released before the device has answered")
		default:
			answers()
			<-released
		}
	}()
	if newErr != nil {
		return a, c, newErr
	}
	if err := in.submit(r, fillers); err != nil {
		return a, c, err
	}
	if err := r.AwaitDecoded(); err != nil {
		return a, c, err
	}
	if err := r.EndInput(); err != nil {
		return a, c, err
	}
	a.ended = true
	if err := r.Process(a.emit(in.keyBytes)); err != nil {
		return a, c, err
	}
	for k := range a.late {
		if _, emitted := a.final[k]; emitted {
			a.err = errors.New("the CPU gets a part of a key that is emitted after the input has ended: M2")
		}
	}
	return a, c, a.err
}

// check compares an answer with the oracle: M1.
func check(t *testing.T, in *input, a *answer) {
	t.Helper()
	want := in.oracle()
	got := maps.Clone(a.final)
	for k, s := range a.others {
		sum := got[k]
		sum.add(s)
		got[k] = sum
	}
	if len(got) != len(want) {
		t.Fatalf("%d groups, want %d", len(got), len(want))
	}
	for k, s := range want {
		if got[k] != s {
			t.Fatalf("key %d: %+v, want %+v", k, got[k], s)
		}
	}
}

// openHosts returns so many devices.
func openHosts(t *testing.T, n int, o hostdevice.Options) (devices []kernels.Device) {
	for range n {
		devices = append(devices, openHost(t, o))
	}
	return devices
}

func openHost(t *testing.T, o hostdevice.Options) kernels.Device {
	t.Helper()
	d, err := hostdevice.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeAll(t *testing.T, devices []kernels.Device) {
	t.Helper()
	for _, d := range devices {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRoutes(t *testing.T) {
	for i, c := range []struct {
		name         string
		rows, groups int
		heavy        float64
		memory       int64
		pinned       int64
		devices      int
		keyBytes     int
		estimate     int64
		last         stream.Route
		radix        int
	}{
		{"few groups", 200_000, 10, 0, 16 << 20, 0, 1, 4, 0, stream.RouteAggregate, 0},
		{"one table", 200_000, 20_000, 0, 16 << 20, 0, 1, 4, 0, stream.RouteTable, 0},
		{"a table on each of two devices", 200_000, 20_000, 0, 16 << 20, 0, 2, 4, 0, stream.RouteTable, 0},
		{"tables of two devices, too much for one", 60_000, 1 << 30, 0, 4 << 20, 0, 2, 4, 30_000, stream.RouteTable, 0},
		{"a table and partitions", 400_000, 80_000, 0, 4 << 20, 0, 1, 4, 0, stream.RouteHybrid, 0},
		{"a table and partitions, heavy key", 400_000, 80_000, 0.3, 4 << 20, 0, 1, 8, 0, stream.RouteHybrid, 0},
		{"a table and partitions, no pinned memory", 400_000, 80_000, 0, 4 << 20, 3 << 20, 1, 16, 0, stream.RouteHybrid, 0},
		{"a table and partitions expected, all differ", 200_000, 1 << 30, 0, 4 << 20, 0, 1, 4, 45_000, stream.RouteHybrid, 0},
		{"a table on each of two devices, full", 200_000, 1 << 30, 0, 4 << 20, 0, 2, 4, 10_000, stream.RouteHybrid, 0},
		{"partitions stay", 100_000, 100_000, 0, 16 << 20, 0, 1, 8, 1 << 40, stream.RouteScatter, 0},
		{"partitions leave", 200_000, 200_000, 0, 4 << 20, 0, 1, 4, 0, stream.RouteScatter, 0},
		{"two devices", 200_000, 200_000, 0, 4 << 20, 0, 2, 8, 0, stream.RouteScatter, 0},
		{"no pinned memory", 200_000, 200_000, 0, 4 << 20, 3 << 20, 1, 4, 0, stream.RouteScatter, 0},
		{"one heavy key", 200_000, 200_000, 0.5, 4 << 20, 0, 1, 16, 0, stream.RouteHybrid, 0},
		{"few groups expected, all differ", 200_000, 1 << 30, 0, 4 << 20, 0, 1, 4, 1, stream.RouteHybrid, 0},
		{"a table expected, all differ", 200_000, 1 << 30, 0, 4 << 20, 0, 1, 4, 10_000, stream.RouteHybrid, 0},
		{"partitions are split", 200_000, 1 << 30, 0, 4 << 20, 0, 1, 4, 1 << 30, stream.RouteScatter, 1},
		{"partitions with a heavy key are split", 200_000, 1 << 30, 0.5, 2 << 20, 0, 1, 8, 1 << 30, stream.RouteScatter, 2},
		{"a megabyte", 100_000, 50_000, 0.1, 1 << 20, 0, 1, 24, 0, stream.RouteHybrid, 0},
	} {
		if i%invariants.Fewer(1, 2) != 0 && c.devices == 1 {
			continue // of each route one is left, and all of two devices
		}
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			in := makeInput(rand.New(rand.NewPCG(1, 2)), c.rows, c.groups, c.keyBytes, c.heavy)
			devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: c.pinned})
			a, counters, err := run(in, stream.Options{Devices: devices, Groups: c.estimate, RadixBits: c.radix}, 3)
			closeAll(t, devices)
			if err != nil {
				t.Fatal(err)
			}
			check(t, in, a)
			t.Logf("%+v", counters)
			if got := counters.Routes[len(counters.Routes)-1]; got != c.last {
				t.Errorf("the route is %v, want %v", got, c.last)
			}
			if back := counters.RowsOut + counters.GroupsOut; back > 0 && (c.devices == 1 || c.last == stream.RouteTable && c.estimate == 0) && c.pinned == 0 && counters.Routes[0] != stream.RouteAggregate {
				t.Errorf("the CPU got %d rows and groups", back)
			}
			if counters.DevicePeak > c.memory*int64(c.devices) {
				t.Errorf("%d B of device memory", counters.DevicePeak)
			}
		})
	}
}

// Tables of packed slots hold what others have no room for, and leave in parts; the sum of a heavy
// key is more than its slot has bits for.
func TestPackedTable(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, groups int
		heavy        float64
		estimate     int64
		last         stream.Route
	}{
		{"fits", 400_000, 200_000, 0, 0, stream.RouteTable},
		{"heavy key", 400_000, 200_000, 0.5, 130_000, stream.RouteTable},
		{"full", 400_000, 1 << 30, 0.1, 200_000, stream.RouteHybrid},
		{"partitions expected", 1_000_000, 350_000, 0.1, 0, stream.RouteHybrid},
	}[:invariants.Fewer(4, 3)] {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			in := makeInput(rand.New(rand.NewPCG(7, 8)), c.rows, c.groups, 4, c.heavy)
			in.sumOnly = true
			device := openHost(t, hostdevice.Options{MemoryLimit: 4 << 20})
			a, counters, err := run(in, stream.Options{Devices: []kernels.Device{device}, Groups: c.estimate}, 3)
			closeAll(t, []kernels.Device{device})
			if err != nil {
				t.Fatal(err)
			}
			check(t, in, a)
			if got := counters.Routes[len(counters.Routes)-1]; got != c.last {
				t.Errorf("the route is %v, want %v", got, c.last)
			}
			if back := counters.RowsOut + counters.GroupsOut; back > 0 {
				t.Errorf("the CPU got %d rows and groups", back)
			}
			if counters.DevicePeak > 4<<20 {
				t.Errorf("%d B of device memory", counters.DevicePeak)
			}
		})
	}
}

// Whatever fails, the run ends with ErrDevice, gives everything back, and what was final is true.
func TestFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(3, 4)), 20_000, 20_000, 4, 0)
	boom := errors.New("boom")
	for _, c := range []struct {
		estimate, memory int64
		packed           bool
		healthy          int // devices beside the one that fails
	}{
		{1, 1 << 20, false, 0}, {2000, 1 << 20, false, 0}, {5000, 640 << 10, false, 0}, {1 << 30, 1 << 20, false, 0},
		{15_000, 1 << 20, true, 0}, {15_000, 1 << 20, true, 1},
	} {
		in.sumOnly = c.packed
		want := in.oracle()
		for _, work := range []bool{false, true} {
			var failed atomic.Bool
			failed.Store(true)
			for n := int64(1); failed.Swap(false) && n < 2000; n++ {
				cause := boom
				if n%2 == 0 {
					cause = kernels.ErrDeviceLost
				}
				fail := hostdevice.Noting(&failed, hostdevice.FailNth(n, work, cause))
				device := openHost(t, hostdevice.Options{MemoryLimit: c.memory, Fail: fail})
				devices := []kernels.Device{device}
				for range c.healthy {
					devices = append(devices, openHost(t, hostdevice.Options{MemoryLimit: c.memory}))
				}
				a, _, err := run(in, stream.Options{Devices: devices, Groups: c.estimate}, 1)
				if err == nil {
					check(t, in, a)
				} else if !errors.Is(err, stream.ErrDevice) {
					t.Fatalf("call %d: %v is no ErrDevice", n, err)
				}
				for k, s := range a.final {
					if _, merged := a.others[k]; !merged && want[k] != s {
						t.Fatalf("call %d: key %d: %+v, want %+v", n, k, s, want[k])
					}
				}
				for _, d := range devices {
					if err := d.Close(); err != nil {
						t.Fatalf("estimate %d, call %d, work %v: %v", c.estimate, n, work, err)
					}
				}
				switch {
				case invariants.Race && n > 4:
					n += n / 4
				case testing.Short() && n > 8:
					n += n / 8
				case n > 60:
					n += n / 16
				}
			}
		}
	}
}

// A device that does not answer in time ends the run, and what it has is given back when it does.
func TestTimeout(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(5, 6)), 10_000, 100, 4, 0)
	answers := make(chan struct{})
	device := openHost(t, hostdevice.Options{MemoryLimit: 1 << 20, Fail: func(c hostdevice.Call) error {
		if c.Work {
			<-answers
		}
		return nil
	}})
	_, _, err := runSilent(in, stream.Options{Devices: []kernels.Device{device}, Timeout: 20 * time.Millisecond}, 2, func() { close(answers) })
	if !errors.Is(err, stream.ErrTimeout) || !errors.Is(err, stream.ErrDevice) {
		t.Fatalf("%v, want ErrTimeout", err)
	}
	closeAll(t, []kernels.Device{device})
}

// Whatever call of a driver never returns, and whatever work, the run ends with ErrTimeout, and all
// that the device has is given back once the call has returned.
func TestSilence(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(3, 4)), 3000, 3000, 4, 0)
	for _, c := range []struct {
		estimate int64
		parts    bool
	}{{1, false}, {1500, false}, {1 << 30, false}, {0, true}} {
		for _, work := range []bool{false, true} {
			for n := int64(1); silentAt(t, in, n, work, c.estimate, c.parts) && !t.Failed(); n++ {
				if testing.Short() {
					n += n / 8
				}
			}
		}
	}
}

// silentAt lets the n-th call, or piece of work, block until the run has been released. It returns
// false when there are fewer.
func silentAt(t *testing.T, in *input, n int64, work bool, estimate int64, parts bool) (blocked bool) {
	t.Helper()
	for timeout, busy := 5*time.Millisecond, true; busy; timeout *= 2 {
		blocked, busy = silentFor(t, timeout, in, n, work, estimate, parts)
	}
	return blocked
}

// silentFor is silentAt with a timeout, which on a busy machine may end the run before: then there
// is no telling.
func silentFor(t *testing.T, timeout time.Duration, in *input, n int64, work bool, estimate int64, parts bool) (blocked, busy bool) {
	t.Helper()
	answers := make(chan struct{})
	var reached atomic.Bool
	device := openHost(t, hostdevice.Options{MemoryLimit: 512 << 10, Fail: func(c hostdevice.Call) error {
		if c.Work == work && c.Number == n {
			reached.Store(true)
			<-answers
		}
		return nil
	}})
	a := newAnswer()
	opt := stream.Options{
		Devices: []kernels.Device{device}, Groups: estimate, TileRows: 400, Ablation: stream.Ablation{Streams: 2}, Timeout: timeout, Rows: int64(len(in.keys)),
		TakeRows: a.takeRows(4), TakeStates: a.takeStates(4),
	}
	opt.Shape, opt.Nullable = in.shape()
	if parts {
		opt.Shape.Folds = nil
		opt.Parts = &stream.Parts{Radix: func(int64) int { return 3 }, Take: func(context.Context, *stream.Tile, []uint64) error { return nil }}
	}
	r, err := stream.New(context.Background(), opt)
	if err == nil {
		err = in.submit(r, 1)
	}
	if err == nil {
		err = r.Process(func(_ context.Context, g *stream.Groups) error { return g.Release() })
	}
	released, _ := r.Release()
	if reached.Load() {
		select {
		case <-released:
			t.Errorf("estimate %d, call %d, work %v: released before the device has answered; %v", estimate, n, work, err)
		default:
		}
	}
	close(answers)
	<-released
	if err := device.Close(); err != nil {
		t.Errorf("estimate %d, call %d, work %v: %v", estimate, n, work, err)
	}
	if reached.Load() && err != nil && !errors.Is(err, stream.ErrTimeout) {
		t.Errorf("estimate %d, call %d, work %v: %v, want ErrTimeout", estimate, n, work, err)
	}
	return reached.Load(), !reached.Load() && errors.Is(err, stream.ErrTimeout)
}

// Groups that pinned memory has no room for leave in small sets, whatever the route, and are right.
func TestPinnedBudget(t *testing.T) {
	const pinned = 4 << 20
	for _, c := range []struct {
		memory, estimate int64
		devices          int
		last             stream.Route
	}{
		{64 << 20, 200_000, 1, stream.RouteTable},
		{8 << 20, 20_000, 1, stream.RouteHybrid},
		{64 << 20, 1 << 40, 1, stream.RouteScatter},
		{64 << 20, 200_000, 2, stream.RouteTable},
	}[invariants.Fewer(0, 1):] {
		t.Run(c.last.String(), func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			in := makeInput(rand.New(rand.NewPCG(5, 6)), 200_000, 1<<30, 4, 0)
			devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: pinned})
			a, counters, err := run(in, stream.Options{Devices: devices, Groups: c.estimate, PinnedLimit: pinned}, 2)
			closeAll(t, devices)
			if err != nil {
				t.Fatal(err)
			}
			check(t, in, a)
			if got := counters.Routes[len(counters.Routes)-1]; got != c.last {
				t.Errorf("the route is %v, want %v", got, c.last)
			}
			if a.largest > pinned/4 {
				t.Errorf("a set of groups of %d B; %d B may be pinned", a.largest, pinned)
			}
		})
	}
}

// Would catch pinned memory that is freed while a stream may still write it: a wait that fails
// without having waited.
func TestFailedWaits(t *testing.T) {
	in := makeInput(rand.New(rand.NewPCG(5, 6)), 20_000, 1<<30, 4, 0)
	step := int64(6)
	if testing.Short() {
		step = 2
	}
	for nth := int64(1); !t.Failed(); nth += 1 + nth/step {
		var waits atomic.Int64
		device := openHost(t, hostdevice.Options{
			MemoryLimit: 512 << 10, Latency: 100 * time.Microsecond,
			Report: func(err error) { t.Errorf("wait %d: %v", nth, err) },
			Fail: func(c hostdevice.Call) error {
				if c.Name == "Wait" && waits.Add(1) == nth {
					return errors.New("boom")
				}
				return nil
			},
		})
		_, _, err := run(in, stream.Options{Devices: []kernels.Device{device}, Groups: 1 << 40, TileRows: 2000, RadixBits: 1}, 1)
		closeAll(t, []kernels.Device{device})
		if waits.Load() < nth {
			return
		}
		if !errors.Is(err, stream.ErrDevice) {
			t.Errorf("wait %d: %v, want ErrDevice", nth, err)
		}
	}
}

// Would catch what one device has that is given back while another one, which does not answer,
// copies it.
func TestSilenceOfOne(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for timeout := 100 * time.Millisecond; !silenceOfOne(t, timeout); timeout *= 2 {
		t.Logf("the machine is busy for more than %v", timeout)
	}
}

// silenceOfOne returns false when calls that are answered take longer than the timeout, before
// others are not.
func silenceOfOne(t *testing.T, timeout time.Duration) (answered bool) {
	t.Helper()
	answers := make(chan struct{})
	var processing, reached atomic.Bool
	healthy := openHost(t, hostdevice.Options{MemoryLimit: 2 << 20})
	silent := openHost(t, hostdevice.Options{MemoryLimit: 2 << 20, Fail: func(c hostdevice.Call) error {
		if processing.Load() && c.Work && c.Name == "CopyBatch" {
			reached.Store(true)
			<-answers
		}
		return nil
	}})
	in := makeInput(rand.New(rand.NewPCG(5, 6)), 40_000, 1<<30, 4, 0)
	a := newAnswer()
	opt := stream.Options{
		Devices: []kernels.Device{healthy, silent}, Groups: 1 << 40, Rows: int64(len(in.keys)), Timeout: timeout,
		TileRows: 1000, RadixBits: 4, TakeRows: a.takeRows(4), TakeStates: a.takeStates(4),
	}
	opt.Shape, opt.Nullable = in.shape()
	r, err := stream.New(context.Background(), opt)
	if err == nil {
		err = in.submit(r, 1)
	}
	if err == nil {
		err = r.EndInput()
	}
	if err == nil {
		processing.Store(true)
		err = r.Process(func(_ context.Context, g *stream.Groups) error { return g.Release() })
	}
	if !errors.Is(err, stream.ErrTimeout) {
		t.Errorf("%v, want ErrTimeout", err)
	}
	released, _ := r.Release()
	if !reached.Load() {
		close(answers)
		<-released
		closeAll(t, []kernels.Device{healthy, silent})
		return t.Failed()
	}
	if healthy.Close() == nil {
		t.Error("the blocks of the healthy device are given back, which the silent one copies")
	}
	close(answers)
	<-released
	closeAll(t, []kernels.Device{silent})
	return true
}
