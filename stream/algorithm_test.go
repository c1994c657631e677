package stream_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// parseAlgorithms returns all algorithms but Auto.
func parseAlgorithms(t *testing.T) (list []stream.Algorithm) {
	t.Helper()
	for _, name := range stream.Algorithms()[1:] {
		a, err := stream.ParseAlgorithm(name)
		if err != nil || a.String() != name {
			t.Fatalf("%q is %v: %v", name, a, err)
		}
		list = append(list, a)
	}
	return list
}

// Every algorithm answers by itself what fits the device, and in partitions what does not, whatever part of it is
// changed.
func TestAlgorithms(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i, c := range []struct {
		name         string
		rows, groups int
		heavy        float64
		memory       int64
		pinned       int64
		devices      int
		keyBytes     int
		estimate     int64
	}{
		{"no rows", 0, 1, 0, 16 << 20, 0, 1, 4, 0},
		{"few groups", 100_000, 10, 0, 64 << 20, 0, 1, 4, 0},
		{"all fit", 100_000, 30_000, 0, 64 << 20, 0, 1, 8, 0},
		{"all differ", 60_000, 1 << 30, 0, 64 << 20, 0, 1, 4, 0},
		{"far more groups than expected", 60_000, 1 << 30, 0, 64 << 20, 0, 1, 16, 1},
		{"larger than the memory", 200_000, 60_000, 0.1, 4 << 20, 0, 1, 4, 0},
		{"one heavy key", 200_000, 100_000, 0.6, 2 << 20, 0, 1, 8, 0},
		{"no pinned memory", 200_000, 100_000, 0, 4 << 20, 3 << 20, 1, 4, 0},
		{"two devices", 100_000, 50_000, 0, 4 << 20, 0, 2, 8, 0},
		{"a megabyte", 60_000, 20_000, 0.1, 1 << 20, 0, 1, 24, 0},
	} {
		in := makeInput(rand.New(rand.NewPCG(3, 4)), c.rows, c.groups, c.keyBytes, c.heavy)
		for k, algorithm := range parseAlgorithms(t) {
			if testing.Short() && c.pinned == 0 && (i+k)%invariants.Fewer(3, 5) != 0 {
				continue
			}
			t.Run(fmt.Sprint(c.name, "/", algorithm), func(t *testing.T) {
				devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: c.memory, PinnedLimit: c.pinned})
				defer closeAll(t, devices)
				a, counters, err := run(in, stream.Options{Devices: devices, Groups: c.estimate, Algorithm: algorithm}, 3)
				if shape, _ := in.shape(); algorithm.Takes(&shape, false) != nil {
					if err == nil {
						t.Error("a shape that it does not take is answered")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				check(t, in, a)
				want := stream.RouteScatter
				if algorithm == stream.MPEGA {
					want = stream.RouteGroups
				}
				for _, route := range counters.Routes {
					if route != want {
						t.Errorf("the route is %v", route)
					}
				}
				if all := c.devices == 1 && c.memory == 64<<20; all && algorithm != stream.MPEGA && (counters.Partitions != 1 || counters.Split > 0) {
					t.Errorf("%d partitions, %d of them split, where all rows fit", counters.Partitions, counters.Split)
				}
				if counters.DevicePeak > c.memory*int64(c.devices) {
					t.Errorf("%d B of device memory", counters.DevicePeak)
				}
			})
		}
	}
}

// Ablations change what a run does, and not its answer.
func TestAblations(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(5, 6)), 200_000, 60_000, 8, 0.2)
	runOf := func(algorithm stream.Algorithm, radix int, a stream.Ablation) (c stream.Counters) {
		t.Helper()
		devices := openHosts(t, 1, hostdevice.Options{MemoryLimit: 2 << 20})
		defer closeAll(t, devices)
		answer, c, err := run(in, stream.Options{Devices: devices, Groups: 1 << 20, Algorithm: algorithm, RadixBits: radix, Ablation: a}, 2)
		if err != nil {
			t.Fatalf("%s, %+v: %v", algorithm, a, err)
		}
		check(t, in, answer)
		return c
	}
	for i, algorithm := range append(parseAlgorithms(t), stream.Auto) {
		if testing.Short() && i%invariants.Fewer(3, 8) != 0 {
			continue
		}
		theorem, tail := runOf(algorithm, 0, stream.Ablation{Bound: stream.BoundTheorem}), runOf(algorithm, 0, stream.Ablation{Bound: stream.BoundTail})
		if tail.Partitions > theorem.Partitions || theorem.Sizing.Partitions != theorem.Sizing.Theorem || tail.Sizing.Partitions != tail.Sizing.Tail {
			t.Errorf("%s: %d partitions by the theorem, %d by the tail", algorithm, theorem.Partitions, tail.Partitions)
		}
		merged, apart := runOf(algorithm, 8, stream.Ablation{}), runOf(algorithm, 8, stream.Ablation{NoMerge: true})
		if len(merged.Tasks) >= len(apart.Tasks) || len(apart.Tasks) > 256 {
			t.Errorf("%s: %d sets of partitions, and %d that are not merged", algorithm, len(merged.Tasks), len(apart.Tasks))
		}
		if c := runOf(algorithm, 1, stream.Ablation{Oversized: stream.OversizedFeedback}); c.Rounds == 0 || c.Split > 0 {
			t.Errorf("%s: %d rounds of feedback, %d splits", algorithm, c.Rounds, c.Split)
		}
		if c := runOf(algorithm, 1, stream.Ablation{Oversized: stream.OversizedSplit}); c.Split == 0 {
			t.Errorf("%s: no split", algorithm)
		}
		if c := runOf(algorithm, 1, stream.Ablation{Oversized: stream.OversizedCPU}); c.Split > 0 || c.Rounds > 0 || c.OnCPU == 0 {
			t.Errorf("%s: %d rounds of feedback, %d splits, %d sets for the CPU", algorithm, c.Rounds, c.Split, c.OnCPU)
		}
		few := runOf(algorithm, 1, stream.Ablation{Oversized: stream.OversizedFeedback, LFMin: 0.1, LFMax: 0.2, Streams: 2})
		for _, load := range few.Loads {
			if load > 0.2 {
				t.Errorf("%s: a load factor of %g", algorithm, load)
			}
		}
	}
}

// What an algorithm has no way to do is said before anything runs.
func TestAlgorithmTakes(t *testing.T) {
	shape := func(op kernels.FoldOp, limit int) *kernels.Shape {
		return &kernels.Shape{KeyBytes: 8, Columns: []kernels.ColumnType{kernels.Int64}, Folds: []kernels.Fold{{Op: op, Column: 0, Other: -1, Limit: limit}}}
	}
	wideKey := shape(kernels.Sum128, 0)
	wideKey.KeyBytes = 16
	wide := &kernels.Shape{KeyBytes: 8, Columns: []kernels.ColumnType{kernels.Int64}}
	for range kernels.ColumnsMax + 1 {
		wide.Folds = append(wide.Folds, kernels.Fold{Op: kernels.Sum128, Column: 0, Other: -1})
	}
	for _, c := range []struct {
		algorithm stream.Algorithm
		shape     *kernels.Shape
		ranked    bool
		want      string
	}{
		{stream.Auto, shape(kernels.CountDistinct, 0), false, ""},
		{stream.SGBUR, shape(kernels.QuantileCont, 0), true, ""},
		{stream.SPEGA, shape(kernels.QuantileCont, 0), false, "sp-ega has no values in order, which medians, quantiles and count(DISTINCT) need; sgb-ur has"},
		{stream.HGB, shape(kernels.Max, 0), true, ""},
		{stream.SGBTR, shape(kernels.Moments4, 0), true, ""},
		{stream.SGBTR, wideKey, false, "columns are sorted with keys of up to 8 B, and these have 16; sgb-de and sgb-ur sort by such keys"},
		{stream.SGBDE, wideKey, false, ""},
		{stream.MPEGA, shape(kernels.Sum128, 0), false, ""},
		{stream.MPEGA, shape(kernels.Moments2, 0), false, "states of several values"},
		{stream.MPEGA, shape(kernels.MaxN, 2), false, "states of several values"},
		{stream.MPEGA, shape(kernels.Max, 0), true, "before the order of strings is known"},
		{stream.MPEGA, wide, false, "a column of each of 25 folds, more than the 24"},
	} {
		err := c.algorithm.Takes(c.shape, c.ranked)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, ranked %v: %v, want %q", c.algorithm, c.ranked, err, c.want)
		}
	}
}

// Parts of an algorithm have bounds.
func TestAblationBounds(t *testing.T) {
	for _, c := range []struct {
		ablation stream.Ablation
		want     string
	}{
		{stream.Ablation{}, ""},
		{stream.Ablation{LFMin: 0.9}, ""},
		{stream.Ablation{LFMax: 0.1}, ""},
		{stream.Ablation{LFMin: 0.8, LFMax: 0.6}, "LFMin (0.8) and Ablation.LFMax (0.6) must be in (0, 1], the first below the second"},
		{stream.Ablation{LFMax: 1.01}, "LFMax (1.01)"},
		{stream.Ablation{LFMin: -0.1}, "LFMin (-0.1)"},
		{stream.Ablation{LoadFactor: 1}, ""},
		{stream.Ablation{LoadFactor: 1.5}, "LoadFactor (1.5) must be in (0, 1]"},
		{stream.Ablation{LoadFactor: -1}, "LoadFactor (-1)"},
		{stream.Ablation{Streams: -1}, "Streams (-1) must be in [1, 64]"},
		{stream.Ablation{Streams: 65}, "Streams (65)"},
		{stream.Ablation{Bound: "tails"}, `Bound ("tails") must be one of theorem, tail`},
		{stream.Ablation{Oversized: "gpu"}, `Oversized ("gpu") must be one of feedback, split, cpu`},
	} {
		err := c.ablation.Validate()
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.ablation, err, c.want)
		}
	}
}

// Tiles may have far more groups than the first, and far fewer.
func TestTilesThatDiffer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(7, 8)), 60_000, 1<<30, 8, 0)
	for i := range in.keys[:20_000] {
		in.keys[i] = uint64(i % 3)
	}
	devices := openHosts(t, 1, hostdevice.Options{MemoryLimit: 16 << 20})
	defer closeAll(t, devices)
	a, counters, err := run(in, stream.Options{Devices: devices, TileRows: 4000, Algorithm: stream.MPEGA}, 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, in, a)
	if waiting := counters.Tasks[0]; len(counters.Tasks) != 1 || waiting < 40_000 || waiting > 40_100 {
		t.Errorf("sets of %d groups of tiles", counters.Tasks)
	}
}
