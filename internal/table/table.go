package table

import (
	"math/bits"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Table maps packed keys to numbers, which count from 0 in order of first appearance. It probes
// linearly; a slot is
//
//	| salt (32 bits) | number + 1 (32 bits) |
//
// so that most keys that are not equal are told apart without loading them, and no key value is
// reserved to mark an empty slot.
type Table struct {
	Layout *rowdata.KeyLayout
	Len    int  // keys; of a dense table, all that there can be
	Lent   bool // strings of new keys stay where they are, in a page that Keep is given
	Dense  bool // there are no slots: the packed key is the number

	memory rowdata.Memory
	seed   uint64 // of the hash
	slots  []uint64
	keys   []uint64        // packed, Len of them, and room to grow
	heap   rowdata.Heap    // the long strings of keys, where these are not in pages
	pages  []*rowdata.Page // owned
	fresh  int             // keys that came with the last tile
	missed []uint32        // scratch of lookUp; nil before the first
	direct direct          // finds keys in place of slots, while they lie close together
	seen   []uint8         // by number of a dense table: 1 once a row has had it
	unseen int             // numbers of a dense table that no row has had; at 0, seen is complete
}

// LenMax bounds the keys of one table: a slot holds their number in 32 bits, and Find may add a
// tile's worth.
const LenMax = 1<<32 - 2 - rowdata.TileRows

// New returns an empty table. A dense table's keys are numbers: layout.Dense() holds.
func New(m rowdata.Memory, layout *rowdata.KeyLayout, seed uint64, dense bool) *Table {
	t := &Table{Layout: layout, Dense: dense, memory: m, seed: seed, heap: rowdata.NewHeap(m), direct: newDirect(layout)}
	if dense {
		t.Len = 1 << layout.Bits
		t.seen = make([]uint8, t.Len)
		t.unseen = layout.Codes()
	}
	return t
}

// Keys returns the packed keys of numbers from to to.
func (t *Table) Keys(from, to int) []uint64 {
	width := t.Layout.Words
	return t.keys[from*width : to*width]
}

// Key returns the packed key of a number.
func (t *Table) Key(number int) []uint64 { return t.Keys(number, number+1) }

// slotsMin is how many slots lookUpVectors looks at at once.
const slotsMin = 4

// Reserve makes room for n keys at a load factor of at most 1/2.
func (t *Table) Reserve(n int) {
	if t.Dense || t.Layout.Words == 0 || 2*n <= len(t.slots) {
		return
	}
	t.memory.Free(t.slots)
	t.slots = t.memory.Alloc(max(1<<bits.Len(uint(2*n-1)), slotsMin))
	clear(t.slots)
	if t.Len > 0 {
		t.rehash()
	}
}

// rehash enters the keys into new slots.
func (t *Table) rehash() {
	var hashes [rowdata.TileRows]uint64
	mask := uint64(len(t.slots) - 1)
	width := t.Layout.Words
	for from := 0; from < t.Len; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, t.Len)
		Hash(t.Layout, t.keys[from*width:to*width], t.seed, hashes[:to-from])
		for i, h := range hashes[:to-from] {
			at := h & mask
			for t.slots[at] != 0 {
				at = (at + 1) & mask
			}
			t.slots[at] = uint64(partition.Salt(h))<<32 | uint64(from+i+1)
		}
	}
}

// FindUnhashed is Find for keys that need not be hashed where the table finds numbers without
// hashes; hashes is scratch.
func (t *Table) FindUnhashed(keys, hashes []uint64, numbers []uint32) {
	switch {
	case t.Dense:
		t.find(keys, hashes, numbers, false)
	case !t.FindDirect(keys, numbers):
		t.Find(keys, hashes, numbers)
	}
}

// Find writes the number of each key, and adds the keys that the table does not have. The table goes
// on with hashes; hashes is scratch.
// Requires: len(numbers) = len(hashes) = rows; at most rowdata.TileRows rows.
func (t *Table) Find(keys, hashes []uint64, numbers []uint32) {
	t.find(keys, hashes, numbers, Hash(t.Layout, keys, t.seed, hashes))
}

// find is Find for keys with hashes. long is what Hash has returned: some key refers to bytes outside
// it.
func (t *Table) find(keys, hashes []uint64, numbers []uint32, long bool) {
	switch {
	case t.Dense:
		numbers = numbers[:len(keys)]
		for i, k := range keys {
			numbers[i] = uint32(k)
		}
		t.See(numbers)
		return
	case t.Layout.Words == 0:
		clear(numbers)
		t.Len = 1
		return
	}
	if !t.direct.off {
		t.leaveDirect()
	}
	t.Reserve(t.Len + len(numbers))
	switch {
	case long && isText(t.Layout):
		t.findText(keys, hashes, numbers)
	case long || t.Layout.Words > len(findFixed):
		t.findLong(keys, hashes, numbers)
	default:
		findFixed[t.Layout.Words-1](t, keys, hashes, numbers)
	}
}

// See notes numbers of a dense table that rows have.
func (t *Table) See(numbers []uint32) {
	if t.unseen == 0 {
		return
	}
	for _, g := range numbers {
		if t.seen[g] == 0 {
			t.seen[g] = 1
			t.unseen--
		}
	}
}

// Seen reports whether a row has had a number of a dense table.
func (t *Table) Seen(number int) bool { return t.seen[number] != 0 }

// findFixed is find, by width, for keys without bytes outside them. A key of the table that does
// have such bytes differs from these keys in its first word.
var findFixed = [...]func(t *Table, words, hashes []uint64, numbers []uint32){
	findWords[[1]uint64], findWords[[2]uint64], findWords[[3]uint64], findWords[[4]uint64],
	findWords[[5]uint64], findWords[[6]uint64], findWords[[7]uint64], findWords[[8]uint64],
}

func findWords[K interface {
	comparable
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64 | [5]uint64 | [6]uint64 | [7]uint64 | [8]uint64
}](t *Table, words, hashes []uint64, numbers []uint32) {
	var key K
	width := int(unsafe.Sizeof(key) / 8)
	rows := len(numbers)
	keys := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(words))), rows)
	t.keys = rowdata.GrowWords(t.memory, t.keys, (t.Len+rows)*width)
	known := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(t.keys))), t.Len+rows)
	slots, next := t.slots, t.Len
	mask := uint64(len(slots) - 1)
	hashes = hashes[:rows]
	for _, row := range t.lookUp(words, hashes, numbers) {
		i := int(row)
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				known[next] = keys[i]
				numbers[i] = uint32(next)
				next++
				slots[at] = salt | uint64(next)
				break
			}
			if (slot^salt)>>32 == 0 {
				if g := uint32(slot) - 1; known[g] == keys[i] {
					numbers[i] = g
					break
				}
			}
		}
	}
	t.fresh = next - t.Len
	t.Len = next
}

// findLong is find for keys of any width, with strings in them.
func (t *Table) findLong(words, hashes []uint64, numbers []uint32) {
	width, rows := t.Layout.Words, len(numbers)
	t.keys = rowdata.GrowWords(t.memory, t.keys, (t.Len+rows)*width)
	mask := uint64(len(t.slots) - 1)
	for i := range numbers {
		key := words[i*width : (i+1)*width]
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := t.slots[at]
			if slot == 0 {
				known := t.Key(t.Len)
				copy(known, key)
				if !t.Lent {
					t.Layout.Keep(known, &t.heap)
				}
				numbers[i] = uint32(t.Len)
				t.Len++
				t.slots[at] = salt | uint64(t.Len)
				break
			}
			if (slot^salt)>>32 == 0 {
				if g := uint32(slot) - 1; t.Layout.Equal(t.Key(int(g)), key) {
					numbers[i] = g
					break
				}
			}
		}
	}
}

// findText is find for keys of one string, some of them long. It calls functions for new keys
// only, and takes half the time of findLong.
func (t *Table) findText(words, hashes []uint64, numbers []uint32) {
	rows := len(numbers)
	keys := rowdata.View[rowdata.Bytes2](words)[:rows]
	t.keys = rowdata.GrowWords(t.memory, t.keys, 2*(t.Len+rows))
	known := rowdata.View[rowdata.Bytes2](t.keys)
	slots, next := t.slots, t.Len
	mask := uint64(len(slots) - 1)
	hashes = hashes[:rows]
	for i := range keys {
		key := &keys[i]
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				known[next] = *key
				if !t.Lent {
					t.heap.Keep(&known[next])
				}
				numbers[i] = uint32(next)
				next++
				slots[at] = salt | uint64(next)
				break
			}
			if (slot^salt)>>32 == 0 {
				g := uint32(slot) - 1
				k := &known[g]
				if k[0] == key[0] && (k[1] == key[1] || key.Long() && sameBytes(k.Address(), key.Address(), key.Len())) {
					numbers[i] = g
					break
				}
			}
		}
	}
	t.Len = next
}

// sameBytes compares n bytes, at least 8, at two addresses: 8 at a time, the last 8 again in part.
// It is small enough to be inlined.
func sameBytes(a, b unsafe.Pointer, n int) bool {
	for i := 0; i < n-8; i += 8 {
		if *(*uint64)(unsafe.Add(a, i)) != *(*uint64)(unsafe.Add(b, i)) {
			return false
		}
	}
	return *(*uint64)(unsafe.Add(a, n-8)) == *(*uint64)(unsafe.Add(b, n-8))
}

// Pack makes a dense table an ordinary table without slots: a list of the keys that rows have had, in
// their order.
func (t *Table) Pack() {
	t.keys = rowdata.GrowWords(t.memory, t.keys, t.Len)
	t.Len = 0
	for code, seen := range t.seen {
		if seen != 0 {
			t.keys[t.Len] = uint64(code)
			t.Len++
		}
	}
	t.Dense, t.seen = false, nil
}

// Reset empties the table. Slots for many more than the keys that it will have are given back: they
// would go on to be out of the cache.
func (t *Table) Reset(lenNext int) {
	t.Len = 0
	if !t.direct.used() && !t.Dense {
		if len(t.slots) > 4*max(lenNext, rowdata.TileRows) {
			t.memory.Free(t.slots)
			t.slots = nil
		}
		clear(t.slots)
	}
	t.direct.restart(t.memory, t.Layout)
	t.heap.Reset()
}

// Release gives back the table's memory.
func (t *Table) Release() {
	t.memory.Free(t.slots)
	rowdata.FreeWords(t.memory, t.keys)
	t.slots, t.keys, t.Len = nil, nil, 0
	t.direct.release(t.memory)
	t.heap.Reset()
	for _, page := range t.pages {
		page.Release()
	}
	t.pages = nil
}

// Keep takes a page over where keys of the table have lent strings of it, and reports whether it does.
func (t *Table) Keep(page *rowdata.Page) bool {
	if t.Lent {
		invariants.Sometimes("table: keys keep a page for its strings")
		t.pages = append(t.pages, page)
	}
	return t.Lent
}

// HeapBytes returns how much memory the long strings of keys take, pages left out.
func (t *Table) HeapBytes() int64 { return t.heap.Bytes() }

// Bytes returns how much memory the table holds.
func (t *Table) Bytes() int64 {
	bytes := int64(8*(len(t.slots)+len(t.keys)+len(t.direct.block))) + t.heap.Bytes()
	for _, page := range t.pages {
		bytes += page.Bytes()
	}
	return bytes
}
