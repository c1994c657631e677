package rowdata

import "unsafe"

// Heap owns the memory that the words of keys and states refer to: long strings, and the blocks of
// states that grow. Memory is taken in chunks that never move and is given back all at once; a
// block that a state has outgrown is used again for the next state of that size.
//
// A Heap is not safe for concurrent use. The zero value is empty, ready, and takes GoMemory.
type Heap struct {
	memory Memory
	chunks [][]uint64               // chunks of several blocks
	large  map[*uint64][]uint64     // chunks of one block each, by address; nil before the first
	rest   []uint64                 // the unused end of the newest of chunks
	free   map[int][]unsafe.Pointer // blocks given back, by size in words; nil before the first
	words  int64                    // of all chunks
}

// Chunks double from the least to the most, so that small heaps stay small and large ones take
// few chunks. A larger block gets a chunk of its own.
const (
	heapChunkWordsMin = 1 << 9  // 4 KiB
	heapChunkWordsMax = 1 << 17 // 1 MiB
	heapBlockWordsMax = heapChunkWordsMax / 4
)

// NewHeap returns an empty heap that takes its chunks from m.
func NewHeap(m Memory) Heap { return Heap{memory: m} }

// Bytes returns how much memory the heap holds.
func (h *Heap) Bytes() int64 { return 8 * h.words }

// Alloc returns n words that are not cleared. n must be positive.
func (h *Heap) Alloc(n int) []uint64 {
	if n > len(h.rest) {
		if n > heapBlockWordsMax {
			c := h.chunk(n)
			if h.large == nil {
				h.large = make(map[*uint64][]uint64)
			}
			h.large[unsafe.SliceData(c)] = c
			return c[:n:n]
		}
		h.rest = h.chunk(max(n, heapChunkWordsMin, min(int(h.words), heapChunkWordsMax)))
		h.chunks = append(h.chunks, h.rest)
	}
	block := h.rest[:n:n]
	h.rest = h.rest[n:]
	return block
}

// chunk takes n words of memory.
func (h *Heap) chunk(n int) []uint64 {
	if h.memory == nil {
		h.memory = GoMemory
	}
	h.words += int64(n)
	return h.memory.Alloc(n)
}

// AllocBlock returns a cleared block of n words. Callers keep to few sizes, such as powers of two.
func (h *Heap) AllocBlock(n int) []uint64 {
	block := h.TakeBlock(n)
	clear(block)
	return block
}

// TakeBlock is AllocBlock for callers that write the block themselves: it is not cleared.
func (h *Heap) TakeBlock(n int) []uint64 {
	if list := h.free[n]; len(list) > 0 {
		h.free[n] = list[:len(list)-1]
		return unsafe.Slice((*uint64)(list[len(list)-1]), n)
	}
	return h.Alloc(n)
}

// FreeBlock takes back a block of AllocBlock or TakeBlock.
func (h *Heap) FreeBlock(block []uint64) {
	if len(block) == 0 {
		return
	}
	if c, ok := h.large[unsafe.SliceData(block)]; ok {
		delete(h.large, unsafe.SliceData(block))
		h.words -= int64(len(c))
		h.memory.Free(c)
		return
	}
	if h.free == nil {
		h.free = make(map[int][]unsafe.Pointer)
	}
	h.free[len(block)] = append(h.free[len(block)], unsafe.Pointer(unsafe.SliceData(block)))
}

// Keep makes a value of any length independent of the memory that it was made from. It writes the
// value's address alone: a value that is returned is written in halves and then read as a whole,
// and such a read waits until the string has reached memory.
func (h *Heap) Keep(v *Bytes2) {
	if !v.Long() {
		return
	}
	words := h.Alloc(v.heapWords())
	copy(View[byte](words), v.Bytes())
	v[1] = Address(words)
}

// Replace makes old a value that is kept as v. It uses the older value's memory again where that is
// large enough: a running maximum does not fill the heap.
func (h *Heap) Replace(old, v *Bytes2) {
	if !v.Long() || !old.Long() || old.heapWords() < v.heapWords() {
		*old = *v
		h.Keep(old)
		return
	}
	copy(View[byte](WordsAt(&old[1], old.heapWords())), v.Bytes())
	old[0] = v[0]
}

// heapWords returns how many words of a heap a long value takes.
func (v *Bytes2) heapWords() int { return (v.Len() + 7) / 8 }

// Address returns the word that refers to a block.
func Address(block []uint64) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(block))))
}

// Reset gives all memory back. Nothing may refer to the heap any more.
func (h *Heap) Reset() {
	for _, c := range h.chunks {
		h.memory.Free(c)
	}
	for _, c := range h.large {
		h.memory.Free(c)
	}
	*h = Heap{memory: h.memory}
}
