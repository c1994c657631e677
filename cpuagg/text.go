package cpuagg

import (
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Keys of one string are the commonest keys that refer to bytes outside them. They are hashed and
// found without the detours of wider keys.

// isText reports whether a key is one string.
func isText(l *rowdata.KeyLayout) bool { return l.Words == 2 && len(l.Longs) == 1 }

// hashText hashes keys of one string: short strings by their words, long strings by their bytes.
func hashText(keys []uint64, seed uint64, hashes []uint64) (long bool) {
	values := rowdata.View[rowdata.Bytes2](keys)
	hashes = hashes[:len(values)]
	for i := range values {
		v := &values[i]
		if v.Long() {
			long = true
			hashes[i] = partition.CombineBytes(v.Bytes(), seed)
			continue
		}
		hashes[i] = partition.Combine(partition.Combine(seed, v[0]), v[1])
	}
	partition.FinishAll(hashes)
	return long
}

// findText is find for keys of one string, some of them long. It calls functions for new groups
// only, and takes half the time of findLong.
func (t *table) findText(words, hashes []uint64, gids []uint32) {
	rows := len(gids)
	keys := rowdata.View[rowdata.Bytes2](words)[:rows]
	t.keys = growWords(t.memory, t.keys, 2*(t.groups+rows))
	known := rowdata.View[rowdata.Bytes2](t.keys)
	slots, groups := t.slots, t.groups
	mask := uint64(len(slots) - 1)
	hashes = hashes[:rows]
	for i := range keys {
		key := &keys[i]
		h := hashes[i]
		salt := uint64(partition.Salt(h)) << 32
		for at := h & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				known[groups] = *key
				if !t.lent {
					t.heap.Keep(&known[groups])
				}
				gids[i] = uint32(groups)
				groups++
				slots[at] = salt | uint64(groups)
				break
			}
			if (slot^salt)>>32 == 0 {
				g := uint32(slot) - 1
				k := &known[g]
				if k[0] == key[0] && (k[1] == key[1] || key.Long() && sameBytes(k.Address(), key.Address(), key.Len())) {
					gids[i] = g
					break
				}
			}
		}
	}
	t.groups = groups
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
