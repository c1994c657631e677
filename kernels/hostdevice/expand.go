package hostdevice

import (
	"encoding/binary"
	"math"

	"github.com/mpga/mpga/kernels"
)

func (s *stream) ExpandPages(e *kernels.Expansions) error {
	o := s.operation("ExpandPages", &kernels.Shape{})
	memory := o.view(e.Memory, e.MemoryBytes+kernels.PagesPad, true)
	list := view[kernels.Expansion](o.view(e.List, e.Count*kernels.ExpansionBytes, false))
	memoryBytes := e.MemoryBytes
	return o.enqueue(func() {
		for i := range list {
			expand(&list[i], memory[:memoryBytes])
		}
	})
}

func expand(p *kernels.Expansion, memory []byte) {
	if !isWithin(p.From, p.Bytes, memory) || p.To%kernels.ExpandedHead != 0 ||
		!isWithin(p.To, p.Room, memory) || uint64(len(memory))-p.To-uint64(p.Room) < kernels.ExpandedHead || p.Width > 8 {
		return
	}
	out := memory[p.To:][:kernels.ExpandedHead+uint64(p.Room)]
	head, out := out[:kernels.ExpandedHead], out[kernels.ExpandedHead:]
	data, ok := valuesOf(memory[p.From:][:p.Bytes], p.Levels)
	values := uint32(kernels.ExpandedDamaged)
	switch {
	case p.Encoding == kernels.ByteStreamSplit:
		if ok {
			values = expandSplit(out, data, int(p.Width), p.Most)
		}
	case p.Encoding == kernels.DeltaLengthByteArray:
		var end int
		if ok {
			values, end = expandStrings(out, data, p.Most)
		}
		for i := end; len(out)-end >= 4 && i < end+4; i++ {
			out[i] = math.MaxUint8
		}
	case ok:
		numbers, _, ok := readDeltas(data, p.Most)
		if !ok || p.Width != 4 && p.Width != 8 || uint64(len(numbers))*uint64(p.Width) > uint64(len(out)) {
			break
		}
		values = uint32(len(numbers))
		for i, n := range numbers {
			if p.Width == 4 {
				binary.LittleEndian.PutUint32(out[4*i:], uint32(n))
			} else {
				binary.LittleEndian.PutUint64(out[8*i:], n)
			}
		}
	}
	clear(head)
	binary.LittleEndian.PutUint32(head, values)
}

// valuesOf returns what is behind the levels of a page, if they are in the page.
func valuesOf(data []byte, kind kernels.PageLevels) (values []byte, ok bool) {
	if kind != kernels.LevelsPrefixed {
		return data, true
	}
	_, values, ok = splitLevels(data)
	return values, ok
}

func expandSplit(out, data []byte, width int, most uint32) uint32 {
	if width == 0 || len(data)%width != 0 || len(data) > len(out) || len(data)/width > int(most) {
		return kernels.ExpandedDamaged
	}
	n := len(data) / width
	for i := range data {
		out[i%n*width+i/n] = data[i]
	}
	return uint32(n)
}

// expandStrings returns how many strings there are, and where they end.
func expandStrings(out, data []byte, most uint32) (values uint32, end int) {
	lengths, data, ok := readDeltas(data, most)
	if !ok {
		return kernels.ExpandedDamaged, 0
	}
	for _, length := range lengths {
		n := uint64(uint32(length))
		if n > uint64(len(data)) || n+4 > uint64(len(out)-end) {
			return kernels.ExpandedDamaged, 0
		}
		binary.LittleEndian.PutUint32(out[end:], uint32(n))
		end += 4 + copy(out[end+4:], data[:n])
		data = data[n:]
	}
	return uint32(len(lengths)), end
}

// Limits of the blocks of differences that devices read.
const (
	deltaBlockMax = 1 << 24
	deltaMinisMax = 32
)

// readDeltas reads Parquet's DELTA_BINARY_PACKED. More than `most` values are an error. rest is what
// follows the last miniblock.
func readDeltas(data []byte, most uint32) (values []uint64, rest []byte, ok bool) {
	varint := func() (v uint64) {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			ok = false
			return 0
		}
		data = data[n:]
		return v
	}
	zigzag := func() uint64 {
		v := varint()
		return v>>1 ^ -(v & 1)
	}
	ok = true
	block, minis, count, value := varint(), varint(), varint(), zigzag()
	if !ok || block == 0 || block > deltaBlockMax || minis == 0 || minis > deltaMinisMax || block%(8*minis) != 0 ||
		count > math.MaxInt32 || count > uint64(most) {
		return nil, nil, false
	}
	if count > 0 {
		values = append(values, value)
	}
	mini := block / minis
	for left := max(count, 1) - 1; left > 0; {
		least := zigzag()
		if !ok || uint64(len(data)) < minis {
			return nil, nil, false
		}
		widths := data[:minis]
		data = data[minis:]
		for i := 0; i < len(widths) && left > 0; i++ {
			width, n := uint64(widths[i]), min(left, mini)
			if width > 64 || (n*width+7)/8 > uint64(len(data)) {
				return nil, nil, false
			}
			for k := range n {
				value += least + bitsAt(data, k*width, width)
				values = append(values, value)
			}
			data = data[min(mini*width/8, uint64(len(data))):]
			left -= n
		}
	}
	return values, data, true
}

// bitsAt returns the value of up to 64 bits that begins at a bit.
func bitsAt(data []byte, bit, width uint64) uint64 {
	var b [9]byte
	copy(b[:], data[min(bit/8, uint64(len(data))):])
	shift := bit % 8
	v := binary.LittleEndian.Uint64(b[:])>>shift | uint64(b[8])<<(64-shift)
	return v & (1<<width - 1)
}
