package cpuagg

import (
	"math"
	"math/bits"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// direct finds the groups of integer keys that lie close together without hashing them: an array
// maps the key's distance from a base to group + 1, and has one more entry, for NULL. It has all
// groups of its table, so that an entry of 0 is a new group, and the table's slots stay empty until
// keys come that lie too far apart. Keys of several fields are squeezed first.
type direct struct {
	off    bool     // keys lie too far apart, or are not one integer
	most   uint64   // of window
	base   uint64   // least key of the window
	window uint64   // keys from base on that have an entry; 0 while slots are used
	groups []uint32 // entries: window + 1
	block  []uint64 // memory of groups
	hint   uint64   // the window before the last restart

	squeeze *squeeze // nil where keys are taken as they are
}

// The window of a direct is at first directMin and at most directMax keys, 1 MiB, less than the
// slots of as many groups as a core's table has; a worker's may be wider (windowMax).
const (
	directMin = 1 << 10
	directMax = 1 << 18
)

// newDirect returns a direct that is off unless keys are one word, or one word and a bit for NULL.
func newDirect(l *rowdata.KeyLayout) direct {
	return direct{off: !isDirect(l), most: directMax, squeeze: newSqueeze(l)}
}

// isDirect reports whether keys are one word, or one word and a bit for NULL.
func isDirect(l *rowdata.KeyLayout) bool { return l.Words == 1 || isNullable(l) }

// isNullable reports whether keys are one word and, in a second word, a bit for NULL. The first
// word of a NULL is 0.
func isNullable(l *rowdata.KeyLayout) bool { return l.Words == 2 && l.Bits == 65 && len(l.Fields) == 1 }

// used reports whether groups are found by distance.
func (d *direct) used() bool { return d.window > 0 }

// findDirect is find without hashes. It returns false, and has added no group, when the keys lie too
// far from each other or from the table's groups.
func (t *table) findDirect(keys []uint64, gids []uint32) bool {
	d := &t.direct
	if d.off {
		return false
	}
	width := t.layout.Words
	known, inside := d.find(keys, width, gids)
	if !inside {
		if !d.widen(t, keys) {
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

// find writes the groups of keys, noGroup for new keys. known reports whether no key is new;
// inside, whether all keys have an entry.
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
	pairs := rowdata.View[[2]uint64](keys)
	gids = gids[:len(pairs)]
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

// entry returns the entry of a key in the window.
func (d *direct) entry(key []uint64) *uint32 {
	if isNull(key) {
		return &d.groups[d.window]
	}
	if d.squeeze != nil {
		return &d.groups[d.squeeze.one(key[0])]
	}
	return &d.groups[key[0]-d.base]
}

// isNull reports whether a key has a bit for NULL, and it is set.
func isNull(key []uint64) bool { return len(key) > 1 && key[1] != 0 }

// add enters the new groups that find has met.
func (d *direct) add(t *table, keys []uint64, gids []uint32) {
	width := t.layout.Words
	t.keys = growWords(t.memory, t.keys, (t.groups+len(gids))*width)
	if width == 1 && d.squeeze == nil {
		d.addWords(t, keys, gids)
		return
	}
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

// addWords is add for keys of one word that are taken as they are. In data that are sorted by the
// key, most rows of a tile are of new groups.
func (d *direct) addWords(t *table, keys []uint64, gids []uint32) {
	entries, base := d.groups, d.base
	keys = keys[:len(gids)]
	added := t.keys[t.groups : t.groups+len(gids)]
	n := 0
	for i, g := range gids {
		if g != noGroup {
			continue
		}
		entry := &entries[keys[i]-base]
		if *entry == 0 {
			added[n] = keys[i]
			n++
			*entry = uint32(t.groups + n)
		}
		gids[i] = *entry - 1
	}
	t.groups += n
}

// widen makes the window larger, such that all groups and more keys are in it. It returns false
// when these lie too far apart.
func (d *direct) widen(t *table, keys []uint64) bool {
	base, window, ok := d.windowOf(t, keys)
	if !ok {
		return false
	}
	d.open(t.memory, base, window)
	for g := range t.groups {
		*d.entry(t.key(g)) = uint32(g + 1)
	}
	return true
}

// open makes a window without groups.
func (d *direct) open(m rowdata.Memory, base, window uint64) {
	d.base, d.window = base, window
	m.Free(d.block)
	d.block = m.Alloc(int(window/2 + 1))
	clear(d.block)
	d.groups = rowdata.View[uint32](d.block)[:window+1]
}

// openWindow lets the window of an empty table be a range of keys of one word, if it is not too wide.
func (t *table) openWindow(base, window uint64) {
	if d := &t.direct; !d.off && d.squeeze == nil && window <= d.most {
		d.open(t.memory, base, window)
	}
}

// windowOf returns a window for all groups and more keys, at least twice as large as the present
// window.
func (d *direct) windowOf(t *table, keys []uint64) (base, window uint64, ok bool) {
	width := t.layout.Words
	var s spread
	s.add(t.keys[:t.groups*width], width)
	s.add(keys, width)
	if d.squeeze != nil {
		bits, ok := d.squeeze.fit(s.all, d.most)
		return 0, max(uint64(1)<<bits, directMin), ok
	}
	span := s.span()
	if span >= d.most {
		return 0, 0, false
	}
	window = max(1<<bits.Len64(span), 2*d.window, d.hint, directMin)
	// Keys that come in their order mostly ascend, so that most of the room is above.
	return s.origin + uint64(s.low) - (window-span)/8, window, window <= d.most
}

// together reports whether keys lie close enough to each other for a window of their own.
func (d *direct) together(keys []uint64, width int) bool {
	var s spread
	s.add(keys, width)
	if d.squeeze != nil {
		_, ok := d.squeeze.fits(s.all, d.most)
		return ok
	}
	return s.span() < d.most/2
}

// spread is how far apart keys of one word lie, NULL left out.
type spread struct {
	all       uint64 // bits of all keys
	some      bool   // there are keys
	origin    uint64 // the first key; other keys are counted from here, be they signed or not
	low, high int64  // least and greatest key less origin
}

// add looks at keys of width words each.
func (s *spread) add(keys []uint64, width int) {
	for ; len(keys) > 0; keys = keys[width:] {
		if isNull(keys[:width]) {
			continue
		}
		if !s.some {
			s.origin, s.some = keys[0], true
		}
		s.all |= keys[0]
		s.low, s.high = min(s.low, int64(keys[0]-s.origin)), max(s.high, int64(keys[0]-s.origin))
	}
}

// span returns the greatest key less the least.
func (s *spread) span() uint64 { return uint64(s.high) - uint64(s.low) }

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

// restart makes the direct of an empty table as it was before the first key, so that the next keys
// choose where the window lies.
func (d *direct) restart(m rowdata.Memory, l *rowdata.KeyLayout) {
	hint := d.window
	d.release(m)
	d.off, d.hint = !isDirect(l), hint
}

// release gives back the array.
func (d *direct) release(m rowdata.Memory) {
	m.Free(d.block)
	*d = direct{off: d.off, most: d.most, squeeze: d.squeeze, hint: d.hint}
}
