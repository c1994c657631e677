package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/stream"
)

// Far more groups than were expected must only cost time: plans are made again, and tables that are
// too small leave the rest to the CPU.
func TestTooFewGroupsExpected(t *testing.T) {
	for _, c := range []struct {
		name         string
		memory       int64
		radix        int
		lfMin, lfMax float64
		onCPU        bool
	}{
		{"a set at a time", 16 << 20, 6, 0, 0, false},
		{"a set of several loads", 4 << 20, 1, 0, 0, true},
		{"a set of several loads, to the last slot", 4 << 20, 1, 0.99, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := makeInput(rand.New(rand.NewPCG(1, 2)), 200_000, 1<<30, 4, 0)
			in.sumOnly = c.radix > 1 // so that a block's shared memory has room for the groups that are expected
			device := openHost(t, hostdevice.Options{MemoryLimit: c.memory})
			opt := stream.Options{Devices: []kernels.Device{device}, Groups: 1 << 24, Rows: 1 << 34, RadixBits: c.radix, Ablation: stream.Ablation{LFMin: c.lfMin, LFMax: c.lfMax}}
			a, counters, err := run(in, opt, 2)
			closeAll(t, []kernels.Device{device})
			if err != nil {
				t.Fatal(err)
			}
			check(t, in, a)
			if onCPU := counters.OnCPU > 0; onCPU != c.onCPU {
				t.Errorf("the CPU finishes %d sets", counters.OnCPU)
			}
		})
	}
}

// However little memory may be pinned, from the first tile to the last split, the answer is right.
func TestPinnedLimits(t *testing.T) {
	in := makeInput(rand.New(rand.NewPCG(3, 4)), 60_000, 1<<30, 4, 0)
	for _, groups := range []int64{5000, 20_000, 1 << 30} {
		for pinned := int64(256 << 10); pinned <= 4<<20; pinned += int64(invariants.Fewer(256<<10, 512<<10)) {
			t.Run(fmt.Sprintf("%d groups, %d B", groups, pinned), func(t *testing.T) {
				device := openHost(t, hostdevice.Options{MemoryLimit: 1 << 20, PinnedLimit: pinned})
				a, _, err := run(in, stream.Options{Devices: []kernels.Device{device}, Groups: groups, RadixBits: 1}, 2)
				closeAll(t, []kernels.Device{device})
				if err != nil {
					t.Fatal(err)
				}
				check(t, in, a)
			})
		}
	}
}
