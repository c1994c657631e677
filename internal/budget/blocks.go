package budget

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
)

// Blocks is the default allocator of decoded columns. It is beside Pool, since the engine gives
// decoded columns back itself: they can lie outside the Go heap, in blocks that its budget counts.
type Blocks struct {
	limited
	memory *mem.Memory
}

var _ memory.Allocator = (*Blocks)(nil)

// limited is the budget of an allocator, which evaluators of expressions ask for.
type limited struct {
	rowdata.Budget
	share int64
}

// Share returns the part of the memory limit that is one worker's, in bytes.
func (l limited) Share() int64 { return l.share }

// NewBlocks returns an allocator of blocks; share is the part of the memory limit, in bytes, of one
// worker.
func NewBlocks(m *mem.Memory, share int64) *Blocks { return &Blocks{limited{m, share}, m} }

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

// Counted returns how many bytes of the budget a buffer takes by itself: see scan.OpenOptions.
func (a *Blocks) Counted(size int) int64 {
	if size < poolBytesMin {
		return 0
	}
	return mem.BlockBytes(size)
}
