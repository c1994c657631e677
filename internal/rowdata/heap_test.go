package rowdata

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
)

// Would catch blocks that overlap or are shorter than asked for, around the sizes where chunks are
// made and beyond the largest.
func TestHeapAlloc(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Heap
	if h.Bytes() != 0 {
		t.Errorf("an empty heap holds %d B", h.Bytes())
	}
	sizes := []int{1, 2, heapChunkWordsMin - 1, heapChunkWordsMin, heapChunkWordsMin + 1,
		heapChunkWordsMax / 4, heapChunkWordsMax/4 + 1, heapChunkWordsMax, heapChunkWordsMax + 1}
	var blocks [][]uint64
	var words int64
	for i := range 300 {
		n := 1 + rng.IntN(100)
		if i%10 == 0 {
			n = sizes[i/10%len(sizes)]
		}
		block := h.Alloc(n)
		if len(block) != n || cap(block) != n {
			t.Fatalf("asked for %d words, got %d of capacity %d", n, len(block), cap(block))
		}
		for j := range block {
			block[j] = uint64(i)
		}
		blocks = append(blocks, block)
		words += int64(n)
		if h.Bytes() < 8*words || h.Bytes() > 3*8*words+8*heapChunkWordsMin {
			t.Fatalf("%d B for blocks of %d B", h.Bytes(), 8*words)
		}
	}
	for i, block := range blocks {
		for _, w := range block {
			if w != uint64(i) {
				t.Fatalf("block %d was overwritten by block %d", i, w)
			}
		}
	}
	if h.Reset(); h.Bytes() != 0 {
		t.Errorf("after Reset the heap holds %d B", h.Bytes())
	}
}

// Would catch a block given out twice, one that still holds its last owner's words, and memory
// that is not used again: a vector that grows would then leave all its sizes behind.
func TestHeapBlocks(t *testing.T) {
	var h Heap
	block := h.AllocBlock(64)
	for i := range block {
		block[i] = 7
	}
	h.FreeBlock(block)
	h.FreeBlock(nil)
	if other := h.AllocBlock(32); Address(other) == Address(block) {
		t.Error("a block of 64 words serves for 32")
	}
	again := h.AllocBlock(64)
	if Address(again) != Address(block) {
		t.Error("a block given back is not used again")
	}
	for i, w := range again {
		if w != 0 {
			t.Fatalf("word %d of a new block is %d", i, w)
		}
	}
	if other := h.AllocBlock(64); Address(other) == Address(again) {
		t.Error("a block is given out twice")
	}
	held := h.Bytes()
	for range 10_000 {
		h.FreeBlock(again)
		again = h.AllocBlock(64)
	}
	if h.Bytes() != held {
		t.Errorf("the heap grows from %d to %d B while one block comes and goes", held, h.Bytes())
	}
}

// Would catch values that keep the memory they were made from, a Replace that writes past the
// value it replaces or into one of another, and a running value that fills the heap.
func TestHeapKeepAndReplace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var h Heap
	neighbour := []byte("a neighbour of some length")
	before, after := ToBytes2(neighbour), ToBytes2(neighbour)
	h.Keep(&before)
	var kept Bytes2
	for i := range 5000 {
		b := make([]byte, rng.IntN(100))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		want := bytes.Clone(b)
		value := ToBytes2(b)
		h.Replace(&kept, &value)
		clear(b)
		if !bytes.Equal(kept.Bytes(), want) {
			t.Fatalf("value %d: %x, want %x", i, kept.Bytes(), want)
		}
		if i == 0 {
			h.Keep(&after)
		}
	}
	if !bytes.Equal(before.Bytes(), neighbour) || !bytes.Equal(after.Bytes(), neighbour) {
		t.Errorf("neighbours are %q and %q", before.Bytes(), after.Bytes())
	}
	rising := Heap{}
	kept = Bytes2{}
	for n := range 10_000 {
		value := ToBytes2(bytes.Repeat([]byte{'x'}, 13+n%4))
		rising.Replace(&kept, &value)
	}
	if rising.Bytes() > 8*heapChunkWordsMin {
		t.Errorf("a running value of at most 16 B takes %d B", rising.Bytes())
	}
	runtime.KeepAlive(&h)
	runtime.KeepAlive(&rising)
}
