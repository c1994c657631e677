package hostdevice

import (
	"encoding/binary"

	"github.com/mpga/mpga/kernels"
)

func (s *stream) DecompressSnappy(c *kernels.Chunks) error {
	o := s.operation("DecompressSnappy", &kernels.Shape{})
	packed := o.view(c.Packed, c.PackedBytes+kernels.PackedPad, false)
	plain := o.view(c.Plain, c.PlainBytes, true)
	list := o.view(c.List, c.Count*kernels.ChunkBytes, false)
	statuses := view[kernels.ChunkStatus](o.view(c.Status, 4*c.Count, true))
	packedBytes := uint64(c.PackedBytes)
	return o.enqueue(func() {
		packed := packed[:packedBytes]
		for i, chunk := range view[kernels.Chunk](list) {
			statuses[i] = kernels.ChunkOutside
			if isWithin(chunk.From, chunk.Bytes, packed) && isWithin(chunk.To, chunk.Size, plain) {
				from, to := packed[chunk.From:][:chunk.Bytes], plain[chunk.To:][:chunk.Size:chunk.Size]
				statuses[i] = decompressSnappy(to, from)
			}
		}
	})
}

// isWithin reports whether n bytes from a byte on lie in memory.
func isWithin(from uint64, n uint32, memory []byte) bool {
	return from <= uint64(len(memory)) && uint64(n) <= uint64(len(memory))-from
}

// shortLiteral is the longest literal of the snappy format whose length is in its tag.
const shortLiteral = 60

// decompressSnappy writes the bytes that elements stand for.
func decompressSnappy(out, in []byte) kernels.ChunkStatus {
	done := 0
	for len(in) > 0 {
		tag := in[0]
		kind, n := tag&3, int(tag>>2)+1
		extra := [4]int{0, 1, 2, 4}[kind]
		if kind == 0 && n > shortLiteral {
			extra = n - shortLiteral
		}
		if len(in) < 1+extra {
			return kernels.ChunkEnds
		}
		var b [4]byte
		copy(b[:], in[1:1+extra])
		number := int(binary.LittleEndian.Uint32(b[:]))
		in = in[1+extra:]
		switch {
		case kind == 0 && extra > 0:
			n = number + 1
		case kind == 1:
			n, number = 4+int(tag>>2&7), int(tag>>5)<<8|number
		}
		switch {
		case kind == 0 && n > len(in):
			return kernels.ChunkEnds
		case kind != 0 && (number == 0 || number > done):
			return kernels.ChunkRefers
		case n > len(out)-done:
			return kernels.ChunkLong
		}
		if kind == 0 {
			copy(out[done:], in[:n])
			in = in[n:]
			done += n
			continue
		}
		for end := done + n; done < end; done++ {
			out[done] = out[done-number]
		}
	}
	if done < len(out) {
		return kernels.ChunkShort
	}
	return kernels.ChunkDone
}
