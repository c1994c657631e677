package budget

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/spawn"
)

// Bounded takes large buffers of another allocator, Pool's or the program's own, only where the
// budget has room for them: results and batches made of them. Where there is no room it ends the
// caller's work by spawn.Fail, since an allocator cannot return an error.
//
// A buffer of the Go heap may be held for any time. Bounded therefore reserves its bytes only until
// its pages have been touched: then it counts in what the process is measured to hold (L1).
type Bounded struct {
	limited
	of memory.Allocator
}

var _ memory.Allocator = (*Bounded)(nil)

// NewBounded returns an allocator over another allocator; share is the part of the memory limit, in
// bytes, of one worker.
func NewBounded(of memory.Allocator, m *mem.Memory, share int64) *Bounded {
	return &Bounded{limited{m, share}, of}
}

// reservedBytesMin is the least buffer that is reserved: the budget keeps a margin for smaller
// buffers.
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

// reserved allocates a buffer of size bytes within the budget. written bytes of it have been written.
func (a *Bounded) reserved(size, written int, allocate func() []byte) []byte {
	bytes := int64(size)
	if _, own := a.of.(*Pool); own {
		bytes = poolBytes(size)
	}
	if err := a.Reserve(bytes); err != nil {
		spawn.Fail(err)
	}
	defer a.Unreserve(bytes)
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
