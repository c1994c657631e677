package hostdevice

import (
	"slices"

	"github.com/mpga/mpga/kernels"
)

// table is a kernels.Table that is not packed: a header, then slots of words,
//
//	| groups | unused ... |   | taken | key ... | states ... |   | taken | ...
//
// where a 4-byte key shares its word with taken, and the 8-byte key 0 has the last slot, which no
// other key can have: no key value marks a slot that is empty.
type table struct {
	keyBytes int
	folders  []folder
	slots    int
	sealed   bool
	words    []uint64
	states   []states // by fold
	stride   int      // words of a slot
	prefix   int      // words before the states
}

const (
	headerWords = 16
	taken4      = 1 << 32

	// probesMax bounds the search for a slot, which in a full table would visit all of them.
	probesMax = 1 << 10
)

func (o *operation) wideTable(t kernels.Table) *table {
	out := &table{keyBytes: o.shape.KeyBytes, folders: folders(&o.shape), slots: int(t.Slots), sealed: t.Sealed, prefix: 1}
	if o.shape.KeyBytes > 8 {
		out.prefix += o.shape.KeyBytes / 8
	}
	out.stride = out.prefix + o.shape.StateWords()
	if out.words = o.words(t.Memory, o.shape.TableBytes(t.Slots)/8, true); out.words == nil {
		return out
	}
	at := out.prefix
	for _, f := range out.folders {
		out.states = append(out.states, states{words: out.words[headerWords:], stride: out.stride, offset: at})
		at += f.words
	}
	return out
}

func (t *table) slot(i int) []uint64 {
	at := headerWords + i*t.stride
	return t.words[at : at+t.stride : at+t.stride]
}

func (t *table) reset() {
	clear(t.words)
	for i, f := range t.folders {
		for slot := range t.slots + 1 {
			f.reset(t.states[i].at(slot, f.words))
		}
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

func (t *table) find(key []byte, hash uint64) int {
	var buffer [1 + kernels.KeyBytesMax/8]uint64
	head := t.head(key, buffer[:0])
	if head[0] == 0 { // the 8-byte key 0
		at := t.slot(t.slots)
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
		switch {
		case at[0] == 0 && t.sealed:
			return noGroup
		case at[0] == 0:
			copy(at, head)
			t.words[0]++
			return i
		case slices.Equal(at, head):
			return i
		}
	}
	return noGroup
}

func (t *table) groups() uint64 { return t.words[0] }

func (t *table) addRow(slot int, in *rows, row int) {
	for i := range t.folders {
		f := &t.folders[i]
		f.addRow(t.states[i].at(slot, f.words), in, row)
	}
}

func (t *table) addGroup(slot int, from []states, group int) {
	for i := range t.folders {
		f := &t.folders[i]
		f.merge(t.states[i].at(slot, f.words), from[i].at(group, f.words))
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

// compactStatus is the status of n groups with room for some.
func compactStatus(n, capacity int) kernels.GroupsStatus {
	written := min(n, capacity)
	return kernels.GroupsStatus{Groups: uint64(n), Rows: uint64(written), Overflow: uint64(n - written)}
}

// put writes slot i as group n.
func (t *table) put(out *groups, n, i int) {
	slot := t.slot(i)
	switch {
	case t.keyBytes == 4:
		view[uint32](out.keys)[n] = uint32(slot[0])
	case t.keyBytes > 8:
		words := t.prefix - 1
		copy(view[uint64](out.keys)[n*words:(n+1)*words], slot[1:t.prefix])
	case i == t.slots:
		view[uint64](out.keys)[n] = 0
	default:
		view[uint64](out.keys)[n] = slot[0]
	}
	for f := range t.folders {
		words := t.folders[f].words
		copy(out.states[f].at(n, words), t.states[f].at(i, words))
	}
}
