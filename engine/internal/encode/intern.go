package encode

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Interner numbers the distinct strings of one column of Bound.Columns, from 1, for all keys that
// are the column. All workers of a query share it. A worker looks strings up without a lock, and
// locks a shard to add the strings that it did not find.
type Interner struct {
	slots [internShards]atomic.Pointer[[]uint64] // of the shards; nil before a shard's first string

	// blocks are the strings by number: block b has the numbers from 2^(b+internBlockBits) -
	// 2^internBlockBits + 1 on. A block never moves once it is there.
	blocks [33 - internBlockBits]atomic.Pointer[[]rowdata.Bytes2]

	_      cacheLine     // Who looks up reads what is above, who adds writes what is below.
	given  atomic.Uint64 // numbers that shards have taken
	_      cacheLine
	shards [internShards]internShard // by the first bits of the hash

	sharing sync.Mutex
	shared  []*sharedDictionary // that workers use
	spare   []*sharedDictionary // whose memory is free

	// Of a column that is Numbered, in place of shards.
	adopting sync.Mutex
	adopted  []arrow.ArrayData // whose strings have numbers
}

// cacheLine keeps words apart that workers write from words that other workers use: processors
// exchange memory by lines, and some fetch two at a time.
type cacheLine [128]byte

// internShard is a hash table of the strings whose hashes begin alike. It probes linearly; a slot is
//
//	| salt (32 bits) | number of the string (32 bits) |
//
// and 0 where it is empty. Slots are loaded and stored atomically: a slot is written once, after the
// string that it numbers.
type internShard struct {
	mu    sync.Mutex   // of workers that add strings
	slots []uint64     // as in Interner.slots
	used  int          // slots
	heap  rowdata.Heap // the bytes of long strings

	// Numbers that the shard has taken and no string has: next up to end. Strings of one number after
	// the other lie in one cache line: workers would exchange it if each took the next number.
	next, end uint64
	_         cacheLine
}

const (
	internShardBits = 4
	internShards    = 1 << internShardBits
	internSlotsMin  = 64  // of a shard that has a string
	internStepRows  = 512 // strings that are looked up at once: their scratch fits the L1 cache
	internBlockBits = 10
	internTakeMax   = 64 // numbers that a shard takes at once; never more than the shard has strings
	internGrowthMax = 7  // strings to come that a shard makes room for, for each that it has
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

// Numbers writes the numbers of strings. It keeps no memory of strings. About `more` further strings
// are to come.
func (in *Interner) Numbers(numbers []uint64, strings []rowdata.Bytes2, more int) error {
	return in.intern(numbers, rowdata.View[uint64](strings), more, new(internBatch))
}

// Find writes the numbers of strings, and 0 for strings that have none.
func (in *Interner) Find(numbers []uint64, strings []rowdata.Bytes2) {
	tables := in.tables()
	for i := range strings {
		numbers[i] = in.find(&tables, &strings[i], partition.HashBytes(strings[i].Bytes(), 0))
	}
}

// internBatch is the scratch of one worker's calls of intern: of a step's strings.
type internBatch struct {
	hashes  [internStepRows]uint64
	slots   [internStepRows]uint64         // the first that a probe looks at
	stored  [internStepRows]rowdata.Bytes2 // by position in known: the string of the number
	known   [internStepRows]uint16         // the strings that may have numbers
	unknown [internStepRows]uint16         // the strings that have none
	sorted  [internStepRows]uint16         // unknown, shard by shard
}

// intern writes the numbers of strings of two words each. As many more distinct strings are expected
// in later calls: a shard that grows makes room for its part of them.
func (in *Interner) intern(codes, words []uint64, more int, b *internBatch) error {
	values := rowdata.View[rowdata.Bytes2](words)[:len(codes)]
	for from := 0; from < len(codes); from += internStepRows {
		to := min(from+internStepRows, len(codes))
		unknown := in.seek(codes[from:to], values[from:to], b)
		if len(unknown) == 0 {
			continue
		}
		if err := in.add(unknown, codes[from:to], values[from:to], more, b); err != nil {
			return err
		}
	}
	return nil
}

// seek writes the numbers of a step's strings, and returns the strings that have none, by index. It
// goes over all strings once for each load of a string that may miss the caches: nothing depends on
// the load then but a later loop, and the loads of many strings overlap.
func (in *Interner) seek(codes []uint64, values []rowdata.Bytes2, b *internBatch) (unknown []uint16) {
	tables := in.tables()
	for i := range values {
		b.hashes[i] = partition.HashBytes(values[i].Bytes(), 0)
	}
	for i, hash := range b.hashes[:len(values)] {
		slots := tables[hash>>(64-internShardBits)]
		b.slots[i] = atomic.LoadUint64(&slots[internSalt(hash)&uint64(len(slots)-1)])
	}
	known, missing := b.guess(codes, &tables)
	for k, i := range b.known[:known] {
		b.stored[k] = *in.value(codes[i])
	}
	touchBytes(b.stored[:known])
	for k, i := range b.known[:known] {
		if b.stored[k].Equal(&values[i]) {
			continue
		}
		if codes[i] = in.find(&tables, &values[i], b.hashes[i]); codes[i] == 0 {
			b.unknown[missing] = i
			missing++
		}
	}
	return b.unknown[:missing]
}

// touchBytes loads a byte of each long string.
func touchBytes(values []rowdata.Bytes2) {
	sum := byte(0)
	for i := range values {
		if v := &values[i]; v.Long() {
			sum ^= *(*byte)(v.Address())
		}
	}
	runtime.KeepAlive(sum)
}

// tables returns the slots of all shards.
func (in *Interner) tables() (tables [internShards][]uint64) {
	for s := range tables {
		tables[s] = noSlots[:]
		if slots := in.slots[s].Load(); slots != nil {
			tables[s] = *slots
		}
	}
	return tables
}

// noSlots are the slots of a shard without strings.
var noSlots [1]uint64

// guess writes the number of the first string that each string may be, which it adds to b.known, or
// 0 where there is none, and the string is added to b.unknown. It returns how many these are.
func (b *internBatch) guess(codes []uint64, tables *[internShards][]uint64) (known, unknown int) {
	for i := range codes {
		slot, hash := b.slots[i], b.hashes[i]
		if salt := internSalt(hash); occupied(slot)&differ(slot>>32, salt) != 0 {
			slots := tables[hash>>(64-internShardBits)]
			for at := salt + 1; slot != 0 && slot>>32 != salt; at++ {
				slot = atomic.LoadUint64(&slots[at&uint64(len(slots)-1)])
			}
		}
		codes[i] = slot & math.MaxUint32
		// Whether a string is known cannot be predicted: both lists are written.
		b.known[known&(internStepRows-1)], b.unknown[unknown&(internStepRows-1)] = uint16(i), uint16(i)
		known += occupied(slot)
		unknown += 1 - occupied(slot)
	}
	return known, unknown
}

// occupied returns 1 for a slot with a string, without a branch.
func occupied(slot uint64) int { return differ(slot, 0) }

// differ returns 1 for different words, without a branch.
func differ(a, b uint64) (n int) {
	if a != b {
		n = 1
	}
	return n
}

// find returns the number of a string, or 0.
func (in *Interner) find(tables *[internShards][]uint64, v *rowdata.Bytes2, hash uint64) uint64 {
	slots := tables[hash>>(64-internShardBits)]
	number, _ := in.probe(slots, v, hash)
	return number
}

// probe returns the number of a string and its slot, or 0 and the empty slot where the string's
// probe ends.
func (in *Interner) probe(slots []uint64, v *rowdata.Bytes2, hash uint64) (number, at uint64) {
	mask, salt := uint64(len(slots)-1), internSalt(hash)
	for at = salt & mask; ; at = (at + 1) & mask {
		slot := atomic.LoadUint64(&slots[at])
		number = slot & math.MaxUint32
		if slot == 0 || slot>>32 == salt && in.value(number).Equal(v) {
			return number, at
		}
	}
}

// internSalt returns the upper half of a slot: bits of the hash that do not name the shard. The
// lowest of them name the slot, so that a shard grows without a look at its strings.
func internSalt(hash uint64) uint64 { return hash << internShardBits >> 32 }

// add numbers strings that seek did not find. It comes to the shards last to which other workers are
// adding strings.
func (in *Interner) add(unknown []uint16, codes []uint64, values []rowdata.Bytes2, more int, b *internBatch) error {
	shards := b.sort(unknown)
	for _, wait := range [...]bool{false, true} {
		for s, some := range shards {
			if len(some) == 0 {
				continue
			}
			if mu := &in.shards[s].mu; wait {
				mu.Lock()
			} else if !mu.TryLock() {
				continue
			}
			if err := in.addTo(s, some, codes, values, more, b); err != nil {
				return err
			}
			shards[s] = nil
		}
	}
	return nil
}

// sort writes strings to b.sorted, shard by shard, and returns them by shard.
func (b *internBatch) sort(unknown []uint16) (shards [internShards][]uint16) {
	var ends [internShards]int
	for _, i := range unknown {
		ends[b.hashes[i]>>(64-internShardBits)]++
	}
	total := 0
	for s, n := range ends {
		ends[s] = total
		total += n
		shards[s] = b.sorted[total-n : total]
	}
	for _, i := range unknown {
		end := &ends[b.hashes[i]>>(64-internShardBits)]
		b.sorted[*end] = i
		*end++
	}
	return shards
}

// addTo numbers strings of one shard, some of which another worker may have numbered since they
// were sought, and some of which may be equal. It unlocks the shard.
// Requires: shard.mu is held.
func (in *Interner) addTo(
	s int, some []uint16, codes []uint64, values []rowdata.Bytes2, more int, b *internBatch,
) error {
	shard := &in.shards[s]
	defer shard.mu.Unlock()
	if shard.reserve(len(some), more/internShards) {
		slots := shard.slots
		in.slots[s].Store(&slots)
	}
	slots := shard.slots
	for _, i := range some {
		number, at := in.probe(slots, &values[i], b.hashes[i])
		if number == 0 {
			if shard.next == shard.end {
				if err := in.take(shard); err != nil {
					return err
				}
			}
			number = shard.next
			shard.next++
			shard.heap.Keep(in.put(number, &values[i]))
			atomic.StoreUint64(&slots[at], internSalt(b.hashes[i])<<32|number)
			shard.used++
		}
		codes[i] = number
	}
	return nil
}

// take gives a shard numbers. Where the shard needs them no more, they stay without a string: String
// returns the empty string for them.
// Requires: shard.mu is held.
func (in *Interner) take(shard *internShard) error {
	n := uint64(min(max(shard.used, 1), internTakeMax))
	last := in.given.Add(n)
	if last >= math.MaxUint32 {
		in.given.Add(-n)
		return errTooManyStrings
	}
	shard.next, shard.end = last-n+1, last+1
	in.block(shard.next)
	in.block(last)
	return nil
}

// reserve makes room for n strings at a load factor of at most 1/2, and, if the slots must be new,
// for `more` further strings, but for no more than internGrowthMax times the strings there are then:
// a filter may leave few rows of a large dictionary. It reports whether the slots are new.
// Requires: shard.mu is held.
func (shard *internShard) reserve(n, more int) bool {
	old := shard.slots
	if 2*(shard.used+n) <= len(old) {
		return false
	}
	n += shard.used
	n += min(more, internGrowthMax*n)
	shard.slots = make([]uint64, max(1<<bits.Len(uint(2*n-1)), internSlotsMin))
	mask := uint64(len(shard.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32
		for shard.slots[at&mask] != 0 {
			at++
		}
		shard.slots[at&mask] = slot
	}
	return true
}

// adopt numbers the strings of a dictionary of a column that is Numbered by their indexes, and keeps
// the dictionary, where the strings stay.
func (in *Interner) adopt(d *dictionary) {
	in.adopting.Lock()
	defer in.adopting.Unlock()
	known := in.Len()
	if known >= d.len {
		return
	}
	d.of.Retain()
	in.adopted = append(in.adopted, d.of)
	values := rowdata.View[rowdata.Bytes2](d.words)
	for i := known; i < d.len; i++ {
		in.put(uint64(i)+1, &values[i])
	}
	in.given.Store(uint64(d.len))
}

// place returns where the string of a number is.
func place(number uint64) (block int, at uint64) {
	n := number - 1 + 1<<internBlockBits
	block = bits.Len64(n) - 1 - internBlockBits
	return block, n - 1<<(block+internBlockBits)
}

// put makes v the string of a number, and returns where it lies.
func (in *Interner) put(number uint64, v *rowdata.Bytes2) *rowdata.Bytes2 {
	block, at := in.block(number)
	block[at] = *v
	return &block[at]
}

// block returns the block of a number, which it makes if it is not there, and the place in it.
func (in *Interner) block(number uint64) (block []rowdata.Bytes2, at uint64) {
	b, at := place(number)
	there := in.blocks[b].Load()
	if there == nil {
		made := make([]rowdata.Bytes2, 1<<(b+internBlockBits))
		if in.blocks[b].CompareAndSwap(nil, &made) {
			there = &made
		} else {
			there = in.blocks[b].Load()
		}
	}
	return *there, at
}

// value returns the string of a number that a slot has.
func (in *Interner) value(number uint64) *rowdata.Bytes2 {
	b, at := place(number)
	return &(*in.blocks[b].Load())[at]
}

// String returns the string of a number that intern has given out. Its bytes are valid as long as
// the interner.
func (in *Interner) String(number uint64) rowdata.Bytes2 { return *in.value(number) }

// Strings has the strings of an interner by number, as far as strings had numbers when it was made.
type Strings [33 - internBlockBits][]rowdata.Bytes2

// Strings returns the strings so far.
func (in *Interner) Strings() *Strings {
	s := new(Strings)
	for b := range in.blocks {
		if block := in.blocks[b].Load(); block != nil {
			s[b] = *block
		}
	}
	return s
}

// At returns the string of a number, valid as long as the interner.
func (s *Strings) At(number uint64) rowdata.Bytes2 {
	b, at := place(number)
	return s[b][at]
}

// Bytes returns how many bytes the strings and their slots take.
func (in *Interner) Bytes() (n int64) {
	for s := range in.shards {
		shard := &in.shards[s]
		shard.mu.Lock()
		n += shard.heap.Bytes() + 8*int64(len(shard.slots))
		shard.mu.Unlock()
	}
	return n + int64(in.Len())*int64(unsafe.Sizeof(rowdata.Bytes2{}))
}

// Len returns the largest number that a string may have. Few numbers below it have none.
func (in *Interner) Len() int { return int(in.given.Load()) }
