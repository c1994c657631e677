package encode

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Interner numbers the distinct strings of one column of Bound.Columns, from 1, for all keys that
// are the column. All workers of a query share it. A worker looks up as many strings at once as it
// has, and locks one shard after the other, so that workers seldom wait for each other.
type Interner struct {
	shards [internShards]internShard // by the first bits of the hash
	given  atomic.Uint32             // numbers that have been given out

	// blocks are the strings by number: block b has the numbers from 2^(b+internBlockBits) -
	// 2^internBlockBits + 1 on. A block never moves once it is there.
	blocks [33 - internBlockBits]atomic.Pointer[[]rowdata.Bytes2]
}

// internShard is a hash table of the strings whose hashes begin alike. It probes linearly; a slot is
//
//	| salt (32 bits) | number of the string (32 bits) |
//
// and 0 where it is empty.
type internShard struct {
	mu    sync.RWMutex
	slots []uint64
	used  int
	heap  rowdata.Heap // the bytes of long strings
}

const (
	internShardBits = 4
	internShards    = 1 << internShardBits
	internSlotsMin  = 64 // of a shard that has a string
	internBlockBits = 10
)

var errTooManyStrings = errors.New(
	"a dictionary-encoded key column has more than 2^32-2 distinct strings; store it as plain strings")

// NewInterners returns the interners of a query, by column of b.Columns; nil for a column that is
// no interned key. Keys of the same column share one: a dictionary has one list of codes, whichever
// key it is packed for.
func NewInterners(b *rowdata.Bound) []*Interner {
	list := make([]*Interner, len(b.Columns))
	for k, c := range b.KeyColumns {
		if b.Keys.Fields[k].Interned && list[c] == nil {
			list[c] = new(Interner)
		}
	}
	return list
}

// internBatch is the scratch of one worker's calls of intern.
type internBatch struct {
	hashes  []uint64
	order   []uint32 // the strings that are not NULL, shard by shard
	unknown []uint32 // the strings of one shard that have no number yet
}

// intern writes the numbers of strings of two words each, and 0 for NULL. A nil valid means that
// there is no NULL.
func (in *Interner) intern(codes, words []uint64, valid []uint8, b *internBatch) error {
	values := rowdata.View[rowdata.Bytes2](words)[:len(codes)]
	ends := b.sort(values, valid)
	clear(codes)
	from := 0
	for s := range in.shards {
		some := b.order[from:ends[s]]
		from = ends[s]
		if len(some) == 0 {
			continue
		}
		shard := &in.shards[s]
		shard.mu.RLock()
		for _, i := range some {
			codes[i] = shard.guess(b.hashes[i])
		}
		b.unknown = b.unknown[:0]
		for _, i := range some {
			if codes[i] != 0 && !in.value(codes[i]).Equal(&values[i]) {
				codes[i] = in.find(shard, &values[i], b.hashes[i])
			}
			if codes[i] == 0 {
				b.unknown = append(b.unknown, i)
			}
		}
		shard.mu.RUnlock()
		if err := in.add(shard, codes, values, b); err != nil {
			return err
		}
	}
	return nil
}

// sort hashes the strings that are not NULL, and sorts their indexes by shard. It returns where in
// b.order each shard ends.
func (b *internBatch) sort(values []rowdata.Bytes2, valid []uint8) (ends [internShards]int) {
	b.hashes, b.order = rowdata.Grow(b.hashes, len(values)), rowdata.Grow(b.order, len(values))
	for i := range values {
		if valid == nil || valid[i] != 0 {
			b.hashes[i] = partition.HashBytes(values[i].Bytes(), 0)
			ends[b.hashes[i]>>(64-internShardBits)]++
		}
	}
	total := 0
	for s, n := range ends {
		ends[s] = total
		total += n
	}
	for i := range values {
		if valid == nil || valid[i] != 0 {
			end := &ends[b.hashes[i]>>(64-internShardBits)]
			b.order[*end] = uint32(i)
			*end++
		}
	}
	return ends
}

// guess returns the number of the first string that may be v, or 0 where the shard has none. It
// loads no string, so that the loads of many strings' slots overlap.
// Requires: shard.mu is held, to read at least.
func (shard *internShard) guess(hash uint64) uint64 {
	if len(shard.slots) == 0 {
		return 0
	}
	mask, salt := uint64(len(shard.slots)-1), internSalt(hash)
	for at := salt; ; at++ {
		if slot := shard.slots[at&mask]; slot == 0 || slot>>32 == salt {
			return slot & math.MaxUint32
		}
	}
}

// find returns the number of a string, or 0.
// Requires: shard.mu is held, to read at least.
func (in *Interner) find(shard *internShard, v *rowdata.Bytes2, hash uint64) uint64 {
	if len(shard.slots) == 0 {
		return 0
	}
	mask, salt := uint64(len(shard.slots)-1), internSalt(hash)
	for at := salt; ; at++ {
		slot := shard.slots[at&mask]
		number := slot & math.MaxUint32
		if slot == 0 || slot>>32 == salt && in.value(number).Equal(v) {
			return number
		}
	}
}

// internSalt returns the upper half of a slot: bits of the hash that do not name the shard. The
// lowest of them name the slot, so that a shard grows without a look at its strings.
func internSalt(hash uint64) uint64 { return hash << internShardBits >> 32 }

// add numbers the strings of b.unknown, some of which another worker may have numbered since.
func (in *Interner) add(shard *internShard, codes []uint64, values []rowdata.Bytes2, b *internBatch) error {
	if len(b.unknown) == 0 {
		return nil
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.reserve(len(b.unknown))
	mask := uint64(len(shard.slots) - 1)
	for _, i := range b.unknown {
		hash := b.hashes[i]
		if codes[i] = in.find(shard, &values[i], hash); codes[i] != 0 {
			continue
		}
		number := uint64(in.given.Add(1))
		if number >= math.MaxUint32 {
			in.given.Add(^uint32(0))
			return errTooManyStrings
		}
		in.put(number, shard.heap.Keep(values[i]))
		shard.put(mask, internSalt(hash)<<32|number)
		shard.used++
		codes[i] = number
	}
	return nil
}

// reserve makes room for more strings at a load factor of at most 1/2.
func (shard *internShard) reserve(more int) {
	if 2*(shard.used+more) <= len(shard.slots) {
		return
	}
	old := shard.slots
	shard.slots = make([]uint64, max(1<<bits.Len(uint(2*(shard.used+more)-1)), internSlotsMin))
	for _, slot := range old {
		if slot != 0 {
			shard.put(uint64(len(shard.slots)-1), slot)
		}
	}
}

// put enters a slot.
func (shard *internShard) put(mask, slot uint64) {
	at := slot >> 32
	for shard.slots[at&mask] != 0 {
		at++
	}
	shard.slots[at&mask] = slot
}

// place returns where the string of a number is.
func place(number uint64) (block int, at uint64) {
	n := number - 1 + 1<<internBlockBits
	block = bits.Len64(n) - 1 - internBlockBits
	return block, n - 1<<(block+internBlockBits)
}

// put keeps the string of a number.
func (in *Interner) put(number uint64, v rowdata.Bytes2) {
	b, at := place(number)
	block := in.blocks[b].Load()
	if block == nil {
		made := make([]rowdata.Bytes2, 1<<(b+internBlockBits))
		if in.blocks[b].CompareAndSwap(nil, &made) {
			block = &made
		} else {
			block = in.blocks[b].Load()
		}
	}
	(*block)[at] = v
}

// value returns the string of a number whose shard is locked, or that a caller of intern got.
func (in *Interner) value(number uint64) *rowdata.Bytes2 {
	b, at := place(number)
	return &(*in.blocks[b].Load())[at]
}

// String returns the string of a number that intern has given out. Its bytes are valid as long as
// the interner.
func (in *Interner) String(number uint64) rowdata.Bytes2 { return *in.value(number) }

// Len returns how many strings have numbers.
func (in *Interner) Len() int { return int(in.given.Load()) }
