package mem

import (
	"sync"
	"testing"
)

// Would catch blocks that are lost in the lists of goroutines, given out twice, or out of reach when
// the budget is used up (T1).
func TestNearby(t *testing.T) {
	const workers, rounds = 16, 2000
	m := NewMemory(1 << 30)
	defer m.Close()
	handed := make(chan []uint64, workers) // most blocks are given back by another goroutine
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			own := uint64(i)
			for n := range rounds {
				block := m.Alloc((1 << (blockBitsMin + n%5)) / 8)
				block[0] = own
				other := <-handed
				if block[0] != own {
					t.Errorf("a block of worker %d is worker %d's", own, block[0])
				}
				m.Free(other)
				handed <- block
			}
		})
		handed <- m.Alloc(1)
	}
	group.Wait()
	for range workers {
		m.Free(<-handed)
	}
	if used := m.Used(); used != 0 {
		t.Errorf("%d B are in use", used)
	}
	// Of each class no more than one slab can be in use, or in the lists, at a time.
	if most := int64(5 * 2 * slabBytes); m.Resident() > most {
		t.Errorf("%d B are resident, %d would be many", m.Resident(), most)
	}
	m.SetLimit(0)
	if left := m.Resident(); left != 0 {
		t.Errorf("%d B are resident though nothing may be", left)
	}
}

// BenchmarkAllocTogether takes and gives back pages of 4 KiB on all processors.
func BenchmarkAllocTogether(b *testing.B) {
	m := NewMemory(1 << 30)
	defer m.Close()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Free(m.Alloc(512))
		}
	})
}
