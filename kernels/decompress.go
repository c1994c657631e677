package kernels

import (
	"fmt"
	"unsafe"

	"github.com/mpga/mpga/internal/snappy"
)

// Block is a block of the snappy format, behind the length that it begins with. Most compressors make
// its elements for each 64 KiB of their input by themselves: no element stands for bytes on both sides of
// a multiple of 64 KiB, and no copy refers to bytes before the multiple. These chunks of a block are
// decompressed side by side; other blocks are refused.
type Block struct {
	From       uint64 // in the compressed bytes, where the elements begin
	To         uint64 // in the decompressed bytes
	Bytes      uint32 // compressed
	Size       uint32 // decompressed
	FirstChunk uint32 // the BlockChunks of the blocks before it
	_          uint32
}

// BlockBytes is the size of a Block in device memory.
const BlockBytes = int64(unsafe.Sizeof(Block{}))

// ChunkSize is how many bytes a chunk has, decompressed, but for the last of a block.
const ChunkSize = snappy.PieceSize

// BlockChunks returns how many chunks a block has whose size is size bytes when it is decompressed.
func BlockChunks(size int64) int64 { return max(ceilDiv(size, ChunkSize), 1) }

// AppendListed appends a block or a page as it lies in device memory.
func AppendListed[T Block | Expansion | Page | StringPage](b []byte, item T) []byte {
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(&item)), unsafe.Sizeof(item))...)
}

// BlockStatus is how the decompression of a block ended, 4 bytes. Of a block that is not done, the
// decompressed bytes may be anything.
type BlockStatus uint32

// The ends of a block, by the first element that is wrong. Of a block of several chunks, what elements
// refer to is looked at last.
const (
	BlockDone    BlockStatus = iota
	BlockOutside             // the block, or its chunks, are not within the memory
	BlockEnds                // an element goes beyond the compressed bytes
	BlockRefers              // a copy refers to bytes before its chunk, or to itself
	BlockLong                // the elements stand for more bytes than Size
	BlockShort               // the elements stand for fewer bytes
	BlockCrosses             // an element stands for bytes of two chunks
)

var blockStatuses = [...]string{
	BlockDone:    "done",
	BlockOutside: "it is outside of its memory",
	BlockEnds:    "it ends within an element",
	BlockRefers:  "a copy from before its begin",
	BlockLong:    "it holds more bytes than it says",
	BlockShort:   "it holds fewer bytes than it says",
	BlockCrosses: "an element of two chunks",
}

// String says for people what is wrong with a block.
func (s BlockStatus) String() string { return statusText(blockStatuses[:], uint32(s)) }

// statusText returns the text of a status, which a device that fails may have made up.
func statusText(texts []string, status uint32) string {
	if int(status) < len(texts) {
		return texts[status]
	}
	return fmt.Sprintf("status %d", status)
}

// Blocks are what DecompressSnappy takes. Packed has PackedBytes, and PackedPad bytes behind them that
// may be read; Plain gets PlainBytes. List is Count times BlockBytes, whose places in Plain do not
// overlap; Chunks is the sum of their BlockChunks. Status gets Count times a BlockStatus. Scratch is of
// ScratchBytes.
type Blocks struct {
	Packed      Span
	PackedBytes int64
	Plain       Span
	PlainBytes  int64
	List        Span
	Count       int64
	Chunks      int64
	Status      Span
	Scratch     Span
}

// PackedPad is how many bytes behind the compressed bytes may be read.
const PackedPad = 16

// snappyChunk is Chunk of params_decompress.h.
type snappyChunk struct {
	from, to    uint64
	bytes, size uint32
	block       uint32
	_           uint32
}

// ScratchBytes returns the bytes of scratch that DecompressSnappy needs.
func (b *Blocks) ScratchBytes() int64 { return b.Chunks * int64(unsafe.Sizeof(snappyChunk{})) }
