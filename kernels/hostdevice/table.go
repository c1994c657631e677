package hostdevice

import (
	"github.com/mpga/mpga/kernels"
)

// table is a kernels.Table that is not packed: a header, then slots of words,
//
//	| groups | unused ... |   | taken | key ... | states ... |   | taken | ...
//
// where a 4-byte key shares its word with taken, and the 8-byte key 0 has the last slot, which no
// other key can have: no key value marks a slot that is empty.
type table struct {
	shape   kernels.Shape
	folders []folder
	slots   int
	sealed  bool
	words   []uint64
	stride  int // words of a slot
	prefix  int // words before the states
}

const (
	headerWords = 16
	taken4      = 1 << 32

	// probesMax bounds the search for a slot, which in a full table would visit all of them.
	probesMax = 1 << 10
)

func (o *operation) wideTable(t kernels.Table) *table {
	out := &table{shape: o.shape, folders: folders(&o.shape), slots: int(t.Slots), sealed: t.Sealed, prefix: 1}
	if o.shape.KeyBytes > 8 {
		out.prefix += o.shape.KeyBytes / 8
	}
	out.stride = out.prefix + o.shape.StateWords()
	out.words = o.words(t.Memory, o.shape.TableBytes(t.Slots)/8, true)
	return out
}

func (t *table) slot(i int) []uint64 {
	at := headerWords + i*t.stride
	return t.words[at : at+t.stride : at+t.stride]
}

// states of a fold, whose words begin after others.
func (t *table) states(before int) states {
	return states{words: t.words[headerWords:], stride: t.stride, offset: t.prefix + before}
}

func (t *table) reset() {
	clear(t.words)
	before := 0
	for _, f := range t.folders {
		s := t.states(before)
		for i := range t.slots + 1 {
			f.reset(s.at(i, f.words))
		}
		before += f.words
	}
}

// head returns the words by which a slot is known to hold a key.
func (t *table) head(key []byte, words []uint64) []uint64 {
	switch len(key) {
	case 4:
		return append(words, taken4|uint64(view[uint32](key)[0]))
	case 8:
		return append(words, view[uint64](key)[0])
	}
	return append(append(words, 1), view[uint64](key)...)
}

// find returns the slot of a key, which it takes if need be; noGroup, if
// others have taken all that it looks at.
func (t *table) find(head []uint64, hash uint64, probes *uint64) int {
	if head[0] == 0 { // the 8-byte key 0
		at := t.slot(t.slots)
		*probes++
		if at[0] == 0 {
			if t.sealed {
				return noGroup
			}
			at[0] = 1
			t.words[0]++
		}
		return t.slots
	}
	for step := range min(t.slots, probesMax) {
		i := int((hash + uint64(step)) % uint64(t.slots))
		at := t.slot(i)[:len(head)]
		*probes++
		switch {
		case at[0] == 0 && t.sealed:
			return noGroup
		case at[0] == 0:
			copy(at, head)
			t.words[0]++
			return i
		case equal(at, head):
			return i
		}
	}
	return noGroup
}

func equal(a, b []uint64) bool {
	for i, w := range b {
		if a[i] != w {
			return false
		}
	}
	return true
}

func (t *table) insert(in, overflow *rows, status *kernels.GroupsStatus) {
	var s kernels.GroupsStatus
	k := t.shape.KeyBytes
	gids := make([]int, in.count)
	head := make([]uint64, 0, t.prefix)
	for i, hash := range hashes(in.keys, k, in.count, 0) {
		gids[i] = t.find(t.head(in.keys[i*k:(i+1)*k], head), hash, &s.Probes)
		if gids[i] == noGroup {
			if overflow != nil {
				overflow.put(int(s.Overflow), &t.shape, in, i)
			}
			s.Overflow++
		}
	}
	before := 0
	for _, f := range t.folders {
		to := t.states(before)
		f.accumulate(in, gids, &to)
		before += f.words
	}
	s.Groups, s.Rows = t.words[0], uint64(in.count)-s.Overflow
	*status = s
}

func (t *table) insertGroups(keys []byte, from []states, count int, overflow *groups, status *kernels.GroupsStatus) {
	var s kernels.GroupsStatus
	k := t.shape.KeyBytes
	head := make([]uint64, 0, t.prefix)
	for i, hash := range hashes(keys, k, count, 0) {
		slot := t.find(t.head(keys[i*k:(i+1)*k], head), hash, &s.Probes)
		if slot == noGroup {
			overflow.putGroup(int(s.Overflow), &t.shape, keys, from, i)
			s.Overflow++
			continue
		}
		before := 0
		for f := range t.folders {
			words := t.folders[f].words
			to := t.states(before)
			t.folders[f].merge(to.at(slot, words), from[f].at(i, words))
			before += words
		}
	}
	s.Groups, s.Rows = t.words[0], uint64(count)-s.Overflow
	*status = s
}

// putGroup writes group i of others as group at.
func (out *groups) putGroup(at int, shape *kernels.Shape, keys []byte, from []states, i int) {
	k := shape.KeyBytes
	copy(out.keys[at*k:(at+1)*k], keys[i*k:])
	for f, fold := range shape.Folds {
		words := fold.Op.Words()
		copy(out.states[f].at(at, words), from[f].at(i, words))
	}
}

func (t *table) compact(first, end int, out *groups) {
	if end == t.slots {
		end++
	}
	n := 0
	for i := first; i < end; i++ {
		slot := t.slot(i)
		if slot[0] == 0 {
			continue
		}
		if n < out.capacity {
			t.put(out, n, i)
		}
		n++
	}
	*out.status = compactStatus(n, out.capacity)
}

// compactStatus is that of n groups with room for some.
func compactStatus(n, capacity int) kernels.GroupsStatus {
	written := min(n, capacity)
	return kernels.GroupsStatus{Groups: uint64(n), Rows: uint64(written), Overflow: uint64(n - written)}
}

// put writes slot i as group n.
func (t *table) put(out *groups, n, i int) {
	slot := t.slot(i)
	switch t.shape.KeyBytes {
	case 4:
		view[uint32](out.keys)[n] = uint32(slot[0])
	case 8:
		view[uint64](out.keys)[n] = slot[0]
		if i == t.slots {
			view[uint64](out.keys)[n] = 0
		}
	default:
		words := t.prefix - 1
		copy(view[uint64](out.keys)[n*words:(n+1)*words], slot[1:t.prefix])
	}
	before := 0
	for f := range t.folders {
		words := t.folders[f].words
		s := t.states(before)
		copy(out.states[f].at(n, words), s.at(i, words))
		before += words
	}
}
