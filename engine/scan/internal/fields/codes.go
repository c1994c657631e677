package fields

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// textCodes converts a column of strings that repeat to codes of a dictionary.
//
// The batches of a reader share a dictionary until it grows; later batches have the longer
// dictionary. So that a wrong guess costs only time, a dictionary that has become long is given up
// after its batch: it has at most dictionaryLong entries more than the batch has rows.
type textCodes struct {
	values[int32] // the codes of the batch
	typ           *arrow.DictionaryType

	slots []codeSlot  // a power of two, at most an eighth of them taken: most entries are in their first slot
	shift uint        // from a hash to the index of a slot
	ends  []int64     // of the entries in bytes, with 0 in front
	bytes []byte      // the entries
	array arrow.Array // of the entries; nil where an entry has come since it was made

	least int   // slots of a dictionary that is empty
	held  int64 // bytes reserved for slots, ends and bytes
}

// codeSlot is an entry: the bytes in two words where these are at most 16, else their hash. The
// slot is empty where code is 0.
type codeSlot struct {
	low, high uint64
	length    uint32 // of the entry, in bytes
	code      uint32 // plus 1
}

const (
	dictionaryLong = 4 * repeatsValuesMax // entries
	slotsAtLeast   = 1024                 // of a dictionary
	slotsFew       = 64                   // of a dictionary where there are many columns
	slotShare      = 8                    // slots for an entry
)

// newTextCodes returns the converter to a dictionary of a string or binary type, which begins with
// slots.
func newTextCodes(typ arrow.DataType, slots int) *textCodes {
	c := &textCodes{typ: delivery.DictionaryOf(typ), least: slots}
	c.clear()
	return c
}

func (d *textCodes) clear() {
	d.setSlots(d.least)
	d.ends, d.bytes = append(d.ends[:0], 0), d.bytes[:0]
	d.forget()
}

func (d *textCodes) setSlots(n int) {
	d.slots = make([]codeSlot, n)
	d.shift = uint(64 - bits.TrailingZeros(uint(n)))
}

// forget releases the array of the entries.
func (d *textCodes) forget() {
	if d.array != nil {
		d.array.Release()
		d.array = nil
	}
}

func (d *textCodes) begin(c *Column) {
	if len(d.ends) > dictionaryLong {
		d.clear()
	}
	d.values.begin(c)
}

func (d *textCodes) add(c *Column) int {
	defer d.account(c)
	out := d.all[c.rows:][:len(c.fields)]
	slots, shift := d.slots, d.shift
	for i, s := range c.fields {
		n := s.length()
		if c.nulls.of(n) && c.isNull(i) {
			out[i] = 0
			continue
		}
		if n-1 < 8 {
			low := firstBytes(c.text, s.Start, n)
			slot := &slots[hashCode(low, 0)>>(shift&63)&uint64(len(slots)-1)]
			if slot.low == low && slot.length == n {
				out[i] = int32(slot.code - 1)
				continue
			}
		}
		out[i] = d.code(c.Field(i))
		if out[i] < 0 {
			return i
		}
		slots, shift = d.slots, d.shift
	}
	return -1
}

// codeSlotBytes is the size of a codeSlot.
const codeSlotBytes = 24

// codesUncounted is by how much a dictionary may grow before its memory is reserved.
const codesUncounted = 32 << 10

// account reserves the memory of the dictionary beyond the slots that it began with.
func (d *textCodes) account(c *Column) {
	const end = 8
	bytes := codeSlotBytes*int64(len(d.slots)-d.least) + end*int64(cap(d.ends)) + int64(cap(d.bytes))
	if bytes > d.held+codesUncounted {
		c.mem.Hold(bytes - d.held)
		d.held = bytes
	}
}

// release gives back the memory of the dictionary.
func (d *textCodes) release(c *Column) {
	d.forget()
	c.mem.Drop(d.held)
	d.held = 0
}

// firstBytes returns n bytes at the start of text, 1 to 8, in the upper bytes of a word.
// Requires: 8 bytes at the start of text.
func firstBytes(text []byte, start, n uint32) uint64 {
	return binary.LittleEndian.Uint64(text[start:start+8]) << ((64 - 8*n) & 63)
}

// code returns the code of a field, which becomes an entry if it is none; or -1 if the field is to
// be a string, and is not valid UTF-8.
func (d *textCodes) code(b []byte) int32 {
	n := uint32(len(b))
	key := codeSlot{length: n}
	switch {
	case n > 16:
		key.low = maphash.Bytes(codeSeed, b)
	case n > 8:
		key.low, key.high = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n > 0:
		var padded [8]byte
		copy(padded[:], b)
		key.low = firstBytes(padded[:], 0, n)
	}
	for at := hashCode(key.low, key.high) >> d.shift; ; at++ {
		slot := &d.slots[at&uint64(len(d.slots)-1)]
		switch {
		case slot.code == 0 && IsText(d.typ.ValueType) && !utf8.Valid(b):
			return -1
		case slot.code == 0:
			return d.insert(slot, key, b)
		case slot.low == key.low && slot.high == key.high && slot.length == n &&
			(n <= 16 || d.entry(slot.code-1) == string(b)):
			return int32(slot.code - 1)
		}
	}
}

var codeSeed = maphash.MakeSeed()

// hashCode returns a hash whose highest bits are the best.
func hashCode(low, high uint64) uint64 {
	low = (low ^ high*0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15
	return (low ^ low>>32) * 0xD6E8FEB86659FD93
}

func (d *textCodes) entry(code uint32) string { return string(d.bytes[d.ends[code]:d.ends[code+1]]) }

// insert makes b an entry, in an empty slot.
func (d *textCodes) insert(slot *codeSlot, key codeSlot, b []byte) int32 {
	d.forget()
	code := len(d.ends) - 1
	key.code = uint32(code) + 1
	*slot = key
	d.bytes = append(d.bytes, b...)
	d.ends = append(d.ends, int64(len(d.bytes)))
	if slotShare*len(d.ends) > len(d.slots) {
		d.grow()
	}
	return int32(code)
}

func (d *textCodes) grow() {
	old := d.slots
	d.setSlots(2 * len(old))
	for _, key := range old {
		if key.code == 0 {
			continue
		}
		at := hashCode(key.low, key.high) >> d.shift
		for d.slots[at&uint64(len(d.slots)-1)].code != 0 {
			at++
		}
		d.slots[at&uint64(len(d.slots)-1)] = key
	}
}

func (d *textCodes) finish(c *Column) arrow.Array {
	if d.array == nil {
		d.array = d.entries(c.mem)
	}
	return d.values.array(c, d.typ, d.array)
}

// entries returns the dictionary as an array.
func (d *textCodes) entries(mem memory.Allocator) arrow.Array {
	offsets, bytes := memory.NewResizableBuffer(mem), memory.NewResizableBuffer(mem)
	defer offsets.Release()
	defer bytes.Release()
	bytes.Resize(len(d.bytes))
	copy(bytes.Bytes(), d.bytes)
	switch d.typ.ValueType.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		offsets.Resize(arrow.Int64Traits.BytesRequired(len(d.ends)))
		copy(arrow.Int64Traits.CastFromBytes(offsets.Bytes()), d.ends)
	default:
		offsets.Resize(arrow.Int32Traits.BytesRequired(len(d.ends)))
		delivery.Narrow(arrow.Int32Traits.CastFromBytes(offsets.Bytes()), d.ends)
	}
	return delivery.NewArray(d.typ.ValueType, len(d.ends)-1, 0, nil, offsets, bytes)
}
