package parquet

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// fencedMemory returns memory between two pages that nobody may read or write.
func fencedMemory(t *testing.T, size int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	inner := memory[page : page+size : page+size]
	if err := unix.Mprotect(inner, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	return inner
}

// A read or write beside a block or beside its bytes, whole or damaged, ends the test's process.
func TestSnappyFenced(t *testing.T) {
	outMemory, packedMemory := fencedMemory(t, 1<<17), fencedMemory(t, 1<<17)
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(13, seed))
		body, want := randomSnappy(rng, 1+rng.IntN(400))
		size, damaged := len(want), rng.IntN(2) == 0
		if damaged {
			body, size = damageSnappy(rng, body, size)
		}
		block := snappyBlock(body, size)
		for _, d := range snappyDecoders {
			for _, atEnd := range []bool{false, true} {
				out, packed := outMemory[:size], packedMemory[:len(block)]
				if atEnd {
					out, packed = outMemory[len(outMemory)-size:], packedMemory[len(packedMemory)-len(block):]
				}
				copy(packed, block)
				if err := d.decode(out, packed); !damaged && (err != nil || !bytes.Equal(out, want)) {
					t.Fatalf("seed %d, %s: wrong bytes of %d, or %v", seed, d.name, len(want), err)
				}
			}
		}
	}
}
