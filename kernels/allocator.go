package kernels

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// PinnedAllocator is an arrow allocator of a device's pinned memory, so that columns are decoded to
// where the device copies them from. Allocations below PinnedBytesMin, and those that the device
// has no pinned memory for, come from Go's heap: such memory works everywhere, and is copied more
// slowly. It may be used by any goroutine.
type PinnedAllocator struct {
	device Device
	heap   memory.Allocator

	mu     sync.Mutex
	pinned map[*byte]Pinned

	heapBytes atomic.Int64
}

// PinnedBytesMin is the least allocation that is worth pinned memory: the many small ones that
// decoders make are never copied to a device by themselves.
const PinnedBytesMin = 4 << 10

var _ memory.Allocator = (*PinnedAllocator)(nil)

// NewPinnedAllocator returns an allocator of a device's pinned memory. All that it gave out must be
// freed before the device is closed.
func NewPinnedAllocator(d Device) *PinnedAllocator {
	return &PinnedAllocator{device: d, heap: memory.NewGoAllocator(), pinned: map[*byte]Pinned{}}
}

// Allocate returns size bytes, aligned to 64.
func (a *PinnedAllocator) Allocate(size int) []byte {
	if size < PinnedBytesMin {
		return a.heap.Allocate(size)
	}
	p, err := a.device.AllocPinned(int64(size))
	if err != nil {
		a.heapBytes.Add(int64(size))
		return a.heap.Allocate(size)
	}
	b := p.Bytes()
	clear(b) // as arrow's builders expect
	a.mu.Lock()
	a.pinned[unsafe.SliceData(b)] = p
	a.mu.Unlock()
	return b
}

// Reallocate returns size bytes that begin with those of b, which must not be used afterwards.
func (a *PinnedAllocator) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && size > 0 {
		return b[:size]
	}
	out := a.Allocate(size)
	copy(out, b)
	a.Free(b)
	return out
}

// Free gives memory back. No stream may own it.
func (a *PinnedAllocator) Free(b []byte) {
	at := unsafe.SliceData(b)
	a.mu.Lock()
	p, ok := a.pinned[at]
	delete(a.pinned, at)
	a.mu.Unlock()
	if !ok {
		a.heap.Free(b)
		return
	}
	if err := p.Free(); err != nil {
		panic(err) // only a breach of the device's contract ends so
	}
}

// HeapBytes returns how many bytes were asked for that pinned memory had no room for, since the
// allocator was made.
func (a *PinnedAllocator) HeapBytes() int64 { return a.heapBytes.Load() }
