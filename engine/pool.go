package engine

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/mem"
)

// poolAllocator is the default allocator of decoded columns and results. A query frees and takes
// buffers of few sizes over and over: the pool spares it most garbage collections, and the
// clearing of memory that is written at once. What nobody uses, the collector takes back.
type poolAllocator struct {
	classes [poolClasses]sync.Pool // of *byte, by log2 of the size
}

const (
	poolBytesMin = 4 << 10 // a smaller buffer costs little
	poolClasses  = 33      // up to 4 GiB
)

var _ memory.Allocator = (*poolAllocator)(nil)

// Allocate returns size bytes that are not cleared.
func (p *poolAllocator) Allocate(size int) []byte {
	class := bits.Len(uint(max(size, 1) - 1))
	if size < poolBytesMin || class >= poolClasses {
		return memory.DefaultAllocator.Allocate(size)
	}
	if b, ok := p.classes[class].Get().(*byte); ok {
		return unsafe.Slice(b, 1<<class)[:size]
	}
	return make([]byte, 1<<class)[:size]
}

// poolBytes returns how much memory a buffer of size bytes takes.
func poolBytes(size int) int64 { return 1 << bits.Len(uint(max(size, 1)-1)) }

// Reallocate resizes a buffer and keeps what fits of it.
func (p *poolAllocator) Reallocate(size int, b []byte) []byte { return reallocate(p, size, b) }

// Free takes a buffer back.
func (p *poolAllocator) Free(b []byte) {
	class := bits.Len(uint(max(cap(b), 1) - 1))
	if cap(b) < poolBytesMin || class >= poolClasses || cap(b) != 1<<class {
		return
	}
	b = b[:cap(b)]
	if invariants.Enabled {
		for i := range b {
			b[i] = 0xDB
		}
	}
	p.classes[class].Put(unsafe.SliceData(b))
}

// reallocate resizes a buffer of an allocator whose small buffers have no room to spare.
func reallocate(a memory.Allocator, size int, b []byte) []byte {
	if size <= cap(b) && cap(b) >= poolBytesMin {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	a.Free(b)
	return grown
}

// blockAllocator is the default allocator of decoded columns, which the engine itself gives back:
// their memory counts in its budget.
type blockAllocator struct {
	memory *mem.Memory
	share  int64 // of the memory limit, in bytes, of one worker
}

var _ memory.Allocator = (*blockAllocator)(nil)

// Allocate returns size bytes that are not cleared.
func (a *blockAllocator) Allocate(size int) []byte {
	if size < poolBytesMin {
		return memory.DefaultAllocator.Allocate(size)
	}
	block := a.memory.Alloc((size + 7) / 8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), 8*cap(block))[:size]
}

// Reallocate resizes a buffer and keeps what fits of it.
func (a *blockAllocator) Reallocate(size int, b []byte) []byte { return reallocate(a, size, b) }

// Free takes a buffer back.
func (a *blockAllocator) Free(b []byte) {
	if cap(b) < poolBytesMin {
		return
	}
	a.memory.Free(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), cap(b)/8))
}

// Reserve implements rowdata.Budget.
func (a *blockAllocator) Reserve(bytes int64) error { return a.memory.Reserve(bytes) }

// Unreserve implements rowdata.Budget.
func (a *blockAllocator) Unreserve(bytes int64) { a.memory.Unreserve(bytes) }

// Share returns the part of the memory limit that is one worker's, in bytes.
func (a *blockAllocator) Share() int64 { return a.share }

// Room implements rowdata.Budget.
func (a *blockAllocator) Room(bytes int64) error { return a.memory.Room(bytes) }

// Counted implements scan.CountingAllocator.
func (a *blockAllocator) Counted(size int) int64 {
	if size < poolBytesMin {
		return 0
	}
	return mem.BlockBytes(size)
}
