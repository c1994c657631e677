//go:build cgo && linux

package kernels

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
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
	touchBytes    = 16 << 20 // that a goroutine clears at a time
	slabBytes     = 8 << 20  // that blocks below a huge page are cut from
)

// Blocks that a query asks for one by one, while all cores have other work, are pinned before they
// are asked for, several at a time: a quarter of the blocks of a size that there are, so that
// little is pinned in vain.
const (
	aheadShare     = 4
	aheadBlocksMax = 8
	aheadBytesMin  = 8 << 20 // of a block that is worth it
)

// pinnedPool hands out page-locked blocks by size class.
type pinnedPool struct {
	limit      int64
	register   func(at unsafe.Pointer, bytes int64) error
	unregister func(at unsafe.Pointer, bytes int64) error

	mu      sync.Mutex
	bytes   int64 // of all regions, and of regions that are being made
	used    int64 // of the blocks handed out
	regions regions
	free    map[int64][]*pinned // by class
	sizes   map[int64]*sizeClass
	known   regions // that the driver did not unregister: it may know their addresses until the device is closed

	ahead  sync.WaitGroup // of what is pinned before it is asked for
	broken error          // spawn.ErrInternal of pinning ahead, until the next alloc; nil otherwise
}

// sizeClass counts the blocks of a size.
type sizeClass struct {
	blocks int  // free or handed out
	coming int  // being pinned ahead
	enough bool // a block was given back since the pool last had none: blocks are used again
}

// pinned is a block of the pool.
type pinned struct {
	pool   *pinnedPool
	memory []byte // as long as its class
	bytes  []byte // handed out; nil while the block is free
}

func newPinnedPool(limit int64, register, unregister func(unsafe.Pointer, int64) error) *pinnedPool {
	return &pinnedPool{limit: limit, register: register, unregister: unregister,
		free: map[int64][]*pinned{}, sizes: map[int64]*sizeClass{}}
}

// pinnedClass returns the bytes of the smallest block that holds n: there are four classes to a
// doubling, so that at most a fifth of a block is unused, and from 8 MiB on they are huge pages.
func pinnedClass(n int64) int64 {
	if n <= pageBytes {
		return pageBytes
	}
	step := int64(1) << (bits.Len64(uint64(n-1)) - 3)
	if n > hugePageBytes {
		step = max(step, hugePageBytes)
	}
	return (n + step - 1) / step * step
}

func (p *pinnedPool) alloc(n int64) (Pinned, error) {
	if n < 0 {
		panic(fmt.Sprintf("pinned memory of %d B", n))
	}
	class := pinnedClass(n)
	b, err := p.takeFree(class)
	if err != nil {
		return nil, err
	}
	if b == nil {
		if b, err = p.grow(class); err != nil {
			return nil, fmt.Errorf("%d B of pinned memory: %w", n, err)
		}
	}
	p.growAhead(class)
	b.bytes = b.memory[:n:n]
	return b, nil
}

// takeFree returns a free block, or nil. An error comes from pinning blocks ahead.
func (p *pinnedPool) takeFree(class int64) (*pinned, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.broken; err != nil {
		p.broken = nil
		return nil, err
	}
	free := p.free[class]
	if len(free) == 0 {
		return nil, nil
	}
	b := free[len(free)-1]
	p.free[class] = free[:len(free)-1]
	p.used += class
	return b, nil
}

// grow makes a region for a class, and returns a block of it.
func (p *pinnedPool) grow(class int64) (*pinned, error) {
	size := class
	if class < hugePageBytes {
		size = slabBytes
	}
	if err := p.reserve(size); err != nil {
		return nil, err
	}
	b, err := p.pin(class, size)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size(class).enough = false
	p.used += class
	return b, nil
}

// size returns the counts of a class. Requires: p.mu is held.
func (p *pinnedPool) size(class int64) *sizeClass {
	s := p.sizes[class]
	if s == nil {
		s = new(sizeClass)
		p.sizes[class] = s
	}
	return s
}

// growAhead begins to pin blocks of a class for which more is asked than there is.
func (p *pinnedPool) growAhead(class int64) {
	if class < aheadBytesMin {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.size(class)
	if s.enough || p.free == nil {
		return
	}
	for want := min(s.blocks/aheadShare, aheadBlocksMax); len(p.free[class])+s.coming < want && p.bytes+class <= p.limit; {
		p.bytes += class
		s.coming++
		p.ahead.Add(1)
		var b *pinned
		spawn.Go(func() (err error) {
			b, err = p.pin(class, class)
			return err
		}, func(err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if s.coming--; err == nil { // else the next caller who needs the block will be told
				p.free[class] = append(p.free[class], b)
			} else if errors.Is(err, spawn.ErrInternal) {
				p.broken = err
			}
			p.ahead.Done()
		})
	}
}

// pin maps and registers a region of a size that is counted against the limit. It returns a block
// of it; all others are free.
func (p *pinnedPool) pin(class, size int64) (*pinned, error) {
	memory, err := mapHuge(size)
	if err != nil {
		p.giveBack(size)
		return nil, err
	}
	if err := p.register(unsafe.Pointer(unsafe.SliceData(memory)), size); err != nil {
		p.giveBack(size)
		return nil, errors.Join(err, unmap(memory))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.regions.add(memory)
	allPinned.Lock()
	allPinned.add(memory)
	allPinned.Unlock()
	p.size(class).blocks += len(memory) / int(class)
	first := &pinned{pool: p, memory: memory[:class:class]}
	for memory = memory[class:]; int64(len(memory)) >= class; memory = memory[class:] {
		p.free[class] = append(p.free[class], &pinned{pool: p, memory: memory[:class:class]})
	}
	return first, nil
}

// reserve counts size against the limit. Where there is no room it gives free blocks back to the system.
func (p *pinnedPool) reserve(size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for class, free := range p.free {
		if class < hugePageBytes {
			continue
		}
		for len(free) > 0 && p.bytes+size > p.limit {
			b := free[len(free)-1]
			free = free[:len(free)-1]
			p.free[class] = free
			p.regions.remove(b.memory)
			errs = append(errs, p.release(b.memory))
			p.bytes -= class
			p.size(class).blocks--
		}
	}
	if p.bytes+size > p.limit {
		errs = append(errs, fmt.Errorf("%d B of %d B in use: %w", p.used, p.limit, ErrPinnedLimit))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p.bytes += size
	return nil
}

func (p *pinnedPool) giveBack(size int64) {
	p.mu.Lock()
	p.bytes -= size
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
	p.ahead.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.broken}
	if p.used > 0 {
		errs = append(errs, fmt.Errorf("%d B of pinned memory were not freed", p.used))
	}
	for _, memory := range p.regions {
		errs = append(errs, p.release(memory))
	}
	p.regions, p.free, p.bytes = nil, nil, 0
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
	class := int64(len(b.memory))
	p.used -= class
	if p.free != nil {
		p.free[class] = append(p.free[class], b)
		p.size(class).enough = true
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
