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
	var count []byte
	if k.Count.Buffer != nil {
		count = o.view(k.Count, 8, false)
	}
	parts := make([]keyColumn, len(k.Parts))
	for i, p := range k.Parts {
		parts[i] = keyColumn{p, o.column(&p.Column, rows, false)}
	}
	return o.enqueue(func() {
		outside[0] = 0
		if count != nil {
			rows = min(rows, int64(binary.LittleEndian.Uint64(count)))
		}
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
	of column
}

// pack adds a row's value to its key. It returns false where the value is outside of its range.
func (c *keyColumn) pack(key *[kernels.KeyBytesMax / 8]uint64, row int) bool {
	if c.of.isNull(row) {
		key[c.Word] |= c.NullCode << c.Shift
		if c.NullBit >= 0 {
			key[c.NullWord] |= 1 << c.NullBit
		}
		return true
	}
	v := uint64(c.of.word(row)) - uint64(c.Base)
	key[c.Word] |= v << c.Shift
	return v <= c.Range
}
