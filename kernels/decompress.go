package kernels

import (
	"fmt"
	"unsafe"
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
const ChunkBytes = int64(unsafe.Sizeof(Chunk{}))

// AppendListed appends a chunk or a page as it lies in device memory.
func AppendListed[T Chunk | Page](b []byte, item T) []byte {
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(&item)), unsafe.Sizeof(item))...)
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
	ChunkDone:    "done",
	ChunkOutside: "it is outside of its memory",
	ChunkEnds:    "it ends within an element",
	ChunkRefers:  "a copy from before its begin",
	ChunkLong:    "it holds more bytes than it says",
	ChunkShort:   "it holds fewer bytes than it says",
}

// String says for people what is wrong with a chunk.
func (s ChunkStatus) String() string { return statusText(chunkStatuses[:], uint32(s)) }

// statusText returns the text of a status, which a device that fails may have made up.
func statusText(texts []string, status uint32) string {
	if int(status) < len(texts) {
		return texts[status]
	}
	return fmt.Sprintf("status %d", status)
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
