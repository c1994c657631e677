package budget

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// Bounded takes large buffers of another allocator only where the budget has room for them. It ends the
// work of who asks where there is none, by spawn.Fail: an allocator has no other way to say so.
//
// Nobody knows who holds a buffer of the Go heap how long, so it is not counted as its owner's but, once its pages
// have been touched, as the part of the process that is measured.
type Bounded struct {
	of     memory.Allocator
	memory *mem.Memory
	share  int64 // of the memory limit, in bytes, of one worker
}

var _ memory.Allocator = (*Bounded)(nil)

// NewBounded returns an allocator over another one; share is the part of the memory limit, in bytes, of one worker.
func NewBounded(of memory.Allocator, m *mem.Memory, share int64) *Bounded {
	return &Bounded{of: of, memory: m, share: share}
}

// reservedBytesMin is the least buffer that is asked for: the budget keeps a margin for smaller ones.
const reservedBytesMin = 1 << 20

// Allocate returns size bytes that are not cleared.
func (a *Bounded) Allocate(size int) []byte {
	if size < reservedBytesMin {
		return a.of.Allocate(size)
	}
	return a.reserved(size, 0, func() []byte { return a.of.Allocate(size) })
}

// Reallocate resizes a buffer and keeps what fits of it.
func (a *Bounded) Reallocate(size int, b []byte) []byte {
	if size < reservedBytesMin || size <= cap(b) {
		return a.of.Reallocate(size, b)
	}
	return a.reserved(size, len(b), func() []byte { return a.of.Reallocate(size, b) })
}

// reserved allocates a buffer within the budget, of which some bytes have been written.
func (a *Bounded) reserved(size, written int, allocate func() []byte) []byte {
	bytes := int64(size)
	if _, own := a.of.(*Pool); own {
		bytes = poolBytes(size)
	}
	if err := a.memory.Reserve(bytes); err != nil {
		spawn.Fail(err)
	}
	defer a.memory.Unreserve(bytes)
	buffer := allocate()
	for at := written; at < len(buffer); at += pageBytes {
		buffer[at] = 0
	}
	return buffer
}

// pageBytes is the size of a page of the system.
const pageBytes = 4 << 10

// Free takes a buffer back.
func (a *Bounded) Free(b []byte) { a.of.Free(b) }

// Reserve implements rowdata.Budget.
func (a *Bounded) Reserve(bytes int64) error { return a.memory.Reserve(bytes) }

// Unreserve implements rowdata.Budget.
func (a *Bounded) Unreserve(bytes int64) { a.memory.Unreserve(bytes) }

// Room implements rowdata.Budget.
func (a *Bounded) Room(bytes int64) error { return a.memory.Room(bytes) }

// Share returns the part of the memory limit that is one worker's, in bytes.
func (a *Bounded) Share() int64 { return a.share }
