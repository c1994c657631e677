package devicetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Decompress holds DecompressSnappy to blocks of random elements of every form, as they are and with
// bytes changed, and to blocks that are not in their memory. Most have up to bytesMax bytes.
func Decompress(t *testing.T, device kernels.Device, blocks, bytesMax int) {
	r := newRig(t, device)
	defer r.close()
	rng := rand.New(rand.NewPCG(11, uint64(blocks)))
	var d decompression
	for i := range blocks {
		size := rng.IntN(bytesMax + 1)
		if i == 0 {
			size = 0
		}
		if i%7 == 6 && i < 200 { // of several chunks
			size = []int{2, 3, 5}[rng.IntN(3)]*kernels.ChunkSize - rng.IntN(3)*rng.IntN(40_000)
		}
		elements, plain := randomElements(rng, nil, nil, size)
		if i%14 == 6 && i < 200 { // as compressors make them
			elements, plain = nil, nil
			for len(plain) < size {
				elements, plain = randomElements(rng, elements, plain, min(size-len(plain), kernels.ChunkSize))
			}
		}
		statedSize := len(plain)
		switch i % 5 { // two of five blocks stay as they are
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

// decompression is blocks, and what is to come of them.
type decompression struct {
	packed, list []byte
	plainBytes   int
	blocks       []kernels.Block
	chunks       int64
}

// add adds a block, behind some bytes that belong to none.
func (d *decompression) add(rng *rand.Rand, elements []byte, size int) {
	gap := make([]byte, rng.IntN(9))
	for i := range gap {
		gap[i] = byte(rng.Uint32())
	}
	d.packed = append(d.packed, gap...)
	d.plainBytes += rng.IntN(9)
	d.addBlock(kernels.Block{
		From: uint64(len(d.packed)), Bytes: uint32(len(elements)),
		To: uint64(d.plainBytes), Size: uint32(size),
	})
	d.packed = append(d.packed, elements...)
	d.plainBytes += size
}

func (d *decompression) addBlock(b kernels.Block) {
	if b.FirstChunk == 0 {
		b.FirstChunk = uint32(d.chunks)
		d.chunks += kernels.BlockChunks(min(int64(b.Size), 1<<20))
	}
	d.blocks = append(d.blocks, b)
	d.list = kernels.AppendListed(d.list, b)
}

// addOutside adds blocks that are not in their memory.
func (d *decompression) addOutside() {
	packed, plain := uint64(len(d.packed)), uint64(d.plainBytes)
	for _, b := range []kernels.Block{
		{From: packed, Bytes: 1}, {From: packed + 1}, {From: 1 << 63, Bytes: 9}, {From: ^uint64(0), Bytes: 1},
		{To: plain, Size: 1}, {To: plain + 1}, {To: ^uint64(0), Size: 2}, {Bytes: ^uint32(0), From: packed / 2},
		{Size: 1, FirstChunk: uint32(d.chunks) + 100}, {Size: 1, FirstChunk: ^uint32(0)},
	} {
		d.addBlock(b)
	}
}

// run compares what a device makes of the blocks with what is to come of them.
func (d *decompression) run(r *Rig) {
	r.t.Helper()
	packed := make([]byte, len(d.packed)+kernels.PackedPad)
	copy(packed, d.packed)
	b := &kernels.Blocks{
		Packed: r.put(packed), PackedBytes: int64(len(d.packed)),
		Plain: r.alloc(int64(d.plainBytes)), PlainBytes: int64(d.plainBytes),
		List: r.put(d.list), Count: int64(len(d.blocks)), Chunks: d.chunks, Status: r.alloc(4 * int64(len(d.blocks))),
	}
	b.Scratch = r.alloc(b.ScratchBytes())
	r.must(r.stream.DecompressSnappy(b))
	statuses, got := r.get(b.Status, 4*b.Count), r.get(b.Plain, b.PlainBytes)
	outside := bytes.Repeat([]byte{poisonByte}, len(got))
	for i, block := range d.blocks {
		status := kernels.BlockStatus(binary.LittleEndian.Uint32(statuses[4*i:]))
		want, plain := kernels.BlockOutside, []byte(nil)
		if block.FirstChunk < uint32(d.chunks) && block.From+
			uint64(block.Bytes) <= uint64(len(d.packed)) && block.From < 1<<62 &&
			block.To+uint64(block.Size) <= uint64(d.plainBytes) && block.To < 1<<62 {
			want, plain = elementsStandFor(d.packed[block.From:][:block.Bytes], int(block.Size))
		}
		if status != want {
			r.t.Errorf("block %d, %+v: %v, want %v", i, block, status, want)
			continue
		}
		if want == kernels.BlockOutside {
			continue
		}
		copy(outside[block.To:][:block.Size], got[block.To:])
		if want != kernels.BlockDone {
			continue
		}
		if at := firstDifference(got[block.To:][:block.Size], plain); at >= 0 {
			r.t.Errorf("block %d, %+v: byte %d is not right", i, block, at)
		}
	}
	if at := firstDifference(got, outside); at >= 0 {
		r.t.Errorf("byte %d was written, which belongs to no block", at)
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

// randomElements appends elements of random forms that stand for size bytes, and the bytes.
func randomElements(rng *rand.Rand, elements, plain []byte, size int) (longer, more []byte) {
	begin := len(plain)
	for end := begin + size; len(plain) < end; {
		left, done := end-len(plain), len(plain)-begin
		offset, n := 1+rng.IntN(max(done, 1)), min(left, 1+rng.IntN(64))
		switch form := rng.IntN(9); {
		case form < 3 || done == 0:
			n := 1 + rng.IntN([]int{8, 70, 400, 70_000}[rng.IntN(4)])
			literal := make([]byte, min(n, left))
			for i := range literal {
				literal[i] = byte(rng.Uint32())
			}
			elements = append(appendLiteral(rng, elements, len(literal)), literal...)
			plain = append(plain, literal...)
		case form < 5 && left > 11:
			elements, plain = appendCopy(elements, plain, 1, min(offset, 1<<11-1), 4+rng.IntN(8))
		case form < 7:
			elements, plain = appendCopy(elements, plain, 2, min(offset, 1<<16-1), n)
		case form < 8: // bytes that repeat
			elements, plain = appendCopy(elements, plain, 2, min(offset, 40), n)
		default:
			elements, plain = appendCopy(elements, plain, 3, offset, n)
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

// appendCopy appends a copy of the n bytes that begin offset bytes before the end, in the form of a
// kind.
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
func elementsStandFor(elements []byte, size int) (kernels.BlockStatus, []byte) {
	chunked := size > kernels.ChunkSize
	if chunked {
		if status := headsSay(elements, size); status != kernels.BlockDone {
			return status, nil
		}
	}
	var plain []byte
	for len(elements) > 0 {
		e := oracleElement(elements)
		begin := 0
		if chunked {
			begin = len(plain) - len(plain)%kernels.ChunkSize
		}
		switch {
		case e.ends:
			return kernels.BlockEnds, nil
		case e.copies && (e.offset == 0 || e.offset > len(plain)-begin):
			return kernels.BlockRefers, nil
		case e.size > size-len(plain):
			return kernels.BlockLong, nil
		case e.copies:
			for range e.size {
				plain = append(plain, plain[len(plain)-e.offset])
			}
		default:
			plain = append(plain, elements[e.bytes-e.size:e.bytes]...)
		}
		elements = elements[e.bytes:]
	}
	if len(plain) < size {
		return kernels.BlockShort, nil
	}
	return kernels.BlockDone, plain
}

// headsSay returns what the heads of elements tell of a block of several chunks.
func headsSay(elements []byte, size int) kernels.BlockStatus {
	done := 0
	for len(elements) > 0 {
		e := oracleElement(elements)
		switch {
		case e.ends:
			return kernels.BlockEnds
		case e.size > size-done:
			return kernels.BlockLong
		case done/kernels.ChunkSize != (done+e.size-1)/kernels.ChunkSize:
			return kernels.BlockCrosses
		}
		done += e.size
		elements = elements[e.bytes:]
	}
	if done < size {
		return kernels.BlockShort
	}
	return kernels.BlockDone
}

type elementOracle struct {
	bytes, size, offset int
	copies, ends        bool
}

// oracleElement reads the element that elements begin with, byte by byte.
func oracleElement(elements []byte) (e elementOracle) {
	tag := elements[0]
	kind, n := tag&3, int(tag>>2)+1
	numberBytes := []int{max(n-60, 0), 1, 2, 4}[kind]
	e.bytes, e.size, e.copies = 1+numberBytes, n, kind != 0
	if e.ends = e.bytes > len(elements); e.ends {
		return e
	}
	for i := range numberBytes {
		e.offset |= int(elements[1+i]) << (8 * i)
	}
	switch {
	case kind == 1:
		e.size, e.offset = 4+int(tag>>2)&7, int(tag>>5)<<8|e.offset
	case kind == 0:
		if numberBytes > 0 {
			e.size = e.offset + 1
		}
		e.bytes += e.size
		e.ends = e.bytes > len(elements)
	}
	return e
}
