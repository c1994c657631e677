package budget

import (
	"bytes"
	"math/bits"
	"sync"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
)

// Would catch buffers that are too short at the sizes where classes meet, and a Free of memory
// that the pool did not give out, or gave out in another size.
func TestPoolSizes(t *testing.T) {
	p := new(Pool)
	for _, n := range []int{0, 1, poolBytesMin - 1, poolBytesMin, poolBytesMin + 1, 1 << 16, 1<<16 + 1, 1<<20 - 1} {
		for range 3 {
			b := p.Allocate(n)
			if len(b) != n {
				t.Fatalf("asked for %d B, got %d", n, len(b))
			}
			for i := range b {
				b[i] = byte(n)
			}
			p.Free(b)
		}
	}
	for _, foreign := range [][]byte{nil, {}, make([]byte, 3*poolBytesMin), make([]byte, 2*poolBytesMin)[poolBytesMin:]} {
		p.Free(foreign)
	}
	for range 10 {
		if b := p.Allocate(4 * poolBytesMin); len(b) != 4*poolBytesMin || cap(b) != 4*poolBytesMin {
			t.Fatalf("a buffer of %d B has %d, capacity %d", 4*poolBytesMin, len(b), cap(b))
		}
	}
}

// Would catch a Reallocate that loses what a buffer holds, on the way up and down and across
// classes.
func TestPoolReallocate(t *testing.T) {
	p := new(Pool)
	b := p.Allocate(10)
	copy(b, "0123456789")
	for _, n := range []int{20, poolBytesMin, poolBytesMin - 1, 3 * poolBytesMin, 4 * poolBytesMin, 100 * poolBytesMin, 12} {
		if b = p.Reallocate(n, b); len(b) != n || !bytes.HasPrefix(b, []byte("0123456789")) {
			t.Fatalf("%d B: %d B that begin with %q", n, len(b), b[:10])
		}
	}
	if b = p.Reallocate(3, b); string(b) != "012" {
		t.Errorf("3 B: %q", b)
	}
	p.Free(b)
}

// Would catch a buffer that two owners have at once.
func TestPoolConcurrently(t *testing.T) {
	p := new(Pool)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				n := poolBytesMin << (i % 3)
				b := p.Allocate(n - i)
				for j := 0; j < len(b); j += 512 {
					b[j] = byte(w)
				}
				for j := 0; j < len(b); j += 512 {
					if b[j] != byte(w) {
						t.Errorf("worker %d reads what worker %d wrote", w, b[j])
						return
					}
				}
				p.Free(b)
			}
		})
	}
	wg.Wait()
}

// Would catch memory that is still readable after it was given back, where checks are on.
func TestPoolPoisons(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("only with -tags invariants")
	}
	p := new(Pool)
	b := p.Allocate(poolBytesMin + 1)
	b[0] = 1
	p.Free(b)
	for i, c := range b {
		if c != 0xDB {
			t.Fatalf("byte %d of %d, class %d, is %x", i, len(b), bits.Len(uint(len(b))), c)
		}
	}
}
