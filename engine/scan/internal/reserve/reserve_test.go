package reserve_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// movingAllocator gives every buffer that changes its size other memory, as allocators without room
// to spare do.
type movingAllocator struct{ memory.GoAllocator }

func (a *movingAllocator) Reallocate(size int, b []byte) []byte {
	moved := a.Allocate(size)
	copy(moved, b)
	return moved
}

// Would catch memory that stays reserved after a buffer has become smaller, or larger, elsewhere.
func TestReservingReallocate(t *testing.T) {
	rng := scantest.NewRand(t)
	budget := &scantest.TightBudget{Rng: rng, Limit: 1 << 30}
	r := reserve.New(&movingAllocator{}, budget)
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
		if r.HeldBytes() != held || budget.Reserved < held {
			t.Fatalf("%d B are held and %d B reserved for buffers of %d B", r.HeldBytes(), budget.Reserved, held)
		}
	}
	for _, b := range buffers {
		r.Free(b)
	}
	if budget.Reserved != 0 {
		t.Errorf("%d B are reserved at the end", budget.Reserved)
	}
}
