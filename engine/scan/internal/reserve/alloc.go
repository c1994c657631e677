package reserve

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// heapBytesMax is the size below which buffers are taken from the Go heap: arrow-go's DELTA
	// decoders keep 64 B of each column chunk for ever, which garbage collection forgives and a
	// counting allocator does not.
	heapBytesMax = 4 << 10

	// BufferBytesMax is more than a batch's column takes by far. A corrupt length asks for more,
	// and the Go runtime ends the process when it cannot give it.
	BufferBytesMax = 4 << 30
)

// checkedAllocator is the allocator that arrow-go's readers get. S3.
type checkedAllocator struct{ memory.Allocator }

// ForLibrary returns the allocator for arrow-go's readers that takes memory of another.
func ForLibrary(of memory.Allocator) memory.Allocator { return checkedAllocator{of} }

// GoHeap takes memory of the Go heap, which no budget counts.
var GoHeap = memory.NewGoAllocator()

func (r checkedAllocator) Allocate(size int) []byte {
	checkSize(size)
	if size < heapBytesMax {
		return GoHeap.Allocate(size)
	}
	return r.Allocator.Allocate(size)
}

func (r checkedAllocator) Reallocate(size int, b []byte) []byte {
	checkSize(size)
	switch {
	case size < heapBytesMax && len(b) < heapBytesMax:
		return GoHeap.Reallocate(size, b)
	case size >= heapBytesMax && len(b) >= heapBytesMax:
		return r.Allocator.Reallocate(size, b)
	}
	moved := r.Allocate(size)
	copy(moved, b)
	r.Free(b)
	return moved
}

func (r checkedAllocator) Free(b []byte) {
	if len(b) >= heapBytesMax {
		r.Allocator.Free(b)
	}
}

// checkSize panics where guard will catch it: memory.Allocator has no error to return.
func checkSize(size int) {
	if size < 0 || size > BufferBytesMax {
		panic(fmt.Errorf("a column asks for %d B at once; the limit is %d B", size, BufferBytesMax))
	}
}
