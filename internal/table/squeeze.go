package table

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/rowdata"
)

// squeeze brings the fields of keys of one word together: a field keeps the low bits that the
// values seen so far need, next to the bits of the field below it. Interned strings have 32 bits in
// a key, but a hundred strings need only seven; two such columns then give a number below 2^14,
// which a direct finds.
type squeeze struct {
	fields  []squeezed // by rising shift
	covered uint64     // the bits of a key that are kept
	keys    []uint64   // of a tile, squeezed; nil before the first
}

// squeezed is one field: key >> shift & mask.
type squeezed struct {
	field *rowdata.KeyField
	shift uint8
	mask  uint64
}

// newSqueeze returns nil for keys that have nothing to squeeze.
func newSqueeze(l *rowdata.KeyLayout) *squeeze {
	if l.Words != 1 || len(l.Fields) < 2 || l.Bits < bits.Len(DirectMax) {
		return nil
	}
	s := &squeeze{fields: make([]squeezed, len(l.Fields))}
	for i := range s.fields {
		s.fields[i].field = &l.Fields[i]
	}
	slices.SortFunc(s.fields, func(a, b squeezed) int { return cmp.Compare(a.field.Shift, b.field.Shift) })
	return s
}

// fits returns how many bits squeezed keys have that keep the bits set in all. ok is false when such
// a key may be most or more.
func (s *squeeze) fits(all, most uint64) (width int, ok bool) {
	for i := range s.fields {
		f := s.fields[i].field
		if width += bits.Len64(all >> f.Shift & f.Mask()); width >= 64 || 1<<width > most {
			return width, false
		}
	}
	return width, true
}

// fit keeps the bits that are set in all, and returns what fits returns. Where that is not ok, it
// keeps the bits that it has kept before: the entries of a direct are still found by these.
func (s *squeeze) fit(all, most uint64) (width int, ok bool) {
	if width, ok = s.fits(all, most); !ok {
		return width, false
	}
	s.covered, width = 0, 0
	for i := range s.fields {
		f := &s.fields[i]
		n := bits.Len64(all >> f.field.Shift & f.field.Mask())
		f.shift = f.field.Shift - uint8(min(width, int(f.field.Shift)))
		f.mask = (1<<n - 1) << width
		s.covered |= (1<<n - 1) << f.field.Shift
		width += n
	}
	return width, true
}

// all squeezes the keys of a tile. It returns false where a key has bits that are not kept.
func (s *squeeze) all(keys []uint64) (squeezed []uint64, ok bool) {
	if s.keys == nil {
		s.keys = make([]uint64, rowdata.TileRows)
	}
	out, rest := s.keys[:len(keys)], uint64(0)
	for i, k := range keys {
		rest |= k
		out[i] = s.one(k)
	}
	return out, rest&^s.covered == 0
}

// one squeezes a key.
func (s *squeeze) one(key uint64) (squeezed uint64) {
	for i := range s.fields {
		f := &s.fields[i]
		squeezed |= key >> (f.shift & 63) & f.mask
	}
	return squeezed
}
