package kernels

import (
	"slices"
	"sync"
)

// keptMemory is device memory that was given back and that the driver has not: a query takes what one before it
// has left. The driver takes a fifth of a millisecond to map some megabytes, and more to unmap them, since it waits
// for the device; a query has fifty of them.
type keptMemory struct {
	limit      int64 // bytes
	wasteLimit int64 // bytes that blocks which were taken have beyond what was asked for, together

	mu     sync.Mutex
	blocks []keptBlock // the oldest first
	bytes  int64
	wasted int64
}

// keptBlock is the memory from address at on.
type keptBlock struct {
	at    uint64
	bytes int64
}

const (
	keptShare = 8       // of the memory of a device is kept, at most
	keptMin   = 1 << 20 // bytes: the driver has smaller ones at hand
	keptWaste = 4       // a block may be larger by this part
)

// take returns the smallest block of n bytes or a few more, which are wasted until reclaim; ok is false where there is
// none.
func (k *keptMemory) take(n int64) (b keptBlock, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	best := -1
	for i, b := range k.blocks {
		if b.bytes >= n && b.bytes <= n+min(n/keptWaste, k.wasteLimit-k.wasted) &&
			(best < 0 || b.bytes < k.blocks[best].bytes) {
			best = i
		}
	}
	if best < 0 {
		return b, false
	}
	b = k.blocks[best]
	k.blocks = slices.Delete(k.blocks, best, best+1)
	k.bytes -= b.bytes
	k.wasted += b.bytes - n
	return b, true
}

// reclaim says that a block that was taken for n bytes is given back.
func (k *keptMemory) reclaim(b keptBlock, n int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wasted -= b.bytes - n
}

// put keeps a block, and returns the blocks that go for it: itself, or older ones.
func (k *keptMemory) put(b keptBlock) (gone []keptBlock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if b.bytes < keptMin || b.bytes > k.limit {
		return []keptBlock{b}
	}
	k.blocks = append(k.blocks, b)
	k.bytes += b.bytes
	for k.bytes > k.limit {
		gone = append(gone, k.blocks[0])
		k.bytes -= k.blocks[0].bytes
		k.blocks = slices.Delete(k.blocks, 0, 1)
	}
	return gone
}

// drop returns all blocks, which are kept no more.
func (k *keptMemory) drop() []keptBlock {
	k.mu.Lock()
	defer k.mu.Unlock()
	gone := k.blocks
	k.blocks, k.bytes = nil, 0
	return gone
}

// size returns how many bytes are kept.
func (k *keptMemory) size() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// waste returns how many bytes are wasted.
func (k *keptMemory) waste() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wasted
}
