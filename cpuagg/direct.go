package cpuagg

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// direct finds the groups of integer keys that lie close together without hashing them: an array
// maps the key's distance from a base to group + 1, and one entry more is the NULL's. It has all
// groups of its table, so that an entry of 0 is a new group, and the table's slots stay empty until
// keys come that lie too far apart. Keys of several fields are squeezed first.
type direct struct {
	off    bool   // also where keys are not one integer
	most   uint64 // of window
	base   uint64
	window uint64   // keys from base on that have an entry
	groups []uint32 // window + 1
	block  []uint64 // what they lie in

	squeeze *squeeze // nil where keys are taken as they are
}

// The window of a direct is at first directMin and at most directMax keys, 1 MiB, less than the slots
// of as many groups as a core's table has; a worker's may be wider (windowMax).
const (
	directMin = 1 << 10
	directMax = 1 << 18
)

// newDirect suits keys of one word, or of one and a bit for a NULL.
func newDirect(l *rowdata.KeyLayout) direct {
	return direct{off: l.Words != 1 && !isNullable(l), most: directMax, squeeze: newSqueeze(l)}
}

// isNullable reports whether keys are one word and, in another, a bit for a NULL, whose word is 0.
func isNullable(l *rowdata.KeyLayout) bool { return l.Words == 2 && l.Bits == 65 && len(l.Fields) == 1 }

// used reports whether the groups are found by it.
func (d *direct) used() bool { return d.window > 0 }

// findDirect is find without hashes. It returns false, and has done nothing, when keys lie too far
// apart.
func (t *table) findDirect(keys []uint64, gids []uint32) bool {
	d := &t.direct
	if d.off {
		return false
	}
	width := t.layout.Words
	known, inside := d.find(keys, width, gids)
	if !inside {
		if !d.widen(t, keys) {
			t.leaveDirect()
			return false
		}
		known, _ = d.find(keys, width, gids)
	}
	if !known {
		d.add(t, keys, gids)
	}
	return true
}

// noGroup stands for the group of a key that has none yet.
const noGroup = math.MaxUint32

// find writes the groups of keys, noGroup for new ones. known reports whether there is none of
// these; inside, whether all keys have an entry.
func (d *direct) find(keys []uint64, width int, gids []uint32) (known, inside bool) {
	if d.squeeze != nil {
		if !d.used() {
			return false, false
		}
		if len(d.squeeze.fields) == 2 {
			return d.findPairs(keys, gids)
		}
		if keys, inside = d.squeeze.all(keys); !inside {
			return false, false
		}
	}
	base, window, groups := d.base, d.window, d.groups
	var all uint32
	if width == 1 {
		gids = gids[:len(keys)]
		groups = groups[:window]
		for i, k := range keys {
			at := k - base
			if at >= uint64(len(groups)) {
				return false, false
			}
			g := groups[at] - 1
			gids[i] = g
			all |= g
		}
		return all < noGroup/2, true // all numbers of groups are
	}
	pairs := unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(keys))), len(gids))
	for i := range pairs {
		null := pairs[i][1]
		at := (pairs[i][0] - base) & (null - 1)
		if at >= window {
			return false, false
		}
		g := groups[at+window&-null] - 1
		gids[i] = g
		all |= g
	}
	return all < noGroup/2, true
}

// findPairs is find for keys of two fields, which it squeezes on the way.
func (d *direct) findPairs(keys []uint64, gids []uint32) (known, inside bool) {
	s := d.squeeze
	low, high, shift := s.fields[0].mask, s.fields[1].mask, s.fields[1].shift&63
	groups := d.groups[:d.window]
	gids = gids[:len(keys)]
	var bits uint64
	var all uint32
	for i, k := range keys {
		bits |= k
		at := k&low | k>>shift&high
		if at >= uint64(len(groups)) {
			return false, false
		}
		g := groups[at] - 1
		gids[i] = g
		all |= g
	}
	return all < noGroup/2, bits&^s.covered == 0
}

// entry returns the entry of a key that has one.
func (d *direct) entry(key []uint64) *uint32 {
	if isNull(key) {
		return &d.groups[d.window]
	}
	if d.squeeze != nil {
		return &d.groups[d.squeeze.one(key[0])]
	}
	return &d.groups[key[0]-d.base]
}

// isNull reports whether the bit for a NULL is set, if there is one.
func isNull(key []uint64) bool { return len(key) > 1 && key[1] != 0 }

// add enters the new groups that find has met.
func (d *direct) add(t *table, keys []uint64, gids []uint32) {
	width := t.layout.Words
	t.keys = growWords(t.memory, t.keys, (t.groups+len(gids))*width)
	for i, g := range gids {
		if g != noGroup {
			continue
		}
		key := keys[i*width : (i+1)*width]
		entry := d.entry(key)
		if *entry == 0 {
			copy(t.key(t.groups), key)
			t.groups++
			*entry = uint32(t.groups)
		}
		gids[i] = *entry - 1
	}
}

// widen makes the window larger, such that all groups and more keys are in it. It returns false when
// they lie too far apart.
func (d *direct) widen(t *table, keys []uint64) bool {
	base, window, ok := d.windowOf(t, keys)
	if !ok {
		return false
	}
	d.base, d.window = base, window
	t.memory.Free(d.block)
	d.block = t.memory.Alloc(int(window/2 + 1))
	clear(d.block)
	d.groups = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(d.block))), window+1)
	for g := range t.groups {
		*d.entry(t.key(g)) = uint32(g + 1)
	}
	return true
}

// windowOf returns a window for all groups and more keys, at least twice as large as the one there is.
func (d *direct) windowOf(t *table, keys []uint64) (base, window uint64, ok bool) {
	width := t.layout.Words
	lists := [][]uint64{t.keys[:t.groups*width], keys}
	if d.squeeze != nil {
		var all uint64
		for _, list := range lists {
			for _, k := range list {
				all |= k
			}
		}
		bits, ok := d.squeeze.fit(all, d.most)
		return 0, max(uint64(1)<<bits, directMin), ok
	}
	var origin uint64 // the others are around it, be they signed or not
	var low, high int64
	some := false
	for _, list := range lists {
		for ; len(list) > 0; list = list[width:] {
			if isNull(list[:width]) {
				continue
			}
			if !some {
				origin, some = list[0], true
			}
			low, high = min(low, int64(list[0]-origin)), max(high, int64(list[0]-origin))
		}
	}
	span := uint64(high) - uint64(low)
	if span >= d.most {
		return 0, 0, false
	}
	window = max(1<<bits.Len64(span), 2*d.window, directMin)
	return origin + uint64(low) - (window-span)/2, window, window <= d.most
}

// leaveDirect enters the groups into slots.
func (t *table) leaveDirect() {
	invariants.Sometimes("cpuagg: keys lie too far apart for a direct table")
	t.direct.release(t.memory)
	t.direct.off = true
	if 2*t.groups <= len(t.slots) {
		t.rehash()
	} else {
		t.reserve(t.groups)
	}
}

// release gives back the array.
func (d *direct) release(m rowdata.Memory) {
	m.Free(d.block)
	*d = direct{off: d.off, most: d.most, squeeze: d.squeeze}
}
