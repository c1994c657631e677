package hostdevice

import (
	"encoding/binary"

	"github.com/mpga/mpga/kernels"
)

func (s *stream) PackKeys(k *kernels.KeyParts) error {
	o := s.operation("PackKeys", &kernels.Shape{})
	rows, width := k.Rows, k.KeyBytes
	keys := o.view(k.Keys, rows*int64(width), true)
	outside := view[uint32](o.view(k.Outside, 4, true))
	parts := make([]keyColumn, len(k.Parts))
	for i, p := range k.Parts {
		parts[i] = keyColumn{KeyPart: p, values: o.view(p.Values, rows*int64(p.Type.Bytes()), false)}
		if p.Valid.Buffer != nil {
			parts[i].valid = view[uint32](o.view(p.Valid, (rows+31)/32*4, false))
		}
	}
	return o.enqueue(func() {
		outside[0] = 0
		for row := range int(rows) {
			var key [kernels.KeyBytesMax / 8]uint64
			for i := range parts {
				if !parts[i].pack(&key, row) {
					outside[0] = 1
				}
			}
			var b []byte
			for _, word := range key {
				b = binary.LittleEndian.AppendUint64(b, word)
			}
			copy(keys[row*width:][:width], b)
		}
	})
}

// keyColumn is a part of keys with its memory.
type keyColumn struct {
	kernels.KeyPart
	values []byte
	valid  []uint32
}

// pack adds a row's value to its key. It returns false where the value is outside of its range.
func (c *keyColumn) pack(key *[kernels.KeyBytesMax / 8]uint64, row int) bool {
	if c.valid != nil && c.valid[row/32]>>(row%32)&1 == 0 {
		key[c.Word] |= c.NullCode << c.Shift
		if c.NullBit >= 0 {
			key[c.NullWord] |= 1 << c.NullBit
		}
		return true
	}
	var v uint64
	switch c.Type {
	case kernels.Int32:
		v = uint64(int64(int32(binary.LittleEndian.Uint32(c.values[4*row:]))))
	case kernels.Uint32:
		v = uint64(binary.LittleEndian.Uint32(c.values[4*row:]))
	default:
		v = binary.LittleEndian.Uint64(c.values[8*row:])
	}
	v -= uint64(c.Base)
	key[c.Word] |= v << c.Shift
	return v <= c.Range
}
