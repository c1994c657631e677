package kernels

import (
	"encoding/binary"
	"fmt"
)

// Chunk is elements of the snappy format that are decompressed by themselves: no copy among them
// refers to what lies before them. Compressors of whole blocks make such chunks of 64 KiB.
type Chunk struct {
	From  uint64 // in the compressed bytes, where the elements begin
	To    uint64 // in the decompressed bytes
	Bytes uint32 // compressed
	Size  uint32 // decompressed
}

// ChunkBytes is the size of a Chunk in device memory.
const ChunkBytes = 24

// AppendChunk appends a chunk as it lies in device memory.
func AppendChunk(b []byte, c Chunk) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.From)
	b = binary.LittleEndian.AppendUint64(b, c.To)
	b = binary.LittleEndian.AppendUint32(b, c.Bytes)
	return binary.LittleEndian.AppendUint32(b, c.Size)
}

// ChunkStatus is how the decompression of a chunk ended, 4 bytes. Of a chunk that is not done, the
// decompressed bytes may be anything.
type ChunkStatus uint32

// The ends of a chunk, by the first element that is wrong.
const (
	ChunkDone    ChunkStatus = iota
	ChunkOutside             // the chunk is not within the memory
	ChunkEnds                // an element goes beyond the compressed bytes
	ChunkRefers              // a copy refers to bytes before the chunk, or to itself
	ChunkLong                // the elements stand for more bytes than Size
	ChunkShort               // the elements stand for fewer bytes
)

var chunkStatuses = [...]string{
	ChunkDone: "done", ChunkOutside: "it is outside of its memory", ChunkEnds: "it ends within an element",
	ChunkRefers: "a copy from before its begin", ChunkLong: "it holds more bytes than it says", ChunkShort: "it holds fewer bytes than it says",
}

// String says for people what is wrong with a chunk.
func (s ChunkStatus) String() string {
	if int(s) < len(chunkStatuses) {
		return chunkStatuses[s]
	}
	return fmt.Sprintf("status %d", uint32(s))
}

// Chunks are what DecompressSnappy takes. Packed has PackedBytes, and eight bytes behind them that
// may be read; Plain gets PlainBytes. List is Count times ChunkBytes, whose places in Plain do not
// overlap; Status gets Count times a ChunkStatus.
type Chunks struct {
	Packed      Span
	PackedBytes int64
	Plain       Span
	PlainBytes  int64
	List        Span
	Count       int64
	Status      Span
}

// PackedPad is how many bytes behind the compressed bytes may be read.
const PackedPad = 8
