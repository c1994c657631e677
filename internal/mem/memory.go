package mem

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// Memory is the memory of an engine's pages, heaps, tables and decoded columns, and its budget. The
// collector neither clears nor scans it. Blocks have sizes of powers of two up to 2 MiB, cut from
// slabs of that size; above that they are mappings of their own, of eight sizes to each doubling, so
// that a block fits the next column chunk, too, which has about the size of the last.
//
// A free block is warm while it is resident, and cold once its pages are the system's again. Blocks
// in use and warm blocks together stay within the budget as long as blocks in use do (T1).
type Memory struct {
	*state
	ctx context.Context // of the work that reserves: its end ends a reservation that waits
}

// state is what a Memory and its views share.
type state struct {
	huge    bool                // slabs are backed by huge pages, and resident from the first touch
	limit   atomic.Int64        // bytes
	used    atomic.Int64        // bytes of blocks in use
	warm    atomic.Int64        // bytes of warm blocks
	peak    atomic.Int64        // most bytes used and warm
	classes [slabBits + 1]class // by log2 of the block's bytes; of the first, the slabs that are not cut yet
	reservations
	mappings
	blocks sync.Map // sizes in words of the blocks in use, by *uint64, where invariants are checked
}

// mappings are the mappings of the system, and the blocks that are mappings of their own.
type mappings struct {
	mu        sync.Mutex                 // guards the other fields
	regions   [][]byte                   // of slabs
	large     map[*uint64][]byte         // of blocks above a slab, by block
	free      map[int64][]unsafe.Pointer // warm blocks above a slab, by size
	warmLarge int64                      // bytes of free
}

// class holds the free blocks of one size.
type class struct {
	mu         sync.Mutex
	warm, cold []unsafe.Pointer
	_          [64]byte
	nearby     [nearbyLists]nearby
}

// nearby is warm blocks of a class for some of the goroutines, who take and give back blocks there
// without waiting for the other goroutines: pages of 4 KiB come and go by the thousand, and a lock
// that 16 workers take for a few instructions each is handed on by waking them one by one.
type nearby struct {
	mu   sync.Mutex
	warm []unsafe.Pointer
	_    [96]byte // Processors exchange memory by lines of 64 B: no line has parts of two lists.
}

const (
	nearbyBits  = 5
	nearbyLists = 1 << nearbyBits

	// nearbyBytes is the most that one list holds of a class, 4 MiB in all lists of all classes.
	nearbyBytes = 32 << 10
)

// near returns the list of the goroutine that calls. Goroutines are told apart by where their stacks
// lie, which costs nothing to find out. Two of them may have the same list, and a stack that grows
// moves: either costs time and nothing else.
func (c *class) near() *nearby {
	var here byte
	const golden = 0x9E3779B97F4A7C15 // 2^64 / the golden ratio: neighbours are spread
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 13
	return &c.nearby[stack*golden>>(64-nearbyBits)]
}

const (
	blockBitsMin = 12 // 4 KiB, a page of the system
	slabBits     = 21 // 2 MiB, a huge page
	slabBytes    = 1 << slabBits

	// regionSlabs is how many slabs are mapped at once. They take address space, not memory.
	regionSlabs = 16

	// warmLargeShare is the part of the budget that may be warm blocks above a slab: mapping such a
	// block anew costs what clearing it costs, a tenth of a second per GB.
	warmLargeShare = 32

	// hugeLimitMin is the least budget for which the unused part of a slab does not matter.
	hugeLimitMin = 1 << 30
)

var _ rowdata.Memory = (*Memory)(nil)

// NewMemory returns memory with a budget in bytes.
func NewMemory(limit int64) *Memory {
	m := &Memory{state: &state{
		huge:     limit >= hugeLimitMin,
		mappings: mappings{large: make(map[*uint64][]byte), free: make(map[int64][]unsafe.Pointer)},
	}, ctx: context.Background()}
	m.limit.Store(limit)
	return m
}

// WithContext returns a view of the memory for the work of a context: where the context ends, a
// reservation that waits ends with its cause. Everything else is shared.
func (m *Memory) WithContext(ctx context.Context) *Memory { return &Memory{m.state, ctx} }

// SetLimit changes the budget. Blocks in use stay.
func (m *Memory) SetLimit(limit int64) {
	m.limit.Store(limit)
	m.trim()
}

// Limit returns the budget in bytes.
func (m *Memory) Limit() int64 { return m.limit.Load() }

// Left implements rowdata.Memory.
func (m *Memory) Left() int64 {
	return m.limit.Load() - m.used.Load() - m.reserved.Load() - m.settling.Load()
}

// Used returns the bytes of blocks in use.
func (m *Memory) Used() int64 { return m.used.Load() }

// Resident returns how many bytes the system has given for blocks.
func (m *Memory) Resident() int64 { return m.used.Load() + m.warm.Load() }

// Peak returns the most that Resident has been.
func (m *Memory) Peak() int64 { return m.peak.Load() }

// BlockBytes returns how many bytes a block of at least size bytes takes.
func BlockBytes(size int) int64 {
	if size > slabBytes {
		step := int64(1) << (bits.Len(uint(size-1)) - 4)
		return (int64(size) + step - 1) &^ (step - 1)
	}
	return 1 << max(bits.Len(uint(max(size, 1)-1)), blockBitsMin)
}

// ErrNoMemory marks memory that the system does not give.
var ErrNoMemory = errors.New("the system has no memory")

// Alloc implements rowdata.Memory. Where the system has no memory it ends the work of the goroutine
// by spawn.Fail, with ErrNoMemory.
func (m *Memory) Alloc(n int) []uint64 {
	if n == 0 {
		return nil
	}
	bytes := 8 * n
	if bytes > slabBytes {
		return m.allocLarge(n)
	}
	bitsOf := max(bits.Len(uint(bytes-1)), blockBitsMin)
	size := int64(1) << bitsOf
	p := m.classes[bitsOf].take(m, bitsOf)
	m.used.Add(size) // take may fail
	m.grown()
	block := unsafe.Slice((*uint64)(p), size/8)
	if invariants.Enabled {
		m.checkTaken(block)
	}
	return block[:n]
}

// checkTaken panics if a block that is given out is in use already (T1).
func (m *Memory) checkTaken(block []uint64) {
	_, twice := m.blocks.LoadOrStore(unsafe.SliceData(block), len(block))
	invariants.Checkf(!twice, "T1: a block of %d B in use is given out again", 8*len(block))
}

// checkFreed panics unless a block is in use, of this size (T1).
func (m *Memory) checkFreed(block []uint64) {
	words, used := m.blocks.LoadAndDelete(unsafe.SliceData(block))
	invariants.Checkf(used && words == len(block),
		"T1: %d B are given back, of a block in use of %v words", 8*len(block), words)
}

// take returns a free block, a warm one if there is one.
func (c *class) take(m *Memory, bitsOf int) unsafe.Pointer {
	if most := nearbyBytes >> bitsOf; most > 0 {
		n := c.near()
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.warm) == 0 {
			c.lend(n, (most+1)/2)
		}
		if p, ok := pop(&n.warm); ok {
			m.warm.Add(-1 << bitsOf)
			return p
		}
	}
	return c.takeShared(m, bitsOf)
}

// lend moves up to `most` warm blocks of the class to a list.
// Requires: n.mu is held.
func (c *class) lend(n *nearby, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := len(c.warm) - min(most, len(c.warm))
	n.warm = append(n.warm, c.warm[rest:]...)
	c.warm = c.warm[:rest]
}

// put keeps a block of the class warm.
func (c *class) put(m *Memory, bitsOf int, p unsafe.Pointer) {
	m.warm.Add(1 << bitsOf)
	most := nearbyBytes >> bitsOf
	if most == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.warm = append(c.warm, p)
		return
	}
	n := c.near()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.warm = append(n.warm, p); len(n.warm) > most {
		c.takeBack(n, most/2)
	}
}

// takeBack moves all but `but` warm blocks of a list to the blocks of the class.
// Requires: n.mu is held.
func (c *class) takeBack(n *nearby, but int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warm = append(c.warm, n.warm[but:]...)
	n.warm = n.warm[:but]
}

// takeShared returns a free block that lies in none of the lists.
func (c *class) takeShared(m *Memory, bitsOf int) unsafe.Pointer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := pop(&c.warm); ok {
		m.warm.Add(-1 << bitsOf)
		return p
	}
	if p, ok := pop(&c.cold); ok {
		return p
	}
	slab := m.slab()
	list := &c.cold
	if m.huge {
		list = &c.warm
		m.warm.Add(slabBytes - 1<<bitsOf)
	}
	for at := slabBytes - 1<<bitsOf; at > 0; at -= 1 << bitsOf {
		*list = append(*list, unsafe.Add(slab, at))
	}
	return slab
}

func pop(list *[]unsafe.Pointer) (p unsafe.Pointer, ok bool) {
	n := len(*list)
	if n == 0 {
		return nil, false
	}
	p = (*list)[n-1]
	*list = (*list)[:n-1]
	return p, true
}

// mapAligned returns address space of n bytes that begins at a multiple of slabBytes, and the
// mapping that has it.
func (m *Memory) mapAligned(n int) (base unsafe.Pointer, region []byte) {
	region = mapMemory(n + slabBytes)
	base = unsafe.Pointer(unsafe.SliceData(region))
	base = unsafe.Add(base, -uintptr(base)&(slabBytes-1))
	adviseHuge(unsafe.Slice((*byte)(base), n), m.huge)
	return base, region
}

// slab returns address space for a slab.
func (m *Memory) slab() unsafe.Pointer {
	m.mu.Lock()
	defer m.mu.Unlock()
	free := &m.classes[0].cold
	if p, ok := pop(free); ok {
		return p
	}
	base, region := m.mapAligned(regionSlabs * slabBytes)
	m.regions = append(m.regions, region)
	for i := regionSlabs - 1; i > 0; i-- {
		*free = append(*free, unsafe.Add(base, i*slabBytes))
	}
	return base
}

// allocLarge returns a block above a slab.
func (m *Memory) allocLarge(n int) []uint64 {
	size := BlockBytes(8 * n)
	p := m.takeLarge(size)
	block := unsafe.Slice((*uint64)(p), size/8)
	if invariants.Enabled {
		m.checkTaken(block)
	}
	m.used.Add(size)
	m.grown()
	return block[:n]
}

// takeLarge returns a warm block of a size above a slab, or maps one.
func (m *Memory) takeLarge(size int64) unsafe.Pointer {
	m.mu.Lock()
	p, ok := m.popLarge(size)
	m.mu.Unlock()
	if ok {
		return p
	}
	base, region := m.mapAligned(int(size))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.large[(*uint64)(base)] = region
	return base
}

// popLarge takes a block out of the warm blocks of a size.
// Requires: m.mu is held.
func (m *Memory) popLarge(size int64) (unsafe.Pointer, bool) {
	list := m.free[size]
	p, ok := pop(&list)
	if ok {
		m.free[size] = list
		m.warmLarge -= size
		m.warm.Add(-size)
	}
	return p, ok
}

// freeLarge keeps a block above a slab warm, or gives it back to the system.
func (m *Memory) freeLarge(block []uint64) {
	size, first := int64(8*len(block)), unsafe.SliceData(block)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used.Add(-size)
	if m.warmLarge+size > m.limit.Load()/warmLargeShare {
		m.unmapLarge(first)
		return
	}
	m.free[size] = append(m.free[size], unsafe.Pointer(first))
	m.warmLarge += size
	m.warm.Add(size)
}

// unmapLarge gives a block above a slab back to the system.
// Requires: m.mu is held.
func (m *Memory) unmapLarge(first *uint64) {
	unmapMemory(m.large[first])
	delete(m.large, first)
}

// Free implements rowdata.Memory.
func (m *Memory) Free(block []uint64) {
	if cap(block) == 0 {
		return
	}
	block = block[:cap(block)]
	if invariants.Enabled {
		m.checkFreed(block)
		for i := range block {
			block[i] = 0xDBDBDBDBDBDBDBDB
		}
	}
	size := 8 * len(block)
	if size > slabBytes {
		m.freeLarge(block)
	} else {
		m.used.Add(-int64(size))
		bitsOf := bits.Len(uint(size - 1))
		m.classes[bitsOf].put(m, bitsOf, unsafe.Pointer(unsafe.SliceData(block)))
	}
	if m.excess() > 0 {
		m.trim()
	}
}

// excess returns by how many bytes resident blocks and reservations are above the budget.
func (m *Memory) excess() int64 { return m.Resident() + m.reserved.Load() - m.limit.Load() }

// grown notes a new block, and makes room for it.
func (m *Memory) grown() {
	if m.excess() > 0 {
		m.trim()
	}
	resident := m.Resident()
	for {
		peak := m.peak.Load()
		if resident <= peak || m.peak.CompareAndSwap(peak, resident) {
			return
		}
	}
}

// trim turns warm blocks cold, the largest first, until resident blocks are within the budget.
func (m *Memory) trim() {
	m.trimLarge()
	for bitsOf := slabBits; bitsOf >= blockBitsMin; bitsOf-- {
		c := &m.classes[bitsOf]
		if nearbyBytes>>bitsOf > 0 && m.excess() > 0 {
			c.takeBackAll()
		}
		for m.excess() > 0 {
			c.mu.Lock()
			p, ok := pop(&c.warm)
			if ok {
				invariants.Sometimes("mem: a warm block turns cold")
				m.warm.Add(-1 << bitsOf)
				discard(unsafe.Slice((*byte)(p), 1<<bitsOf))
				c.cold = append(c.cold, p)
			}
			c.mu.Unlock()
			if !ok {
				break
			}
		}
	}
}

// takeBackAll moves the blocks of all lists to the blocks of all.
func (c *class) takeBackAll() {
	for i := range c.nearby {
		n := &c.nearby[i]
		n.mu.Lock()
		if len(n.warm) > 0 {
			c.takeBack(n, 0)
		}
		n.mu.Unlock()
	}
}

// trimLarge is trim for blocks above a slab.
func (m *Memory) trimLarge() {
	if m.excess() <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for size := range m.free {
		for m.excess() > 0 {
			p, ok := m.popLarge(size)
			if !ok {
				delete(m.free, size)
				break
			}
			m.unmapLarge((*uint64)(p))
		}
	}
}

// Close gives all memory back to the system. Nothing may refer to it any more.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, region := range m.regions {
		unmapMemory(region)
	}
	for _, region := range m.large {
		unmapMemory(region)
	}
	m.regions, m.large = nil, make(map[*uint64][]byte)
	m.free, m.warmLarge = make(map[int64][]unsafe.Pointer), 0
	for i := range m.classes {
		c := &m.classes[i]
		c.takeBackAll()
		c.warm, c.cold = nil, nil
	}
	m.used.Store(0)
	m.warm.Store(0)
}
