package budget

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/mem"
)

// Blocks is the default allocator of decoded columns, which the engine itself gives back:
// their memory counts in its budget.
type Blocks struct {
	memory *mem.Memory
	share  int64 // of the memory limit, in bytes, of one worker
}

var _ memory.Allocator = (*Blocks)(nil)

// NewBlocks returns an allocator of blocks; share is the part of the memory limit, in bytes, of one worker.
func NewBlocks(m *mem.Memory, share int64) *Blocks { return &Blocks{memory: m, share: share} }

// Allocate returns size bytes that are not cleared.
func (a *Blocks) Allocate(size int) []byte {
	if size < poolBytesMin {
		return memory.DefaultAllocator.Allocate(size)
	}
	block := a.memory.Alloc((size + 7) / 8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), 8*cap(block))[:size]
}

// Reallocate resizes a buffer and keeps what fits of it.
func (a *Blocks) Reallocate(size int, b []byte) []byte { return reallocate(a, size, b) }

// Free takes a buffer back.
func (a *Blocks) Free(b []byte) {
	if cap(b) < poolBytesMin {
		return
	}
	a.memory.Free(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), cap(b)/8))
}

// Reserve implements rowdata.Budget.
func (a *Blocks) Reserve(bytes int64) error { return a.memory.Reserve(bytes) }

// Unreserve implements rowdata.Budget.
func (a *Blocks) Unreserve(bytes int64) { a.memory.Unreserve(bytes) }

// Share returns the part of the memory limit that is one worker's, in bytes.
func (a *Blocks) Share() int64 { return a.share }

// Room implements rowdata.Budget.
func (a *Blocks) Room(bytes int64) error { return a.memory.Room(bytes) }

// Counted implements scan.CountingAllocator.
func (a *Blocks) Counted(size int) int64 {
	if size < poolBytesMin {
		return 0
	}
	return mem.BlockBytes(size)
}
