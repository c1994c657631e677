//go:build cgo && linux

package kernels

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"
)

func TestPinnedSize(t *testing.T) {
	for n, want := range map[int64]int64{
		0: 4096, 1: 4096, 4096: 4096, 4097: 8192, 1 << 20: 1 << 20, 2<<20 - 1: 2 << 20,
		2 << 20: 2 << 20, 2<<20 + 1: 2<<20 + 256<<10, 100<<20 - 1: 100 << 20,
	} {
		if got := pinnedSize(n); got != want {
			t.Errorf("%d B: %d, want %d", n, got, want)
		}
	}
}

// registry stands in for the driver: it fails on memory that is registered twice, or never was.
type registry struct {
	mu    sync.Mutex
	bytes map[unsafe.Pointer]int64
	total int64
}

func (r *registry) register(at unsafe.Pointer, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes[at] != 0 || uintptr(at)%hugePageBytes != 0 {
		return errors.New("registered twice, or not aligned")
	}
	r.bytes[at] = bytes
	r.total += bytes
	return nil
}

func (r *registry) unregister(at unsafe.Pointer, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes[at] != bytes {
		return errors.New("not registered")
	}
	delete(r.bytes, at)
	r.total -= bytes
	return nil
}

// Blocks of many goroutines do not overlap, are found again, and never pass the limit together.
func TestPinnedPool(t *testing.T) {
	r := &registry{bytes: map[unsafe.Pointer]int64{}}
	const limit = 96 << 20
	p := newPinnedPool(limit, r.register, r.unregister)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			var held []Pinned
			free := func() {
				i := rng.IntN(len(held))
				b := held[i]
				for _, v := range []byte{b.Bytes()[0], b.Bytes()[len(b.Bytes())-1]} {
					if v != byte(worker) {
						t.Errorf("worker %d: its block holds %d", worker, v)
					}
				}
				if err := b.Free(); err != nil {
					t.Error(err)
				}
				held = append(held[:i], held[i+1:]...)
			}
			for range 300 {
				n := 1 + rng.Int64N(1<<(8+rng.IntN(17)))
				b, err := p.alloc(n)
				if errors.Is(err, ErrPinnedLimit) {
					if len(held) > 0 {
						free()
					}
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				memory := b.Bytes()
				if int64(len(memory)) != n || !isPinned(memory) {
					t.Errorf("%d B: %d B, pinned %v", n, len(memory), isPinned(memory))
				}
				memory[0], memory[n-1] = byte(worker), byte(worker)
				if held = append(held, b); len(held) > 6 {
					free()
				}
			}
			for len(held) > 0 {
				free()
			}
		})
	}
	wg.Wait()
	p.ahead.Wait()
	if p.used != 0 || p.bytes > limit || r.total != p.bytes {
		t.Errorf("%d B in use, %d B in the pool, %d B registered", p.used, p.bytes, r.total)
	}
	if isPinned(make([]byte, 10)) {
		t.Error("memory of Go's heap is taken for pinned")
	}
	if err := p.close(); err != nil || r.total != 0 {
		t.Errorf("close: %v, %d B registered", err, r.total)
	}
}

// Would catch memory that is pinned in vain: ahead of who asks there is at most a quarter of the
// memory, none where blocks are used again, and none beyond the limit.
func TestPinnedAhead(t *testing.T) {
	r := &registry{bytes: map[unsafe.Pointer]int64{}}
	const block, limit = 8 << 20, 48 * 8 << 20
	p := newPinnedPool(limit, r.register, r.unregister)
	alloc := func() Pinned {
		t.Helper()
		b, err := p.alloc(block)
		if err != nil {
			t.Fatal(err)
		}
		p.ahead.Wait()
		return b
	}
	var held []Pinned
	for len(held) < limit/block {
		held = append(held, alloc())
		if p.bytes > limit || p.bytes > 2*p.used {
			t.Errorf("%d blocks in use take %d B", len(held), p.bytes)
		}
		if room := p.room(block); p.bytes < limit*3/4 && room < (p.bytes-room)/aheadShare/block*block {
			t.Errorf("%d blocks in use, %d B ahead", len(held), room)
		}
	}
	if _, err := p.alloc(block); !errors.Is(err, ErrPinnedLimit) {
		t.Errorf("a block beyond the limit: %v", err)
	}
	for _, b := range held {
		if err := b.Free(); err != nil {
			t.Fatal(err)
		}
	}
	if held = []Pinned{alloc()}; p.bytes != limit || p.used != block {
		t.Errorf("%d B for one block of %d B in use, where as many were free as the limit has", p.bytes, p.used)
	}
	large, err := p.alloc(limit * 3 / 4) // in the place of free regions
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(held, large) {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	if err := p.close(); err != nil || r.total != 0 {
		t.Errorf("close: %v, %d B registered", err, r.total)
	}
}

// Would catch a pool that pins memory anew for blocks of other sizes, and free room that does not become one again.
func TestPinnedOtherSizes(t *testing.T) {
	r := &registry{bytes: map[unsafe.Pointer]int64{}}
	p := newPinnedPool(1<<30, r.register, r.unregister)
	rng := rand.New(rand.NewPCG(1, 2))
	first := int64(0)
	for query := range 40 {
		size := int64(1+rng.IntN(12)) << 20
		var held []Pinned
		for used := int64(0); used < 128<<20; used += size {
			b, err := p.alloc(size)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, b)
			p.ahead.Wait()
		}
		rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
		for _, b := range held {
			if err := b.Free(); err != nil {
				t.Error(err)
			}
		}
		if query == 0 {
			first = p.bytes
		}
	}
	if p.bytes > 2*first {
		t.Errorf("the first query took %d B, 40 of other sizes %d B", first, p.bytes)
	}
	for _, region := range p.regions {
		if !region.isFree() {
			t.Errorf("a region of %d B, whose blocks were all freed, has free %v", len(region.memory), region.free)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// Would catch memory that another device has pinned, and whose copies wait as those of ordinary
// memory do; and memory that is taken for pinned when its device has given it back.
func TestPinnedByOther(t *testing.T) {
	var mu sync.Mutex
	var given [][]byte // back, all of it
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				r := &registry{bytes: map[unsafe.Pointer]int64{}}
				p := newPinnedPool(32<<20, r.register, r.unregister)
				for _, n := range []int64{100, 6 << 20, 12 << 20, 20 << 20} { // the last in the place of the others
					b, err := p.alloc(n)
					if err != nil {
						t.Error(err)
						return
					}
					memory := b.Bytes()
					if !isPinned(memory) || !isPinned(memory[1:50]) || isPinned(unsafe.Slice(&memory[0], 64<<20)) {
						t.Errorf("%d B: not pinned, or more than its region is", n)
					}
					mu.Lock()
					given = append(given, memory)
					mu.Unlock()
					if err := b.Free(); err != nil {
						t.Error(err)
					}
				}
				if err := p.close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, memory := range given {
		if isPinned(memory) {
			t.Fatalf("%d B of a pool that is closed are taken for pinned", len(memory))
		}
	}
}

func TestPinnedLimit(t *testing.T) {
	r := &registry{bytes: map[unsafe.Pointer]int64{}}
	p := newPinnedPool(16<<20, r.register, r.unregister)
	a, err := p.alloc(10 << 20)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.alloc(8 << 20)
	if !errors.Is(err, ErrPinnedLimit) || err.Error() != "8388608 B of pinned memory: 10485760 B of 16777216 B in use: over the limit of pinned memory" {
		t.Error(err)
	}
	if err := a.Free(); err != nil {
		t.Error(err)
	}
	b, err := p.alloc(14 << 20) // what is free makes room
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err == nil || err.Error() != "14680064 B of pinned memory were not freed" {
		t.Errorf("close with a block in use: %v", err)
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
}

// A region that the driver does not unregister stays mapped, and in the process, until the device
// is closed: would catch memory whose addresses the driver still takes for those of other pages.
func TestPinnedKnown(t *testing.T) {
	r := registry{bytes: map[unsafe.Pointer]int64{}}
	lost := errors.New("lost")
	p := newPinnedPool(32<<20, r.register, func(unsafe.Pointer, int64) error { return lost })
	b, err := p.alloc(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	memory := b.Bytes()
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); !errors.Is(err, lost) {
		t.Errorf("closed: %v", err)
	}
	clear(memory) // faults where it is not mapped
	if err := p.unmapKnown(); err != nil || len(p.known) != 0 {
		t.Errorf("%v, %d regions are left", err, len(p.known))
	}
}
