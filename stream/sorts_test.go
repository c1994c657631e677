package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// sortedState is what a group of folds that sort comes to: how many different values there are, and the median,
// of the values that may be NULL; and the rows.
type sortedState struct{ distinct, valid, median, rows uint64 }

// sortedAnswer gathers what a run gives of folds that sort: groups, and rows by key.
type sortedAnswer struct {
	mu     sync.Mutex
	groups map[uint64]sortedState
	rows   map[uint64][]int64
	nulls  map[uint64]int
	onCPU  []bool // by partition, once the input has ended
	err    error
}

func (a *sortedAnswer) emit(_ context.Context, g *stream.Groups) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	word := func(fold, at int) uint64 { return binary.LittleEndian.Uint64(g.States[fold][8*at:]) }
	for i := range g.Count {
		k := binary.LittleEndian.Uint64(g.Keys[8*i:])
		if _, twice := a.groups[k]; twice {
			a.err = errors.New("a key is emitted twice: M2")
		}
		a.groups[k] = sortedState{word(0, i), word(1, 3*i), word(1, 3*i+1), word(2, i)}
	}
	return g.Release()
}

func (a *sortedAnswer) takeRows(_ context.Context, t *stream.Tile) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range t.Rows {
		k := binary.LittleEndian.Uint64(t.Keys[8*i:])
		if t.Valid[1][i/32]>>(i%32)&1 == 0 {
			a.nulls[k]++
			continue
		}
		a.rows[k] = append(a.rows[k], int64(binary.LittleEndian.Uint64(t.Columns[1][8*i:])))
	}
	return nil
}

// stateOf returns the state of a group of values and NULLs.
func stateOf(values []int64, nulls int) sortedState {
	slices.Sort(values)
	s := sortedState{valid: uint64(len(values)), rows: uint64(len(values) + nulls)}
	if n := len(values); n > 0 {
		s.median = uint64(values[max(n-int(math.Floor(float64(n)/2)), 1)-1]) ^ 1<<63
	}
	s.distinct = uint64(len(slices.Compact(slices.Clone(values))))
	return s
}

// Folds that need all values of a group are aggregated by devices where a partition is theirs alone, and by
// the CPU, which gets the rows, where it has some of them, or a group is too large.
func TestSorts(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, groups int
		heavy        float64
		memory       int64
		pinned       int64
		devices      int
		radix        int
		allOnDevice  bool
	}{
		{"one set", 50_000, 1000, 0, 64 << 20, 0, 1, 0, true},
		{"all rows differ", 50_000, 1 << 30, 0, 64 << 20, 0, 1, 0, true},
		{"partitions leave", 100_000, 1000, 0, 4 << 20, 0, 1, 6, true},
		{"two devices", 100_000, 1000, 0, 4 << 20, 0, 2, 6, true},
		{"sets are split", 200_000, 10_000, 0, 4 << 20, 0, 1, 1, true},
		{"a group is too large", 200_000, 10_000, 0.5, 2 << 20, 0, 1, 2, false},
		{"all groups are too large", 200_000, 3, 0, 2 << 20, 0, 1, 1, false},
		{"no pinned memory", 200_000, 10_000, 0, 4 << 20, 2 << 20, 1, 6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			in := makeInput(rand.New(rand.NewPCG(9, 10)), c.rows, c.groups, 8, c.heavy)
			for i := range in.others {
				in.others[i] >>= 56 // values come again
			}
			devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: c.pinned})
			a := &sortedAnswer{groups: map[uint64]sortedState{}, rows: map[uint64][]int64{}, nulls: map[uint64]int{}}
			opt := stream.Options{
				Devices: devices, Rows: int64(c.rows), RadixBits: c.radix, TakeRows: a.takeRows,
				TakeStates: func(context.Context, *stream.Groups) error { return errors.New("states cannot be merged") },
				OnCPU:      func(p int) bool { return a.onCPU[p] },
			}
			opt.Shape, opt.Nullable = in.shape()
			opt.Shape.Folds = []kernels.Fold{
				{Op: kernels.CountDistinct, Column: 1, Other: -1},
				{Op: kernels.QuantileDisc, Column: 1, Other: -1, Fraction: 0.5},
				{Op: kernels.Count, Column: -1, Other: -1},
			}
			counters := runSorted(t, in, opt, a)
			closeAll(t, devices)
			t.Logf("%+v", counters)
			checkSorted(t, in, a)
			if back := counters.RowsOut; c.allOnDevice != (back == 0) {
				t.Errorf("the CPU got %d of %d rows", back, c.rows)
			}
		})
	}
}

// runSorted sends the input through a run, whose answer it gathers.
func runSorted(t *testing.T, in *input, opt stream.Options, a *sortedAnswer) stream.Counters {
	t.Helper()
	r, err := stream.New(context.Background(), opt)
	if err == nil {
		err = errors.Join(in.submit(r, 3), r.EndInput())
	}
	radix := partition.Radix(r.RadixBits())
	a.onCPU = make([]bool, radix.FanOut())
	for _, k := range slices.Concat(slices.Collect(maps.Keys(a.rows)), slices.Collect(maps.Keys(a.nulls))) {
		var hash [1]uint64
		partition.HashKeys1([]uint64{k}, opt.Seed, hash[:])
		a.onCPU[radix.Of(hash[0])] = true
	}
	if err == nil {
		err = r.Process(a.emit)
	}
	counters := r.Counters()
	released, releaseErr := r.Release()
	<-released
	if err = errors.Join(err, releaseErr, a.err); err != nil {
		t.Fatal(err)
	}
	return counters
}

// checkSorted compares an answer with the oracle: a key is emitted, or the CPU has all of its rows.
func checkSorted(t *testing.T, in *input, a *sortedAnswer) {
	t.Helper()
	values, nulls := map[uint64][]int64{}, map[uint64]int{}
	for i, k := range in.keys {
		if in.valid[i] {
			values[k] = append(values[k], in.others[i])
		} else {
			nulls[k]++
			values[k] = append(values[k], []int64{}...) // the key is there
		}
	}
	for k := range values {
		got, emitted := a.groups[k]
		switch left := len(a.rows[k]) + a.nulls[k]; {
		case emitted && left > 0:
			t.Fatalf("key %d is emitted, and the CPU has %d of its rows", k, left)
		case !emitted:
			got = stateOf(a.rows[k], a.nulls[k])
		}
		if want := stateOf(values[k], nulls[k]); got != want {
			t.Fatalf("key %d: %+v, want %+v", k, got, want)
		}
		delete(a.groups, k)
	}
	if len(a.groups) > 0 {
		t.Errorf("%d keys that no row has", len(a.groups))
	}
}
