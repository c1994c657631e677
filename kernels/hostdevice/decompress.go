package hostdevice

import (
	"encoding/binary"

	"github.com/mpga/mpga/kernels"
)

func (s *stream) DecompressSnappy(b *kernels.Blocks) error {
	o := s.operation("DecompressSnappy", &kernels.Shape{})
	packed := o.view(b.Packed, b.PackedBytes+kernels.PackedPad, false)
	plain := o.view(b.Plain, b.PlainBytes, true)
	list := view[kernels.Block](o.view(b.List, b.Count*kernels.BlockBytes, false))
	statuses := view[kernels.BlockStatus](o.view(b.Status, 4*b.Count, true))
	o.scratch(b.Scratch, b.ScratchBytes())
	packedBytes, chunks := b.PackedBytes, b.Chunks
	return o.enqueue(func() {
		packed := packed[:packedBytes]
		for i, block := range list {
			statuses[i] = kernels.BlockOutside
			if isWithin(block.From, block.Bytes, packed) && isWithin(block.To, block.Size, plain) &&
				int64(block.FirstChunk)+kernels.BlockChunks(int64(block.Size)) <= chunks {
				from, to := packed[block.From:][:block.Bytes], plain[block.To:][:block.Size:block.Size]
				statuses[i] = decompressBlock(to, from)
			}
		}
	})
}

// isWithin reports whether n bytes from a byte on lie in memory.
func isWithin(from uint64, n uint32, memory []byte) bool {
	return from <= uint64(len(memory)) && uint64(n) <= uint64(len(memory))-from
}

// decompressBlock writes the bytes that a block stands for, chunk by chunk.
func decompressBlock(out, in []byte) kernels.BlockStatus {
	if len(out) <= kernels.ChunkSize {
		return decompressChunk(out, in)
	}
	var chunks [][]byte
	done := 0
	for rest := in; len(rest) > 0; {
		e, ok := parseElement(rest)
		switch {
		case !ok:
			return kernels.BlockEnds
		case e.size > len(out)-done:
			return kernels.BlockLong
		case done%kernels.ChunkSize+e.size > kernels.ChunkSize:
			return kernels.BlockCrosses
		}
		rest = rest[e.bytes():]
		done += e.size
		if done%kernels.ChunkSize == 0 || len(rest) == 0 {
			chunks = append(chunks, in[:len(in)-len(rest)])
			in = rest
		}
	}
	if done < len(out) {
		return kernels.BlockShort
	}
	status := kernels.BlockDone
	for i, chunk := range chunks {
		from := i * kernels.ChunkSize
		status = max(status, decompressChunk(out[from:min(from+kernels.ChunkSize, len(out))], chunk))
	}
	return status
}

// shortLiteral is the longest literal of the snappy format whose length is in its tag.
const shortLiteral = 60

// element stands for size bytes: behind its head, or, of a copy, from offset bytes before.
type element struct {
	head, size, offset int
	literal            bool
}

// bytes returns how many bytes the element has.
func (e *element) bytes() int {
	if e.literal {
		return e.head + e.size
	}
	return e.head
}

// parseElement returns the element that in begins with; false where in ends within it.
func parseElement(in []byte) (e element, ok bool) {
	tag := in[0]
	kind := tag & 3
	e = element{head: 1 + [4]int{0, 1, 2, 4}[kind], size: int(tag>>2) + 1, literal: kind == 0}
	if e.literal && e.size > shortLiteral {
		e.head += e.size - shortLiteral
	}
	if len(in) < e.head {
		return e, false
	}
	var b [4]byte
	copy(b[:], in[1:e.head])
	number := int(binary.LittleEndian.Uint32(b[:]))
	switch {
	case e.literal && e.head > 1:
		e.size = number + 1
	case kind == 1:
		e.size, e.offset = 4+int(tag>>2&7), int(tag>>5)<<8|number
	case !e.literal:
		e.offset = number
	}
	return e, e.bytes() <= len(in)
}

// decompressChunk writes the bytes that elements stand for.
func decompressChunk(out, in []byte) kernels.BlockStatus {
	done := 0
	for len(in) > 0 {
		e, ok := parseElement(in)
		switch {
		case !ok:
			return kernels.BlockEnds
		case !e.literal && (e.offset == 0 || e.offset > done):
			return kernels.BlockRefers
		case e.size > len(out)-done:
			return kernels.BlockLong
		case e.literal:
			done += copy(out[done:], in[e.head:e.bytes()])
		default:
			for end := done + e.size; done < end; done++ {
				out[done] = out[done-e.offset]
			}
		}
		in = in[e.bytes():]
	}
	if done < len(out) {
		return kernels.BlockShort
	}
	return kernels.BlockDone
}
