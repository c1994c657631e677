package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/hostdevice"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// partsTaker takes the rows of partitions, and checks that each lies in its own.
type partsTaker struct {
	keyBytes int
	seed     uint64
	radix    partition.Radix

	mu     sync.Mutex
	answer *answer
	sizes  []int64
}

func (p *partsTaker) take(ctx context.Context, t *stream.Tile, offsets []uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(offsets) != p.radix.FanOut()+1 || offsets[0] != 0 || offsets[p.radix.FanOut()] != uint64(t.Rows) {
		return fmt.Errorf("%d offsets to %d, of %d rows", len(offsets), offsets[len(offsets)-1], t.Rows)
	}
	words := max(p.keyBytes/8, 1)
	keys := make([]uint64, t.Rows*words)
	if p.keyBytes == 4 {
		for i := range keys {
			keys[i] = p.answer.keyAt(t.Keys, i, 4)
		}
	} else {
		copy(keys, unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(t.Keys))), len(keys)))
	}
	hashes := make([]uint64, t.Rows)
	if words == 1 {
		partition.HashKeys1(keys, p.seed, hashes)
	} else {
		partition.HashKeysN(keys, words, p.seed, hashes)
	}
	for part := range p.radix.FanOut() {
		for _, h := range hashes[offsets[part]:offsets[part+1]] {
			if p.radix.Of(h) != part {
				return fmt.Errorf("a row of partition %d is in %d", p.radix.Of(h), part)
			}
		}
		p.sizes[part] += int64(offsets[part+1] - offsets[part])
	}
	return p.answer.takeRows(p.keyBytes)(ctx, t)
}

// Every row comes back once, in its partition, whatever the keys, the devices and the sizes of
// tiles.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		rows, keyBytes, devices, tileRows int
		radix                             partition.Radix
		heavy                             float64
	}{
		{100_000, 4, 1, 0, 6, 0},
		{100_000, 8, 2, 1000, 11, 0.5},
		{50_000, 24, 3, 777, 1, 0},
		{1, 16, 1, 0, 3, 0},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			in := makeInput(rand.New(rand.NewPCG(5, 6)), c.rows, 5000, c.keyBytes, c.heavy)
			taker := &partsTaker{keyBytes: c.keyBytes, seed: 99, radix: c.radix, answer: newAnswer(), sizes: make([]int64, c.radix.FanOut())}
			devices := openHosts(t, c.devices, hostdevice.Options{MemoryLimit: 4 << 20})
			var groups int64
			radix := func(n int64) int {
				groups = n
				return int(c.radix)
			}
			a, counters, err := run(in, stream.Options{
				Devices: devices, Seed: 99, TileRows: c.tileRows, Parts: &stream.Parts{Radix: radix, Take: taker.take},
			}, 3)
			closeAll(t, devices)
			if err != nil {
				t.Fatal(err)
			}
			check(t, in, taker.answer)
			if len(a.final)+len(a.others) > 0 {
				t.Errorf("%d groups were emitted, %d given to the CPU", len(a.final), len(a.others))
			}
			if groups < 1 || groups > int64(c.rows) || counters.RowsOut != int64(c.rows) || counters.BytesOut < int64(c.rows*c.keyBytes) {
				t.Errorf("%d groups were expected: %+v", groups, counters)
			}
			for p, n := range counters.Sizes {
				if n != taker.sizes[p] {
					t.Errorf("partition %d has %d rows, the statistics say %d", p, taker.sizes[p], n)
				}
			}
		})
	}
}

// An error of who takes the rows ends the run with that error; one of a device is ErrDevice.
func TestPartsFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := makeInput(rand.New(rand.NewPCG(7, 8)), 5000, 500, 8, 0)
	boom := errors.New("boom")
	for n := int64(0); n < 40; n++ {
		device := openHost(t, hostdevice.Options{MemoryLimit: 4 << 20, Fail: hostdevice.FailNth(n, n%2 == 0, boom)})
		taken := 0
		var mu sync.Mutex
		_, _, err := run(in, stream.Options{Devices: []kernels.Device{device}, TileRows: 500, Parts: &stream.Parts{
			Radix: func(int64) int { return 3 },
			Take: func(context.Context, *stream.Tile, []uint64) error {
				mu.Lock()
				defer mu.Unlock()
				if taken++; n == 0 && taken == 4 {
					return boom
				}
				return nil
			},
		}}, 2)
		closeAll(t, []kernels.Device{device})
		if n == 0 && (!errors.Is(err, boom) || errors.Is(err, stream.ErrDevice)) {
			t.Errorf("who takes rows fails: %v", err)
		}
		if n > 0 && err != nil && !errors.Is(err, stream.ErrDevice) {
			t.Errorf("call %d: %v is no ErrDevice", n, err)
		}
	}
}
