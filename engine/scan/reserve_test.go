package scan

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// movingAllocator gives every buffer that changes its size other memory, as allocators without room to spare do.
type movingAllocator struct{ memory.GoAllocator }

func (a *movingAllocator) Reallocate(size int, b []byte) []byte {
	moved := a.Allocate(size)
	copy(moved, b)
	return moved
}

// Would catch memory that stays reserved after a buffer has become smaller, or larger, elsewhere.
func TestReservingReallocate(t *testing.T) {
	rng := newRand(t)
	budget := &tightBudget{rng: rng, limit: 1 << 30}
	r := newReserving(&movingAllocator{}, budget)
	var buffers [][]byte
	for range 1000 {
		switch i := rng.IntN(len(buffers) + 1); {
		case i == len(buffers):
			buffers = append(buffers, r.Allocate(rng.IntN(100_000)))
		case rng.IntN(4) == 0:
			r.Free(buffers[i])
			buffers = slices.Delete(buffers, i, i+1)
		default:
			buffers[i] = r.Reallocate(rng.IntN(100_000), buffers[i])
		}
		held := int64(0)
		for _, b := range buffers {
			held += int64(cap(b))
		}
		if r.heldBytes() != held || budget.reserved < held {
			t.Fatalf("%d B are held and %d B reserved for buffers of %d B", r.heldBytes(), budget.reserved, held)
		}
	}
	for _, b := range buffers {
		r.Free(b)
	}
	if budget.reserved != 0 {
		t.Errorf("%d B are reserved at the end", budget.reserved)
	}
}
