package cpuagg

import (
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// table maps packed keys to group numbers, which count from 0 in order of first appearance. It
// probes linearly; a slot is
//
//	| salt (32 bits) | group + 1 (32 bits) |
//
// so that most keys that are not equal are told apart without loading them, and no key value is
// reserved to mark an empty slot.
type table struct {
	memory rowdata.Memory
	layout *rowdata.KeyLayout
	seed   uint64 // of the hash
	slots  []uint64
	keys   []uint64 // of all groups, packed
	groups int
	heap   rowdata.Heap    // the long strings of keys, where these are not in pages
	pages  []*rowdata.Page // owned
	lent   bool            // strings of new keys stay where they are, in a page that will be of pages
	fresh  int             // groups that came with the last tile
	missed []uint32        // scratch of lookUp; nil before the first
	direct direct          // finds keys in place of slots, while they lie close together

	// dense tables have no slots: the packed key is the group number.
	dense  bool
	seen   []uint8 // by group: 1 once a row has had it
	unseen int     // groups that no row has had; at 0, seen is complete
}

// groupsMax bounds the groups of one table: a slot holds their number in 32 bits, and find may add
// a tile's worth.
const groupsMax = 1<<32 - 2 - rowdata.TileRows

func newTable(m rowdata.Memory, layout *rowdata.KeyLayout, seed uint64, dense bool) *table {
	t := &table{memory: m, layout: layout, seed: seed, dense: dense, heap: rowdata.NewHeap(m), direct: newDirect(layout)}
	if dense {
		t.groups = 1 << layout.Bits
		t.seen = make([]uint8, t.groups)
		t.unseen = layout.Codes()
	}
	return t
}

// slotsMin is how many slots lookUpVectors looks at at once.
const slotsMin = 4

// reserve makes room for n groups at a load factor of at most 1/2.
func (t *table) reserve(n int) {
	if t.dense || t.layout.Words == 0 || 2*n <= len(t.slots) {
		return
	}
	t.memory.Free(t.slots)
	t.slots = t.memory.Alloc(max(1<<bits.Len(uint(2*n-1)), slotsMin))
	clear(t.slots)
	if t.groups > 0 {
		t.rehash()
	}
}

// rehash enters the groups into new slots.
func (t *table) rehash() {
	var hashes [rowdata.TileRows]uint64
	mask := uint64(len(t.slots) - 1)
	width := t.layout.Words
	for from := 0; from < t.groups; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, t.groups)
		hashKeys(t.layout, t.keys[from*width:to*width], t.seed, hashes[:to-from])
		for i, h := range hashes[:to-from] {
			at := h & mask
			for t.slots[at] != 0 {
				at = (at + 1) & mask
			}
			t.slots[at] = uint64(partition.Salt(h))<<32 | uint64(from+i+1)
		}
	}
}

// findUnhashed is find for keys that need not be hashed where the table finds groups without
// hashes; hashes is scratch.
func (t *table) findUnhashed(keys, hashes []uint64, gids []uint32) {
	switch {
	case t.dense:
		t.find(keys, hashes, gids, false)
	case !t.findDirect(keys, gids):
		t.findHashed(keys, hashes, gids)
	}
}

// findHashed is find for keys that findDirect has not found: the table goes on with hashes. hashes is
// scratch.
func (t *table) findHashed(keys, hashes []uint64, gids []uint32) {
	if !t.direct.off {
		t.leaveDirect()
	}
	t.find(keys, hashes, gids, hashKeys(t.layout, keys, t.seed, hashes))
}

// find writes the group of each key, adding groups for keys not seen before. long is what hashKeys
// has returned: some key refers to bytes outside it.
// Requires: len(gids) = len(hashes) = rows; at most rowdata.TileRows rows.
func (t *table) find(keys, hashes []uint64, gids []uint32, long bool) {
	switch {
	case t.dense:
		gids = gids[:len(keys)]
		for i, k := range keys {
			gids[i] = uint32(k)
		}
		t.see(gids)
		return
	case t.layout.Words == 0:
		clear(gids)
		t.groups = 1
		return
	}
	if t.direct.used() {
		t.leaveDirect()
	}
	t.reserve(t.groups + len(gids))
	switch {
	case long && isText(t.layout):
		t.findText(keys, hashes, gids)
	case long || t.layout.Words > len(findFixed):
		t.findLong(keys, hashes, gids)
	default:
		findFixed[t.layout.Words-1](t, keys, hashes, gids)
	}
}

// see notes which groups of a dense table there are.
func (t *table) see(gids []uint32) {
	if t.unseen == 0 {
		return
	}
	for _, g := range gids {
		if t.seen[g] == 0 {
			t.seen[g] = 1
			t.unseen--
		}
	}
}

// findFixed is find, by width, for keys without bytes outside them. A key of the table that does
// have such bytes differs from these keys in its first word.
var findFixed = [...]func(t *table, words, hashes []uint64, gids []uint32){
	findWords[[1]uint64], findWords[[2]uint64], findWords[[3]uint64], findWords[[4]uint64],
	findWords[[5]uint64], findWords[[6]uint64], findWords[[7]uint64], findWords[[8]uint64],
}

func findWords[K interface {
	comparable
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64 | [5]uint64 | [6]uint64 | [7]uint64 | [8]uint64
}](t *table, words, hashes []uint64, gids []uint32) {
	var key K
	width := int(unsafe.Sizeof(key) / 8)
	rows := len(gids)
	keys := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(words))), rows)
	t.keys = growWords(t.memory, t.keys, (t.groups+rows)*width)
	known := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(t.keys))), t.groups+rows)
	slots, groups := t.slots, t.groups
	mask := uint64(len(slots) - 1)
	hashes = hashes[:rows]
	for _, row := range t.lookUp(words, hashes, gids) {
		i := int(row)
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				known[groups] = keys[i]
				gids[i] = uint32(groups)
				groups++
				slots[at] = salt | uint64(groups)
				break
			}
			if (slot^salt)>>32 == 0 {
				if g := uint32(slot) - 1; known[g] == keys[i] {
					gids[i] = g
					break
				}
			}
		}
	}
	t.fresh = groups - t.groups
	t.groups = groups
}

// findLong is find for keys of any width, with strings in them.
func (t *table) findLong(words, hashes []uint64, gids []uint32) {
	width, rows := t.layout.Words, len(gids)
	t.keys = growWords(t.memory, t.keys, (t.groups+rows)*width)
	mask := uint64(len(t.slots) - 1)
	for i := range gids {
		key := words[i*width : (i+1)*width]
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := t.slots[at]
			if slot == 0 {
				known := t.key(t.groups)
				copy(known, key)
				if !t.lent {
					t.layout.Keep(known, &t.heap)
				}
				gids[i] = uint32(t.groups)
				t.groups++
				t.slots[at] = salt | uint64(t.groups)
				break
			}
			if (slot^salt)>>32 == 0 {
				if g := uint32(slot) - 1; t.layout.Equal(t.key(int(g)), key) {
					gids[i] = g
					break
				}
			}
		}
	}
}

// key returns the packed key of a group.
func (t *table) key(group int) []uint64 {
	width := t.layout.Words
	return t.keys[group*width : (group+1)*width]
}

// pack makes a dense table an ordinary table without slots: a list of the groups that exist, and
// their states.
func (t *table) pack(st *states) {
	st.settle()
	t.keys = growWords(t.memory, t.keys, t.groups)
	packed := 0
	for code, seen := range t.seen {
		if seen == 0 {
			continue
		}
		t.keys[packed] = uint64(code)
		for i := range st.bound.Folds {
			w := st.bound.Folds[i].Words
			copy(st.words[i][packed*w:(packed+1)*w], st.words[i][code*w:(code+1)*w])
		}
		packed++
	}
	t.groups, t.dense, t.seen = packed, false, nil
}

// reset empties the table. Slots for many more than the groups that it will have are given back: they
// would go on to be out of the cache.
func (t *table) reset(groupsNext int) {
	t.groups = 0
	if !t.direct.used() && !t.dense {
		if len(t.slots) > 4*max(groupsNext, rowdata.TileRows) {
			t.memory.Free(t.slots)
			t.slots = nil
		}
		clear(t.slots)
	}
	t.direct.restart(t.memory, t.layout)
	t.heap.Reset()
}

// release gives back the table's memory.
func (t *table) release() {
	t.memory.Free(t.slots)
	freeWords(t.memory, t.keys)
	t.slots, t.keys, t.groups = nil, nil, 0
	t.direct.release(t.memory)
	t.heap.Reset()
	for _, page := range t.pages {
		page.Release()
	}
	t.pages = nil
}

// bytes returns how much memory the table holds.
func (t *table) bytes() int64 {
	bytes := int64(8*(len(t.slots)+len(t.keys)+len(t.direct.block))) + t.heap.Bytes()
	for _, page := range t.pages {
		bytes += page.Bytes()
	}
	return bytes
}

// wordsFew is how many words are not worth a block: a block has a page at least, and a query of
// thousands of aggregates has thousands of columns of states, even for one group.
const wordsFew = 16

// growWords returns a slice of at least n words that begins with the old words, whose memory it
// gives back. freeWords gives back the slice.
func growWords(m rowdata.Memory, words []uint64, n int) []uint64 {
	if n <= len(words) {
		return words
	}
	var grown []uint64
	if n <= wordsFew {
		grown = make([]uint64, wordsFew)
	} else {
		grown = m.Alloc(max(n, 2*len(words)))
		grown = grown[:cap(grown)]
	}
	copy(grown, words)
	freeWords(m, words)
	return grown
}

// freeWords gives back a slice of growWords.
func freeWords(m rowdata.Memory, words []uint64) {
	if len(words) > wordsFew {
		m.Free(words)
	}
}

// HashesWords reports whether the hash of a packed key is partition.HashKeys1 or HashKeysN of its
// words.
func HashesWords(l *rowdata.KeyLayout) bool { return len(l.Longs) == 0 && !isNullable(l) }

// HashKeys hashes packed keys as the first scatter of a run does.
func HashKeys(l *rowdata.KeyLayout, keys, hashes []uint64) {
	hashKeys(l, keys, partition.Seed(0), hashes)
}

// hashKeys hashes packed keys. Equal keys have equal hashes, also where their strings lie at
// different addresses. long reports whether some key refers to bytes outside it.
func hashKeys(l *rowdata.KeyLayout, keys []uint64, seed uint64, hashes []uint64) (long bool) {
	switch {
	case l.Words == 0:
		clear(hashes)
	case l.Words == 1:
		partition.HashKeys1(keys, seed, hashes)
	case isText(l):
		return hashText(keys, seed, hashes)
	case isNullable(l):
		hashNullable(keys, seed, hashes)
	default:
		partition.HashKeysN(keys, l.Words, seed, hashes)
		if long = anyLong(l, keys); long {
			hashLongs(l, keys, seed, hashes)
		}
	}
	return long
}

// hashNullable hashes keys of one word and a bit for NULL like keys of one word. It takes NULL for
// an arbitrary word, so that equal hashes of two keys do not make them equal.
func hashNullable(keys []uint64, seed uint64, hashes []uint64) {
	const null = 0xa54ff53a5f1d36f1 // as in the initial state of SHA-512: of the square root of 7
	pairs := rowdata.View[[2]uint64](keys)
	hashes = hashes[:len(pairs)]
	for i := range pairs {
		hashes[i] = pairs[i][0] | null&-pairs[i][1]
	}
	partition.HashKeys1(hashes, seed, hashes)
}

// anyLong reports whether some key refers to bytes outside it.
func anyLong(l *rowdata.KeyLayout, keys []uint64) bool {
	for _, w := range l.Longs {
		if anyLongAt(keys, w, l.Words) {
			return true
		}
	}
	return false
}

// anyLongAt reports whether some string at every stride-th word refers to bytes outside it.
func anyLongAt(words []uint64, from, stride int) bool {
	for at := from; at < len(words); at += stride {
		if rowdata.AsBytes2(words[at : at+2]).Long() {
			return true
		}
	}
	return false
}

// touchKeys is how many keys are touched at once.
const touchKeys = 32

// touch loads both ends of the long strings of the next keys. The processor waits for all of these
// loads at once; between the steps of hashes it would wait for a few.
func touch(l *rowdata.KeyLayout, keys []uint64) {
	sum := byte(0)
	for _, w := range l.Longs {
		for at := w; at < min(len(keys), touchKeys*l.Words); at += l.Words {
			if v := rowdata.AsBytes2(keys[at : at+2]); v.Long() {
				sum ^= *(*byte)(v.Address()) ^ *(*byte)(unsafe.Add(v.Address(), v.Len()-1))
			}
		}
	}
	runtime.KeepAlive(sum)
}

// hashLongs hashes keys with long strings again, with the hash of a string's bytes in place of its
// address.
func hashLongs(l *rowdata.KeyLayout, keys []uint64, seed uint64, hashes []uint64) {
	var words []uint64
	for i := range hashes {
		if i%touchKeys == 0 {
			touch(l, keys[i*l.Words:])
		}
		key := keys[i*l.Words : (i+1)*l.Words]
		long := false
		for _, w := range l.Longs {
			v := rowdata.AsBytes2(key[w : w+2])
			if !v.Long() {
				continue
			}
			if !long {
				words = append(words[:0], key...)
				long = true
			}
			words[w+1] = partition.HashBytes(v.Bytes(), seed)
		}
		if long {
			hashes[i] = partition.HashWords(words, seed)
		}
	}
}
