//go:build cgo && linux

package kernels

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mpga/mpga/internal/spawn"
)

// Page-locked memory is slow to get: pages are cleared, and each is registered. Huge pages and
// several threads that clear them make it ten times faster, and a pool keeps memory that is given
// back.
const (
	hugePageBytes = 2 << 20
	pageBytes     = 4 << 10
	largeUnit     = 256 << 10 // of blocks of a huge page and more
	touchBytes    = 16 << 20  // that a goroutine clears at a time
	slabBytes     = 8 << 20   // of a region that smaller blocks are cut from
	regionBytes   = 256 << 20 // of a region of several blocks, at most
)

// Regions grow with the pool: one is as large as half of the memory that there is. Blocks that a query asks for one by
// one, while all cores have other work, are pinned before they are asked for: a quarter of what there is, so that
// little is pinned in vain.
const (
	regionShare   = 2
	aheadShare    = 4
	aheadBytesMin = 8 << 20 // of a block that is worth it
)

// pinnedPool hands out page-locked blocks, cut from regions, where what is given back is one with what is free beside
// it: a query finds room in what another has used for blocks of other sizes.
type pinnedPool struct {
	limit      int64
	register   func(at unsafe.Pointer, bytes int64) error
	unregister func(at unsafe.Pointer, bytes int64) error

	mu      sync.Mutex
	bytes   int64 // of all regions, and of regions that are being made
	coming  int64 // of regions that are being made ahead
	used    int64 // of the blocks handed out
	regions []*pinnedRegion
	enough  bool    // a large block was given back since a region was last made: blocks are used again
	closed  bool    // nothing is made ahead any more
	known   regions // that the driver did not unregister: it may know their addresses until the device is closed

	ahead  sync.WaitGroup // of what is pinned before it is asked for
	broken error          // spawn.ErrInternal of pinning ahead, until the next alloc; nil otherwise
}

// pinned is a block of the pool.
type pinned struct {
	pool   *pinnedPool
	region *pinnedRegion
	at     extent
	bytes  []byte // handed out; nil once it is given back
}

func newPinnedPool(limit int64, register, unregister func(unsafe.Pointer, int64) error) *pinnedPool {
	return &pinnedPool{limit: limit, register: register, unregister: unregister}
}

// pinnedSize returns the bytes that a block of n bytes takes.
func pinnedSize(n int64) int64 {
	if n < hugePageBytes {
		return roundUp(max(n, 1), pageBytes)
	}
	return roundUp(n, largeUnit)
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

func (p *pinnedPool) alloc(n int64) (Pinned, error) {
	if n < 0 {
		panic(fmt.Sprintf("pinned memory of %d B", n))
	}
	size := pinnedSize(n)
	b, err := p.takeFree(size)
	if err != nil {
		return nil, err
	}
	if b == nil {
		if b, err = p.grow(size); err != nil {
			return nil, fmt.Errorf("%d B of pinned memory: %w", n, err)
		}
	}
	p.growAhead(size)
	b.bytes = b.region.memory[b.at.from:][:n:n]
	return b, nil
}

// takeFree returns a block of the smallest free room that holds it, or nil. An error comes from pinning ahead.
func (p *pinnedPool) takeFree(size int64) (*pinned, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.broken; err != nil {
		p.broken = nil
		return nil, err
	}
	var best *pinnedRegion
	place := 0
	for _, r := range p.regions {
		if r.isSlab != (size < hugePageBytes) {
			continue
		}
		for i, e := range r.free {
			if e.bytes() >= size && (best == nil || e.bytes() < best.free[place].bytes()) {
				best, place = r, i
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	p.used += size
	return &pinned{pool: p, region: best, at: best.take(place, size)}, nil
}

// grow makes a region, and returns a block of it.
func (p *pinnedPool) grow(size int64) (*pinned, error) {
	bytes, err := p.reserve(size)
	if err != nil {
		return nil, err
	}
	r, err := p.pin(bytes)
	if err != nil {
		return nil, err
	}
	r.isSlab = size < hugePageBytes
	b := &pinned{pool: p, region: r, at: r.take(0, size)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.regions = append(p.regions, r)
	p.used += size
	p.enough = false
	return b, nil
}

// reserve counts a region for a block against the limit, and returns its bytes. Free regions that are too small for the
// block make room for a larger one. Where there is no room for several blocks it is for one, and all regions that are
// free go back to the system.
func (p *pinnedPool) reserve(size int64) (bytes int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes = slabBytes
	if size >= hugePageBytes {
		small := p.bytes
		err = p.shrink(func(r *pinnedRegion) bool { return !r.isSlab && int64(len(r.memory)) < size })
		small -= p.bytes
		bytes = roundUp(max(size, min(max(p.bytes/regionShare, small), regionBytes)/size*size), hugePageBytes)
	}
	if p.bytes+bytes > p.limit {
		bytes = roundUp(size, hugePageBytes)
	}
	err = errors.Join(err, p.shrink(func(*pinnedRegion) bool { return p.bytes+bytes > p.limit }))
	if p.bytes+bytes > p.limit {
		err = errors.Join(err, fmt.Errorf("%d B of %d B in use: %w", p.used, p.limit, ErrPinnedLimit))
	}
	if err != nil {
		return 0, err
	}
	p.bytes += bytes
	return bytes, nil
}

// shrink gives free regions for which goes is true back to the system. Requires: p.mu is held.
func (p *pinnedPool) shrink(goes func(r *pinnedRegion) bool) error {
	var errs []error
	p.regions = slices.DeleteFunc(p.regions, func(r *pinnedRegion) bool {
		if !r.isFree() || !goes(r) {
			return false
		}
		errs = append(errs, p.release(r.memory))
		p.bytes -= int64(len(r.memory))
		return true
	})
	return errors.Join(errs...)
}

// growAhead begins to make a region of blocks of a size for which more is asked than there is.
func (p *pinnedPool) growAhead(size int64) {
	if size < aheadBytesMin {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes := min(p.bytes/aheadShare, regionBytes) / size * size
	if p.enough || p.closed || p.coming > 0 || p.room(size) >= bytes {
		return
	}
	if bytes = roundUp(bytes, hugePageBytes); p.bytes+bytes > p.limit {
		return
	}
	p.bytes += bytes
	p.coming = bytes
	p.ahead.Add(1)
	var r *pinnedRegion
	spawn.Go(func() (err error) {
		r, err = p.pin(bytes)
		return err
	}, func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.coming = 0; err == nil { // else the next caller who needs the room will be told
			p.regions = append(p.regions, r)
		} else if errors.Is(err, spawn.ErrInternal) {
			p.broken = err
		}
		p.ahead.Done()
	})
}

// room returns how many bytes of blocks of a size are free. Requires: p.mu is held.
func (p *pinnedPool) room(size int64) (bytes int64) {
	for _, r := range p.regions {
		if r.isSlab {
			continue
		}
		for _, e := range r.free {
			bytes += e.bytes() / size * size
		}
	}
	return bytes
}

// pin maps and registers a region of as many bytes, which are counted against the limit.
func (p *pinnedPool) pin(bytes int64) (*pinnedRegion, error) {
	memory, err := mapHuge(bytes)
	if err != nil {
		p.giveBack(bytes)
		return nil, err
	}
	if err := p.register(unsafe.Pointer(unsafe.SliceData(memory)), bytes); err != nil {
		p.giveBack(bytes)
		return nil, errors.Join(err, unmap(memory))
	}
	allPinned.Lock()
	allPinned.add(memory)
	allPinned.Unlock()
	return &pinnedRegion{memory: memory, free: []extent{{0, bytes}}}, nil
}

func (p *pinnedPool) giveBack(bytes int64) {
	p.mu.Lock()
	p.bytes -= bytes
	p.mu.Unlock()
}

// release gives a region back to the system. A region that the driver does not unregister stays
// mapped: other memory would get its addresses, which the driver still takes for the pages that
// were there. Requires: p.mu is held.
func (p *pinnedPool) release(memory []byte) error {
	allPinned.Lock()
	allPinned.remove(memory)
	allPinned.Unlock()
	if err := p.unregister(unsafe.Pointer(unsafe.SliceData(memory)), int64(len(memory))); err != nil {
		p.known.add(memory)
		return err
	}
	return unmap(memory)
}

// unmapKnown gives the regions back that the driver did not unregister. Requires: the driver has
// released the device, and with it all that it knew.
func (p *pinnedPool) unmapKnown() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, memory := range p.known {
		errs = append(errs, unmap(memory))
	}
	p.known = nil
	return errors.Join(errs...)
}

func (p *pinnedPool) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ahead.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.broken}
	if p.used > 0 {
		errs = append(errs, fmt.Errorf("%d B of pinned memory were not freed", p.used))
	}
	for _, r := range p.regions {
		errs = append(errs, p.release(r.memory))
	}
	p.regions, p.bytes = nil, 0
	return errors.Join(errs...)
}

func (b *pinned) Bytes() []byte { return b.bytes }

func (b *pinned) Free() error {
	p := b.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.bytes == nil {
		panic("pinned memory freed twice")
	}
	b.bytes = nil
	p.used -= b.at.bytes()
	b.region.put(b.at)
	if !b.region.isSlab {
		p.enough = true
	}
	return nil
}

// mapHuge maps size bytes of memory that begin at a huge page, and touches all of them.
func mapHuge(size int64) ([]byte, error) {
	at, err := unix.MmapPtr(-1, 0, nil, uintptr(size+hugePageBytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d B: %w", size, err)
	}
	skip := int64(-uintptr(at) % hugePageBytes)
	memory := unsafe.Slice((*byte)(unsafe.Add(at, skip)), size)
	// What surrounds the aligned part is given back at once.
	if err := errors.Join(unmapAt(at, skip), unmapAt(unsafe.Add(at, skip+size), hugePageBytes-skip)); err != nil {
		return nil, err
	}
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // a kernel without huge pages is only slower
	if err := touch(memory); err != nil {
		return nil, errors.Join(err, unmap(memory))
	}
	return memory, nil
}

// touch lets the kernel find pages for all of memory, on all cores.
func touch(memory []byte) error {
	var next atomic.Int64
	var group spawn.Group
	pieces := (len(memory) + touchBytes - 1) / touchBytes
	for range min(pieces, runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < pieces; i = int(next.Add(1)) - 1 {
				piece := memory[i*touchBytes : min((i+1)*touchBytes, len(memory))]
				for at := 0; at < len(piece); at += pageBytes {
					piece[at] = 0
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func unmap(memory []byte) error {
	return unmapAt(unsafe.Pointer(unsafe.SliceData(memory)), int64(len(memory)))
}

func unmapAt(at unsafe.Pointer, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.MunmapPtr(at, uintptr(bytes)); err != nil {
		return fmt.Errorf("munmap of %d B: %w", bytes, err)
	}
	return nil
}
