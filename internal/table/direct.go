package table

import (
	"math"
	"math/bits"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// direct finds the numbers of integer keys that lie close together without hashing them: an array
// maps the key's distance from a base to number + 1, and has one more entry, for NULL. It has all
// keys of its table, so that an entry of 0 is a new key, and the table's slots stay empty until
// keys come that lie too far apart. Keys of several fields are squeezed first.
type direct struct {
	off     bool     // keys lie too far apart, or are not one integer
	most    uint64   // of window
	base    uint64   // least key of the window
	window  uint64   // keys from base on that have an entry; 0 while slots are used
	entries []uint32 // window + 1
	block   []uint64 // memory of entries
	hint    uint64   // the window before the last restart

	squeeze *squeeze // nil where keys are taken as they are
}

// The window of a direct is at first directMin and at most DirectMax keys, 1 MiB, less than the
// slots of as many keys as a core's table has; SetWindowMax allows a wider one.
const (
	directMin = 1 << 10
	DirectMax = 1 << 18
)

// newDirect returns a direct that is off unless keys are one word, or one word and a bit for NULL.
func newDirect(l *rowdata.KeyLayout) direct {
	return direct{off: !isDirect(l), most: DirectMax, squeeze: newSqueeze(l)}
}

// isDirect reports whether keys are one word, or one word and a bit for NULL.
func isDirect(l *rowdata.KeyLayout) bool { return l.Words == 1 || isNullable(l) }

// isNullable reports whether keys are one word and, in a second word, a bit for NULL. The first
// word of a NULL is 0.
func isNullable(l *rowdata.KeyLayout) bool { return l.Words == 2 && l.Bits == 65 && len(l.Fields) == 1 }

// used reports whether keys are found by distance.
func (d *direct) used() bool { return d.window > 0 }

// Direct reports whether the table finds keys by their distance from each other, without a hash.
func (t *Table) Direct() bool { return t.direct.used() }

// SetWindowMax bounds how many keys the table finds by distance, in place of DirectMax.
func (t *Table) SetWindowMax(keys uint64) { t.direct.most = keys }

// FindDirect is Find without hashes. It returns false, and has added no key, when the keys lie too
// far from each other or from the table's.
func (t *Table) FindDirect(keys []uint64, numbers []uint32) bool {
	d := &t.direct
	if d.off {
		return false
	}
	width := t.Layout.Words
	known, inside := d.find(keys, width, numbers)
	if !inside {
		if !d.widen(t, keys) {
			return false
		}
		known, _ = d.find(keys, width, numbers)
	}
	if !known {
		d.add(t, keys, numbers)
	}
	return true
}

// none stands for the number of a key that has none yet.
const none = math.MaxUint32

// find writes the numbers of keys, none for new keys. known reports whether no key is new;
// inside, whether all keys have an entry.
func (d *direct) find(keys []uint64, width int, numbers []uint32) (known, inside bool) {
	if d.squeeze != nil {
		if !d.used() {
			return false, false
		}
		if len(d.squeeze.fields) == 2 {
			return d.findPairs(keys, numbers)
		}
		if keys, inside = d.squeeze.all(keys); !inside {
			return false, false
		}
	}
	base, window, entries := d.base, d.window, d.entries
	var all uint32
	if width == 1 {
		numbers = numbers[:len(keys)]
		entries = entries[:window]
		for i, k := range keys {
			at := k - base
			if at >= uint64(len(entries)) {
				return false, false
			}
			g := entries[at] - 1
			numbers[i] = g
			all |= g
		}
		return all < none/2, true // all numbers are
	}
	pairs := rowdata.View[[2]uint64](keys)
	numbers = numbers[:len(pairs)]
	for i := range pairs {
		null := pairs[i][1]
		at := (pairs[i][0] - base) & (null - 1)
		if at >= window {
			return false, false
		}
		g := entries[at+window&-null] - 1
		numbers[i] = g
		all |= g
	}
	return all < none/2, true
}

// findPairs is find for keys of two fields, which it squeezes on the way.
func (d *direct) findPairs(keys []uint64, numbers []uint32) (known, inside bool) {
	s := d.squeeze
	low, high, shift := s.fields[0].mask, s.fields[1].mask, s.fields[1].shift&63
	entries := d.entries[:d.window]
	numbers = numbers[:len(keys)]
	var bits uint64
	var all uint32
	for i, k := range keys {
		bits |= k
		at := k&low | k>>shift&high
		if at >= uint64(len(entries)) {
			return false, false
		}
		g := entries[at] - 1
		numbers[i] = g
		all |= g
	}
	return all < none/2, bits&^s.covered == 0
}

// entry returns the entry of a key in the window.
func (d *direct) entry(key []uint64) *uint32 {
	if isNull(key) {
		return &d.entries[d.window]
	}
	if d.squeeze != nil {
		return &d.entries[d.squeeze.one(key[0])]
	}
	return &d.entries[key[0]-d.base]
}

// isNull reports whether a key has a bit for NULL, and it is set.
func isNull(key []uint64) bool { return len(key) > 1 && key[1] != 0 }

// add enters the new keys that find has met.
func (d *direct) add(t *Table, keys []uint64, numbers []uint32) {
	width := t.Layout.Words
	t.keys = rowdata.GrowWords(t.memory, t.keys, (t.Len+len(numbers))*width)
	if width == 1 && d.squeeze == nil {
		d.addWords(t, keys, numbers)
		return
	}
	for i, g := range numbers {
		if g != none {
			continue
		}
		key := keys[i*width : (i+1)*width]
		entry := d.entry(key)
		if *entry == 0 {
			copy(t.Key(t.Len), key)
			t.Len++
			*entry = uint32(t.Len)
		}
		numbers[i] = *entry - 1
	}
}

// addWords is add for keys of one word that are taken as they are. In data that are sorted by the
// key, most rows of a tile have new keys.
func (d *direct) addWords(t *Table, keys []uint64, numbers []uint32) {
	entries, base := d.entries, d.base
	keys = keys[:len(numbers)]
	added := t.keys[t.Len : t.Len+len(numbers)]
	n := 0
	for i, g := range numbers {
		if g != none {
			continue
		}
		entry := &entries[keys[i]-base]
		if *entry == 0 {
			added[n] = keys[i]
			n++
			*entry = uint32(t.Len + n)
		}
		numbers[i] = *entry - 1
	}
	t.Len += n
}

// widen makes the window larger, such that the table's keys and more are in it. It returns
// false when these lie too far apart.
func (d *direct) widen(t *Table, keys []uint64) bool {
	base, window, ok := d.windowOf(t, keys)
	if !ok {
		return false
	}
	d.open(t.memory, base, window)
	for n := range t.Len {
		*d.entry(t.Key(n)) = uint32(n + 1)
	}
	return true
}

// open makes a window without keys.
func (d *direct) open(m rowdata.Memory, base, window uint64) {
	d.base, d.window = base, window
	m.Free(d.block)
	d.block = m.Alloc(int(window/2 + 1))
	clear(d.block)
	d.entries = rowdata.View[uint32](d.block)[:window+1]
}

// OpenWindow lets the window of an empty table be a range of keys of one word, if it is not too wide.
func (t *Table) OpenWindow(base, window uint64) {
	if d := &t.direct; !d.off && d.squeeze == nil && window <= d.most {
		d.open(t.memory, base, window)
	}
}

// windowOf returns a window for the table's keys and more, at least twice as large as the present
// window.
func (d *direct) windowOf(t *Table, keys []uint64) (base, window uint64, ok bool) {
	width := t.Layout.Words
	var s spread
	s.add(t.Keys(0, t.Len), width)
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

// Together reports whether keys lie close enough to each other for a window of their own.
func (t *Table) Together(keys []uint64) bool {
	var s spread
	s.add(keys, t.Layout.Words)
	d := &t.direct
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

// Span returns the greatest key of a table with keys of one word, less the least.
func (t *Table) Span() uint64 {
	var s spread
	s.add(t.Keys(0, t.Len), t.Layout.Words)
	return s.span()
}

// leaveDirect enters the keys into slots.
func (t *Table) leaveDirect() {
	invariants.Sometimes("table: keys lie too far apart for a direct table")
	t.direct.release(t.memory)
	t.direct.off = true
	if 2*t.Len <= len(t.slots) {
		t.rehash()
	} else {
		t.Reserve(t.Len)
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

// Nearness tells whether the keys of a sample lie so close together that tables find them by
// distance.
type Nearness struct {
	off      bool     // tables hash all keys
	words    int      // of a key
	most     uint64   // of a window
	numbered bool     // keys are strings' numbers in order of appearance: as many numbers come as keys
	squeeze  *squeeze // as of a direct
	spread            // of the sample's keys
}

// NewNearness returns the nearness of no keys. most is the widest window, as of SetWindowMax.
func NewNearness(l *rowdata.KeyLayout, most uint64) Nearness {
	d := newDirect(l)
	return Nearness{off: d.off, words: l.Words, most: most, squeeze: d.squeeze,
		numbered: len(l.Fields) == 1 && l.Fields[0].Interned}
}

// Add looks at packed keys.
func (n *Nearness) Add(keys []uint64) {
	if !n.off {
		n.add(keys, n.words)
	}
}

// Window returns how many keys the window of a table with this many keys will have, or 0 where there
// is none.
func (n *Nearness) Window(keys int64) int64 {
	switch {
	case n.off || !n.some:
		return 0
	case n.squeeze != nil:
		width, ok := n.squeeze.fit(n.all, n.most)
		if !ok {
			return 0
		}
		return max(int64(1)<<width, directMin)
	}
	span := n.span()
	if n.numbered {
		span = max(span, uint64(keys))
	}
	if span >= n.most {
		return 0
	}
	return max(int64(1)<<bits.Len64(span), directMin)
}
