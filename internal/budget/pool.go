package budget

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/invariants"
)

// Pool is the default allocator of results. It is beside Blocks, since a program may keep results
// for ever without a release: they lie on the Go heap. A query frees and takes buffers of few sizes
// over and over: the pool spares it most garbage collections, and the clearing of memory that is
// written at once. The collector takes back buffers that nobody uses.
type Pool struct {
	classes [poolClasses]sync.Pool // of *byte, by log2 of the size
}

const (
	poolBytesMin = 4 << 10 // a smaller buffer costs little
	poolClasses  = 33      // up to 4 GiB
)

var _ memory.Allocator = (*Pool)(nil)

// Allocate returns size bytes that are not cleared.
func (p *Pool) Allocate(size int) []byte {
	class := poolClass(size)
	if size < poolBytesMin || class >= poolClasses {
		return memory.DefaultAllocator.Allocate(size)
	}
	if b, ok := p.classes[class].Get().(*byte); ok {
		return unsafe.Slice(b, 1<<class)[:size]
	}
	return make([]byte, 1<<class)[:size]
}

// poolClass returns the class of a buffer of size bytes.
func poolClass(size int) int { return bits.Len(uint(max(size, 1) - 1)) }

// poolBytes returns how much memory a buffer of size bytes takes.
func poolBytes(size int) int64 { return 1 << poolClass(size) }

// Reallocate resizes a buffer and keeps what fits of it.
func (p *Pool) Reallocate(size int, b []byte) []byte { return reallocate(p, size, b) }

// Free takes a buffer back.
func (p *Pool) Free(b []byte) {
	class := poolClass(cap(b))
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
