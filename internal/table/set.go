package table

import (
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Set is tables that divide keys by the highest bits of their hashes. Keys are looked up in all of them at once, and
// none is added, so that any number of goroutines use a Set. The numbers of a table follow the
// numbers of the table before it.
type Set struct {
	layout *rowdata.KeyLayout
	seed   uint64
	shift  uint // of a hash, or of a key, which leaves the number of the table
	byKey  bool // tables divide keys of one word by their highest bits
	tables []*Table
	first  []uint32 // by table: the number of its first key
}

// Missing is the number of a key that no table has.
const Missing = 1<<32 - 1

// NewSet returns the set of 2^bits tables of keys whose hashes with the seed begin with the number of the table; or
// which begin with it themselves, by the bits of their layout, where byKey is set.
// Requires: the tables have fewer than Missing keys together, and hash with the seed. Keys have one word where byKey is
// set.
func NewSet(tables []*Table, bits int, seed uint64, byKey bool) *Set {
	s := &Set{layout: tables[0].Layout, seed: seed, shift: uint(64 - bits), tables: tables, byKey: byKey}
	if byKey {
		s.shift = uint(s.layout.Bits - bits)
	}
	next := uint32(0)
	for _, t := range tables {
		if !t.direct.off {
			t.leaveDirect()
		}
		s.first = append(s.first, next)
		next += uint32(t.Len)
	}
	return s
}

// First returns the number of the first key of a table.
func (s *Set) First(table int) int { return int(s.first[table]) }

// Hash hashes keys. long reports whether some key refers to bytes outside it.
func (s *Set) Hash(keys, hashes []uint64) (long bool) { return Hash(s.layout, keys, s.seed, hashes) }

// LookUp writes the number of each key, or Missing; hashes is scratch.
// Requires: len(numbers) = len(hashes) = rows; at most rowdata.TileRows rows.
func (s *Set) LookUp(keys, hashes []uint64, numbers []uint32) {
	if s.layout.Words == 0 {
		number := uint32(0)
		if s.tables[0].Len == 0 {
			number = Missing
		}
		for i := range numbers {
			numbers[i] = number
		}
		return
	}
	isLong := s.Hash(keys, hashes)
	names := hashes // which name the tables
	if s.byKey {
		names = keys
	}
	if isLong || s.layout.Words > len(lookUpFixed) {
		s.lookUpLong(keys, hashes, numbers)
		return
	}
	lookUpFixed[s.layout.Words-1](s, keys, names, hashes, numbers)
}

// lookUpFixed is LookUp, by width, for keys without bytes outside them.
var lookUpFixed = [...]func(s *Set, words, names, hashes []uint64, numbers []uint32){
	lookUpWords[[1]uint64], lookUpWords[[2]uint64], lookUpWords[[3]uint64], lookUpWords[[4]uint64],
}

func lookUpWords[K interface {
	comparable
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64
}](s *Set, words, names, hashes []uint64, numbers []uint32) {
	rows := len(numbers)
	keys := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(words))), rows)
	var first [rowdata.TileRows]uint64
	slots := first[:rows]
	hashes, names = hashes[:rows], names[:rows]
	// The slots of all keys are loaded at once: the processor waits for several loads together, where nothing hangs on
	// what one of them has.
	for i, h := range hashes {
		if t := s.tables[names[i]>>s.shift]; t.Len > 0 {
			slots[i] = t.slots[h&uint64(len(t.slots)-1)]
		}
	}
	for i := range keys {
		h, slot := hashes[i], slots[i]
		numbers[i] = Missing
		if slot == 0 {
			continue
		}
		part := names[i] >> s.shift
		t := s.tables[part]
		mask := uint64(len(t.slots) - 1)
		known := unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(t.keys))), t.Len)
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; {
			if (slot^salt)>>32 == 0 {
				if g := uint32(slot) - 1; known[g] == keys[i] {
					numbers[i] = s.first[part] + g
					break
				}
			}
			at = (at + 1) & mask
			if slot = t.slots[at]; slot == 0 {
				break
			}
		}
	}
}

// lookUpLong is LookUp for keys of any width, with strings in them. The slots of all keys, and then the first words of
// the keys that they name, are loaded at once.
// Requires: not byKey.
func (s *Set) lookUpLong(words, hashes []uint64, numbers []uint32) {
	width := s.layout.Words
	var slots, heads [rowdata.TileRows]uint64
	for i, h := range hashes {
		if t := s.tables[h>>s.shift]; t.Len > 0 {
			slots[i] = t.slots[h&uint64(len(t.slots)-1)]
		}
	}
	for i, h := range hashes {
		if slot := slots[i]; slot != 0 {
			heads[i] = s.tables[h>>s.shift].keys[int(uint32(slot)-1)*width]
		}
	}
	for i, h := range hashes {
		numbers[i] = Missing
		slot := slots[i]
		if slot == 0 {
			continue
		}
		part := h >> s.shift
		t := s.tables[part]
		key := words[i*width : (i+1)*width]
		mask := uint64(len(t.slots) - 1)
		salt := uint64(partition.Salt(h)) << 32
		head := heads[i]
		for at := h & mask; ; {
			if g := int(uint32(slot) - 1); (slot^salt)>>32 == 0 && head == key[0] && s.layout.Equal(t.Key(g), key) {
				numbers[i] = s.first[part] + uint32(g)
				break
			}
			at = (at + 1) & mask
			if slot = t.slots[at]; slot == 0 {
				break
			}
			head = t.keys[int(uint32(slot)-1)*width]
		}
	}
}

// Release gives back the tables' memory.
func (s *Set) Release() {
	for _, t := range s.tables {
		t.Release()
	}
}
