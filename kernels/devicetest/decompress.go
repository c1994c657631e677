package devicetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Decompress holds DecompressSnappy to chunks of random elements of every form, as they are and with
// bytes changed, and to chunks that are not in their memory. Most have up to so many bytes.
func Decompress(t *testing.T, device kernels.Device, chunks, bytesMax int) {
	r := newRig(t, device)
	defer r.close()
	rng := rand.New(rand.NewPCG(11, uint64(chunks)))
	var d decompression
	for i := range chunks {
		size := rng.IntN(bytesMax + 1)
		switch i {
		case 0:
			size = 0
		case 1:
			size = 3 * 64 << 10
		}
		elements, plain := randomElements(rng, size)
		statedSize := len(plain)
		switch i % 5 { // two of five chunks stay as they are
		case 1:
			for range 1 + rng.IntN(3) {
				if len(elements) > 0 {
					elements[rng.IntN(len(elements))] = byte(rng.Uint32())
				}
			}
		case 2:
			elements = elements[:rng.IntN(len(elements)+1)]
		case 3:
			statedSize = max(0, statedSize+rng.IntN(65)-32)
		}
		d.add(rng, elements, statedSize)
	}
	d.addOutside()
	d.run(r)
}

// decompression is chunks, and what is to come of them.
type decompression struct {
	packed, list []byte
	plainBytes   int
	chunks       []kernels.Chunk
}

// add adds a chunk, behind some bytes that belong to none.
func (d *decompression) add(rng *rand.Rand, elements []byte, size int) {
	gap := make([]byte, rng.IntN(9))
	for i := range gap {
		gap[i] = byte(rng.Uint32())
	}
	d.packed = append(d.packed, gap...)
	d.plainBytes += rng.IntN(9)
	d.addChunk(kernels.Chunk{
		From: uint64(len(d.packed)), Bytes: uint32(len(elements)),
		To: uint64(d.plainBytes), Size: uint32(size),
	})
	d.packed = append(d.packed, elements...)
	d.plainBytes += size
}

func (d *decompression) addChunk(c kernels.Chunk) {
	d.chunks = append(d.chunks, c)
	d.list = kernels.AppendListed(d.list, c)
}

// addOutside adds chunks that are not in their memory.
func (d *decompression) addOutside() {
	packed, plain := uint64(len(d.packed)), uint64(d.plainBytes)
	for _, c := range []kernels.Chunk{
		{From: packed, Bytes: 1}, {From: packed + 1}, {From: 1 << 63, Bytes: 9}, {From: ^uint64(0), Bytes: 1},
		{To: plain, Size: 1}, {To: plain + 1}, {To: ^uint64(0), Size: 2}, {Bytes: ^uint32(0), From: packed / 2},
	} {
		d.addChunk(c)
	}
}

// run compares what a device makes of the chunks with what is to come of them.
func (d *decompression) run(r *Rig) {
	r.t.Helper()
	packed := make([]byte, len(d.packed)+kernels.PackedPad)
	copy(packed, d.packed)
	c := &kernels.Chunks{
		Packed: r.put(packed), PackedBytes: int64(len(d.packed)),
		Plain: r.alloc(int64(d.plainBytes)), PlainBytes: int64(d.plainBytes),
		List: r.put(d.list), Count: int64(len(d.chunks)), Status: r.alloc(4 * int64(len(d.chunks))),
	}
	r.must(r.stream.DecompressSnappy(c))
	statuses, got := r.get(c.Status, 4*c.Count), r.get(c.Plain, c.PlainBytes)
	outside := bytes.Repeat([]byte{poisonByte}, len(got))
	for i, chunk := range d.chunks {
		status := kernels.ChunkStatus(binary.LittleEndian.Uint32(statuses[4*i:]))
		want, plain := kernels.ChunkOutside, []byte(nil)
		if chunk.From+uint64(chunk.Bytes) <= uint64(len(d.packed)) && chunk.From < 1<<62 &&
			chunk.To+uint64(chunk.Size) <= uint64(d.plainBytes) && chunk.To < 1<<62 {
			want, plain = elementsStandFor(d.packed[chunk.From:][:chunk.Bytes], int(chunk.Size))
		}
		if status != want {
			r.t.Errorf("chunk %d, %+v: %v, want %v", i, chunk, status, want)
			continue
		}
		if want == kernels.ChunkOutside {
			continue
		}
		copy(outside[chunk.To:][:chunk.Size], got[chunk.To:])
		if want != kernels.ChunkDone {
			continue
		}
		if at := firstDifference(got[chunk.To:][:chunk.Size], plain); at >= 0 {
			r.t.Errorf("chunk %d, %+v: byte %d is not right", i, chunk, at)
		}
	}
	if at := firstDifference(got, outside); at >= 0 {
		r.t.Errorf("byte %d was written, which belongs to no chunk", at)
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// randomElements returns elements of random forms that stand for about size bytes, and the bytes.
func randomElements(rng *rand.Rand, size int) (elements, plain []byte) {
	for len(plain) < size {
		left := size - len(plain)
		switch form := rng.IntN(8); {
		case form < 3 || len(plain) == 0:
			n := 1 + rng.IntN([]int{8, 70, 400, 70_000}[rng.IntN(4)])
			literal := make([]byte, min(n, left))
			for i := range literal {
				literal[i] = byte(rng.Uint32())
			}
			elements = append(appendLiteral(rng, elements, len(literal)), literal...)
			plain = append(plain, literal...)
		case form < 5:
			elements, plain = appendCopy(elements, plain, 1, 1+rng.IntN(min(len(plain), 1<<11-1)), 4+rng.IntN(8))
		case form < 7:
			elements, plain = appendCopy(elements, plain, 2, 1+rng.IntN(min(len(plain), 1<<16-1)), 1+rng.IntN(64))
		default:
			elements, plain = appendCopy(elements, plain, 3, 1+rng.IntN(len(plain)), 1+rng.IntN(64))
		}
		if rng.IntN(4) == 0 { // bytes that repeat
			elements, plain = appendCopy(elements, plain, 2, 1+rng.IntN(min(len(plain), 40)), 1+rng.IntN(64))
		}
	}
	return elements, plain
}

// appendLiteral appends the head of a literal of n bytes, in one of the forms that it may have.
func appendLiteral(rng *rand.Rand, elements []byte, n int) []byte {
	const shortMax = 60
	if n <= shortMax && rng.IntN(8) > 0 {
		return append(elements, byte(n-1)<<2)
	}
	least := 1
	for n-1 >= 1<<(8*least) {
		least++
	}
	extra := least + rng.IntN(5-least)
	number := binary.LittleEndian.AppendUint32(nil, uint32(n-1))
	elements = append(elements, byte(shortMax-1+extra)<<2)
	return append(elements, number[:extra]...)
}

// appendCopy appends a copy of n bytes from so many bytes before, in the form of a kind.
func appendCopy(elements, plain []byte, kind byte, offset, n int) (longer, more []byte) {
	number := binary.LittleEndian.AppendUint32(nil, uint32(offset))
	switch kind {
	case 1:
		elements = append(elements, kind|byte(n-4)<<2|byte(offset>>8)<<5, number[0])
	case 2:
		elements = append(append(elements, kind|byte(n-1)<<2), number[:2]...)
	default:
		elements = append(append(elements, kind|byte(n-1)<<2), number...)
	}
	for range n {
		plain = append(plain, plain[len(plain)-offset])
	}
	return elements, plain
}

// elementsStandFor is what is to come of elements: byte for byte.
func elementsStandFor(elements []byte, size int) (kernels.ChunkStatus, []byte) {
	var plain []byte
	for at := 0; at < len(elements); {
		tag := elements[at]
		kind, n := tag&3, int(tag>>2)+1
		numberBytes := []int{max(n-60, 0), 1, 2, 4}[kind]
		if at+1+numberBytes > len(elements) {
			return kernels.ChunkEnds, nil
		}
		number := 0
		for i := range numberBytes {
			number |= int(elements[at+1+i]) << (8 * i)
		}
		at += 1 + numberBytes
		if kind == 0 {
			if numberBytes > 0 {
				n = number + 1
			}
			if at+n > len(elements) {
				return kernels.ChunkEnds, nil
			}
		} else {
			if kind == 1 {
				n, number = 4+int(tag>>2)&7, int(tag>>5)<<8|number
			}
			if number == 0 || number > len(plain) {
				return kernels.ChunkRefers, nil
			}
		}
		if n > size-len(plain) {
			return kernels.ChunkLong, nil
		}
		if kind == 0 {
			plain = append(plain, elements[at:at+n]...)
			at += n
			continue
		}
		for range n {
			plain = append(plain, plain[len(plain)-number])
		}
	}
	if len(plain) < size {
		return kernels.ChunkShort, nil
	}
	return kernels.ChunkDone, plain
}
