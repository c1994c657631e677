package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// extremes are the least and the greatest rank of a group, and its rows.
type extremes struct{ least, greatest, rows uint64 }

func (e *extremes) add(o extremes) {
	if e.rows == 0 || o.least < e.least {
		e.least = o.least
	}
	e.greatest = max(e.greatest, o.greatest)
	e.rows += o.rows
}

// rankedAnswer gathers what a run gives of ranked values.
type rankedAnswer struct {
	mu    sync.Mutex
	ranks []uint32
	final map[uint64]extremes
	rest  map[uint64]extremes // of rows and groups that the CPU has got
	err   error
}

func (a *rankedAnswer) add(to map[uint64]extremes, k uint64, e extremes) {
	sum := to[k]
	sum.add(e)
	to[k] = sum
}

func (a *rankedAnswer) addGroups(to map[uint64]extremes, g *stream.Groups) {
	a.mu.Lock()
	defer a.mu.Unlock()
	word := func(fold, at int) uint64 { return binary.LittleEndian.Uint64(g.States[fold][8*at:]) }
	for i := range g.Count {
		k := binary.LittleEndian.Uint64(g.Keys[8*i:])
		if _, twice := a.final[k]; twice {
			a.err = errors.New("a key that was emitted comes again")
		}
		a.add(to, k, extremes{word(0, i), word(1, i), word(2, i)})
	}
}

// Where values become ranks, the least and the greatest of a group are by rank, and what the CPU gets are values:
// of partitions that fit, that are loaded one part after the other, that are split, and of tables that are full.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, groups int
		heavy        float64
		memory       int64
		pinned       int64
		devices      int
		radix        int
		estimate     int64
		onCPU        bool
	}{
		{"one set", 50_000, 1000, 0, 64 << 20, 0, 1, 0, 0, false},
		{"partitions leave", 100_000, 1000, 0, 4 << 20, 0, 1, 6, 0, false},
		{"two devices", 100_000, 1000, 0, 4 << 20, 0, 2, 6, 0, false},
		{"one group", 200_000, 1, 0, 2 << 20, 0, 1, 1, 0, false},
		{"sets are split", 200_000, 100_000, 0, 2 << 20, 0, 1, 1, 0, false},
		{"a table is full", 200_000, 100_000, 0, 2 << 20, 0, 1, 1, 10, true},
		{"no pinned memory", 200_000, 10_000, 0, 4 << 20, 2 << 20, 1, 6, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			rng := rand.New(rand.NewPCG(11, 12))
			in := makeInput(rng, c.rows, c.groups, 8, c.heavy)
			a := &rankedAnswer{ranks: []uint32{0}, final: map[uint64]extremes{}, rest: map[uint64]extremes{}}
			for _, v := range rng.Perm(5000) {
				a.ranks = append(a.ranks, uint32(v+1))
			}
			want := map[uint64]extremes{}
			for i := range in.values {
				in.values[i] %= uint32(len(a.ranks))
				rank := uint64(a.ranks[in.values[i]])
				a.add(want, in.keys[i], extremes{rank, rank, 1})
			}
			devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: c.pinned})
			opt := stream.Options{Devices: devices, Rows: int64(c.rows), RadixBits: c.radix, Groups: c.estimate, Ranked: []int{0}}
			opt.Shape, opt.Nullable = in.shape()
			opt.Shape.Folds = []kernels.Fold{
				{Op: kernels.Min, Column: 0, Other: -1}, {Op: kernels.Max, Column: 0, Other: -1}, {Op: kernels.Count, Column: -1, Other: -1},
			}
			opt.Ranks = func(context.Context, int) ([]uint32, error) { return a.ranks, nil }
			opt.TakeStates = func(_ context.Context, g *stream.Groups) error {
				a.addGroups(a.rest, g)
				return nil
			}
			opt.TakeRows = func(_ context.Context, tile *stream.Tile) error {
				a.mu.Lock()
				defer a.mu.Unlock()
				for i := range tile.Rows {
					rank := uint64(a.ranks[binary.LittleEndian.Uint32(tile.Columns[0][4*i:])])
					a.add(a.rest, binary.LittleEndian.Uint64(tile.Keys[8*i:]), extremes{rank, rank, 1})
				}
				return nil
			}
			r, err := stream.New(context.Background(), opt)
			if err == nil {
				err = errors.Join(in.submit(r, 3), r.Process(func(_ context.Context, g *stream.Groups) error {
					a.addGroups(a.final, g)
					return g.Release()
				}))
			}
			counters := r.Counters()
			released, releaseErr := r.Release()
			<-released
			if err = errors.Join(err, releaseErr, a.err); err != nil {
				t.Fatal(err)
			}
			closeAll(t, devices)
			t.Logf("%+v", counters)
			if got := counters.RowsOut > 0; got != c.onCPU {
				t.Errorf("the CPU got %d rows, and %d groups", counters.RowsOut, counters.GroupsOut)
			}
			for k, e := range a.rest {
				a.add(a.final, k, e)
			}
			for k, e := range want {
				if got := a.final[k]; got != e {
					t.Fatalf("key %d: %+v, want %+v", k, got, e)
				}
			}
			if len(a.final) != len(want) {
				t.Errorf("%d groups, want %d", len(a.final), len(want))
			}
		})
	}
}

// An error of the ranks is the run's.
func TestRanksFail(t *testing.T) {
	devices := []kernels.Device{openHost(t, hostdevice.Options{MemoryLimit: 16 << 20})}
	in := makeInput(rand.New(rand.NewPCG(11, 13)), 1000, 10, 8, 0)
	opt := stream.Options{Devices: devices, Ranked: []int{0}}
	opt.Shape, opt.Nullable = in.shape()
	cause := errors.New("no ranks")
	opt.Ranks = func(context.Context, int) ([]uint32, error) { return nil, cause }
	opt.TakeStates = func(context.Context, *stream.Groups) error { return nil }
	opt.TakeRows = func(context.Context, *stream.Tile) error { return nil }
	r, err := stream.New(context.Background(), opt)
	if err == nil {
		err = errors.Join(in.submit(r, 1), r.Process(func(_ context.Context, g *stream.Groups) error { return g.Release() }))
	}
	if !errors.Is(err, cause) || errors.Is(err, stream.ErrDevice) {
		t.Errorf("error %v", err)
	}
	released, err := r.Release()
	<-released
	if err != nil {
		t.Error(err)
	}
	closeAll(t, devices)
}
