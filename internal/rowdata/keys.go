package rowdata

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// KeyLayout says how the key columns of a row are packed into words (W1).
//
//	| field | field | null bit | ... zero |  field of 64 bits  |  Bytes2, low  |  Bytes2, high  |
//
// A field lies within one word, or takes two whole words.
type KeyLayout struct {
	Fields []KeyField // one per key column, in the query's order
	Words  int        // of a packed key; 0 without key columns
	Bits   int        // in use
	Longs  []int      // first words of the Bytes2 fields
}

// KeyField is where one key column lies.
//
// An integer field holds value - Base. A NULL is, in this order of choice: code Span+1 of a field
// with a code to spare, length 2^32-1 of a Bytes2, or a bit of its own.
//
// An interned field holds a string's number in a list, from 1, and 0 for a NULL: 4 bytes in place
// of the 16 of a Bytes2, which are compared and hashed as a number and suit a device.
type KeyField struct {
	Kind     Kind // Uint64 when Interned
	Interned bool
	Word     int
	Shift    uint8
	Bits     uint8  // 64 for the first of two words
	Base     int64  // least value of an integer field
	Span     uint64 // largest value less Base
	Nullable bool
	NullWord int // of the NULL's bit
	NullBit  int // of NullWord; -1 when the NULL has no bit of its own
}

// denseBitsMax is the widest key that a table addresses directly: 2^16 groups of two or three
// states stay within a core's L2 cache.
const denseBitsMax = 16

// Dense reports whether packed keys are small enough to be group numbers.
func (l *KeyLayout) Dense() bool { return l.Words == 1 && l.Bits <= denseBitsMax }

// Codes returns how many packed keys there can be. Requires: Dense().
func (l *KeyLayout) Codes() int {
	codes := 1
	for i := range l.Fields {
		f := &l.Fields[i]
		of := int(f.Span) + 1
		if f.Nullable {
			of++
		}
		codes *= of
	}
	return codes
}

// Bytes returns the size of a packed key as a device holds it: 4, 8, 16 or a multiple of 8.
func (l *KeyLayout) Bytes() int {
	if l.Words == 1 && l.Bits <= 32 {
		return 4
	}
	return 8 * l.Words
}

// keyRange returns the least value and the span of an integer column: what its statistics
// promise, or what its type can hold. Float32 has the range of its bits.
func keyRange(col *Column) (base int64, span uint64, ok bool) {
	if col.HasRange && col.Kind != Float64 && col.Min <= col.Max {
		return col.Min, uint64(col.Max) - uint64(col.Min), true
	}
	switch ValueType(col.Type).ID() {
	case arrow.BOOL:
		return 0, 1, true
	case arrow.INT8:
		return math.MinInt8, math.MaxUint8, true
	case arrow.INT16:
		return math.MinInt16, math.MaxUint16, true
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		return math.MinInt32, math.MaxUint32, true
	case arrow.UINT8:
		return 0, math.MaxUint8, true
	case arrow.UINT16:
		return 0, math.MaxUint16, true
	case arrow.UINT32, arrow.FLOAT16, arrow.FLOAT32:
		return 0, math.MaxUint32, true
	}
	return 0, math.MaxUint64, false
}

// newKeyLayout packs fields first-fit in order of falling width, which wastes the fewest bits.
func newKeyLayout(cols []*Column) KeyLayout {
	l := KeyLayout{Fields: make([]KeyField, len(cols))}
	order := make([]int, len(cols))
	for i, col := range cols {
		order[i] = i
		l.Fields[i] = newKeyField(col)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		fa, fb := &l.Fields[a], &l.Fields[b]
		return -cmp.Or(cmp.Compare(fa.Kind.Words(), fb.Kind.Words()), cmp.Compare(fa.Bits, fb.Bits))
	})
	var used []uint8 // bits of each word
	place := func(n uint8, words int) (word int, shift uint8) {
		if words == 1 {
			for w := range used {
				if used[w]+n <= 64 {
					shift = used[w]
					used[w] += n
					return w, shift
				}
			}
		}
		for range words {
			used = append(used, n)
		}
		return len(used) - words, 0
	}
	for _, i := range order {
		f := &l.Fields[i]
		f.Word, f.Shift = place(f.Bits, f.Kind.Words())
		l.Bits += int(f.Bits) * f.Kind.Words()
		if f.Kind == Bytes {
			l.Longs = append(l.Longs, f.Word)
		}
	}
	for i := range l.Fields {
		if f := &l.Fields[i]; f.Nullable && !f.spareCode() && f.Kind != Bytes {
			word, shift := place(1, 1)
			f.NullWord, f.NullBit = word, int(shift)
			l.Bits++
		}
	}
	l.Words = len(used)
	slices.Sort(l.Longs)
	return l
}

// NumberedKeys returns how keys are packed whose strings are held as numbers, as the strings of interned
// columns are.
func (b *Bound) NumberedKeys() KeyLayout {
	columns := make([]*Column, len(b.KeyColumns))
	for k, c := range b.KeyColumns {
		col := b.Columns[c]
		col.Interned = col.Kind == Bytes
		columns[k] = &col
	}
	return newKeyLayout(columns)
}

func newKeyField(col *Column) KeyField {
	if col.Interned {
		return KeyField{Kind: Uint64, Interned: true, Bits: 32, Span: math.MaxUint32, NullBit: -1}
	}
	f := KeyField{Kind: col.Kind, Bits: 64, Nullable: col.Nullable, NullBit: -1}
	if f.Kind.Words() == 2 {
		return f
	}
	f.Span = math.MaxUint64
	base, span, ok := keyRange(col)
	if !ok {
		return f
	}
	f.Base, f.Span = base, span
	if f.spareCode() {
		span++
	}
	f.Bits = uint8(max(1, bits.Len64(span)))
	return f
}

// spareCode reports whether a NULL is code Span+1.
func (f *KeyField) spareCode() bool {
	return f.Nullable && f.Kind.Words() == 1 && f.Span < math.MaxUint64
}

// NullCode returns the code of a NULL, when the field has one for it.
func (f *KeyField) NullCode() (code uint64, ok bool) { return f.Span + 1, f.spareCode() }

// Mask returns the low Bits bits set.
func (f *KeyField) Mask() uint64 { return math.MaxUint64 >> (64 - f.Bits) }

// NullBytes is the NULL of a Bytes2 key field.
func NullBytes() Bytes2 { return Bytes2{nullBytesWord, 0} }

// IsNull reports whether the field of a packed key is NULL.
func (f *KeyField) IsNull(key []uint64) bool {
	switch {
	case f.Interned:
		return f.Value(key) == 0
	case !f.Nullable:
		return false
	case f.Kind == Bytes:
		return key[f.Word] == nullBytesWord
	case f.NullBit >= 0:
		return key[f.NullWord]>>f.NullBit&1 != 0
	}
	return key[f.Word]>>f.Shift&f.Mask() == f.Span+1
}

// Value returns the field of a packed key that is not NULL, as a word of its kind; for a float32
// or float16 column, the bits of a float32.
// Requires: Kind.Words() == 1.
func (f *KeyField) Value(key []uint64) uint64 {
	return key[f.Word]>>f.Shift&f.Mask() + uint64(f.Base)
}

// Keep copies the strings that a packed key refers to into a heap, and lets the key refer to the
// copies.
func (l *KeyLayout) Keep(key []uint64, h *Heap) {
	for _, w := range l.Longs {
		h.Keep(AsBytes2(key[w : w+2]))
	}
}

// Equal compares two packed keys.
func (l *KeyLayout) Equal(a, b []uint64) bool {
	if slices.Equal(a, b) {
		return true
	}
	if len(l.Longs) == 0 {
		return false
	}
	w := 0
	for _, long := range l.Longs {
		if !slices.Equal(a[w:long], b[w:long]) || !AsBytes2(a[long:long+2]).Equal(AsBytes2(b[long:long+2])) {
			return false
		}
		w = long + 2
	}
	return slices.Equal(a[w:], b[w:])
}
