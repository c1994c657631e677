package parquet

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

const (
	entriesMax         = 1 << 16 // of a dictionary, a quarter of a row group
	dictionaryBytesMax = 1 << 20 // what readers hold while they read a chunk

	// sampleRows is how many values decide on a dictionary. Drawn from 2^16 distinct values, they
	// have 128 values twice, give or take 11.
	sampleRows = 1 << 12
)

// dictionary numbers distinct values from 0 in the order of their first rows.
type dictionary struct {
	kind  wordKind
	width int      // words of a value
	words []uint64 // of the values
	slots []uint32 // code + 1 by hash, linearly probed, at most half full; 0 is empty
	most  int      // entries
	bytes int      // of strings that are not in their words
	heap  rowdata.Heap

	// recent are values of two words that have been looked up, by a hash that is cheap. Long
	// strings are not among them: their words are an address.
	recent []recentValue
}

type recentValue struct {
	words [2]uint64
	code  uint32 // code + 1; 0 is empty
}

const (
	recentBits   = 9
	recentFactor = 0x9E3779B97F4A7C15 // 2^64 by the golden ratio
)

const slotsMin = 1 << 10

// reset empties the dictionary, which then takes at most entries values.
func (d *dictionary) reset(kind wordKind, entries int) {
	d.kind, d.width = kind, 1
	if kind == kindBytes || kind == kindDecimal {
		d.width = 2
	}
	d.words, d.bytes = d.words[:0], 0
	if len(d.slots) == 0 {
		d.slots = make([]uint32, slotsMin)
	}
	clear(d.slots)
	if d.width == 2 && d.recent == nil {
		d.recent = make([]recentValue, 1<<recentBits)
	}
	clear(d.recent)
	d.heap.Reset()
	d.most = min(entries, dictionaryBytesMax/(8*d.width))
}

func (d *dictionary) len() int { return len(d.words) / d.width }

// codeBits returns the width of the codes so far.
func (d *dictionary) codeBits() int { return max(bits.Len(uint(max(d.len()-1, 0))), 1) }

// encode writes the codes of values, up to the first that the dictionary has no room for, and
// returns their number.
func (d *dictionary) encode(words []uint64, codes []uint32) int {
	if d.width == 1 {
		return d.encodeOnes(words, codes)
	}
	pairs := asStrings(words)[:len(codes)]
	recent := (*[1 << recentBits]recentValue)(d.recent)
	for i := range pairs {
		v := &pairs[i]
		seen := &recent[(v[0]^v[1]*recentFactor)*recentFactor>>(64-recentBits)]
		if seen.code != 0 && seen.words[0] == v[0] && seen.words[1] == v[1] {
			codes[i] = seen.code - 1
			continue
		}
		code, ok := d.codeOf(*v)
		if !ok {
			return i
		}
		if d.kind != kindBytes || !v.Long() {
			*seen = recentValue{*v, code + 1}
		}
		codes[i] = code
	}
	return len(codes)
}

func (d *dictionary) encodeOnes(words []uint64, codes []uint32) int {
	var last uint64
	var lastCode uint32
	for i, w := range words[:len(codes)] {
		if w == last && i > 0 {
			codes[i] = lastCode
			continue
		}
		mask := len(d.slots) - 1
		slot := int(partition.Mix64(w)) & mask
		for d.slots[slot] != 0 && d.words[d.slots[slot]-1] != w {
			slot = (slot + 1) & mask
		}
		code := d.slots[slot]
		if code == 0 {
			if len(d.words) == d.most {
				return i
			}
			d.words = append(d.words, w)
			code = uint32(len(d.words))
			d.enter(slot, code)
		}
		last, lastCode = w, code-1
		codes[i] = code - 1
	}
	return len(codes)
}

// codeOf returns the code of a value of two words, which is entered if it is new.
func (d *dictionary) codeOf(v [2]uint64) (code uint32, ok bool) {
	mask := len(d.slots) - 1
	slot := int(d.hash(v)) & mask
	for d.slots[slot] != 0 {
		code := d.slots[slot] - 1
		if have := [2]uint64(d.words[2*code:]); have == v ||
			d.kind == kindBytes && (*rowdata.Bytes2)(&have).Equal((*rowdata.Bytes2)(&v)) {
			return code, true
		}
		slot = (slot + 1) & mask
	}
	if s := (*rowdata.Bytes2)(&v); d.kind == kindBytes && s.Long() {
		if d.bytes += s.Len(); d.bytes > dictionaryBytesMax {
			return 0, false
		}
		d.heap.Keep(s)
	}
	if d.len() == d.most {
		return 0, false
	}
	d.words = append(d.words, v[0], v[1])
	d.enter(slot, uint32(d.len()))
	return uint32(d.len() - 1), true
}

func (d *dictionary) hash(v [2]uint64) uint64 {
	if s := (*rowdata.Bytes2)(&v); d.kind == kindBytes && s.Long() {
		return partition.HashBytes(s.Bytes(), 0)
	}
	return partition.Finish(partition.Combine(partition.Combine(0, v[0]), v[1]))
}

// enter fills a slot, and doubles the slots when they are half full.
func (d *dictionary) enter(slot int, code uint32) {
	d.slots[slot] = code
	if 2*d.len() < len(d.slots) {
		return
	}
	d.slots = make([]uint32, 2*len(d.slots))
	mask := len(d.slots) - 1
	for i := range d.len() {
		var h uint64
		if d.width == 1 {
			h = partition.Mix64(d.words[i])
		} else {
			h = d.hash([2]uint64(d.words[2*i:]))
		}
		slot := int(h) & mask
		for d.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		d.slots[slot] = uint32(i + 1)
	}
}

// value returns the words of a code's value.
func (d *dictionary) value(code uint32) []uint64 {
	return d.words[int(code)*d.width : (int(code)+1)*d.width]
}

// translation leads from the entries of a batch's dictionary to the entries of a chunk's
// dictionary.
type translation struct {
	values arrow.ArrayData // of the batch's dictionary, which many batches share
	words  []uint64
	codes  []uint32 // code + 1; 0 where no row had the entry yet
}

// turnTo prepares for the entries of a dictionary.
func (t *translation) turnTo(values arrow.Array, form *wordForm) {
	if t.values == values.Data() {
		return
	}
	t.values = values.Data()
	t.words = rowdata.Grow(t.words, values.Len()*form.words)
	readWords(t.words, form.words, values, 0)
	t.codes = rowdata.Grow(t.codes, values.Len())
	clear(t.codes)
}
