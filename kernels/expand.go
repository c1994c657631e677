package kernels

import (
	"math"
	"unsafe"
)

// PageEncoding is an encoding of Parquet whose pages become plain pages before they are decoded.
type PageEncoding uint32

// The encodings, by Parquet's names.
const (
	DeltaBinaryPacked    PageEncoding = iota // integers of 4 or 8 bytes
	DeltaLengthByteArray                     // strings
	ByteStreamSplit                          // values of 1 to 8 bytes
)

// Expansion is a data page, decompressed, whose values become plain. They go behind an ExpandedHead, which
// says how many there are: ExpandedDamaged where the page is damaged. Strings end with a length of 2^32 - 1, where
// there is room.
type Expansion struct {
	From     uint64 // in the memory of all pages, where it begins: levels of LevelsPrefixed, then values
	To       uint64 // there, where the head is: a multiple of 16
	Bytes    uint32 // of levels and values
	Room     uint32 // for plain values, in bytes
	Most     uint32 // values that it has at most
	Width    uint32 // bytes of a value, but of strings
	Levels   PageLevels
	Encoding PageEncoding
	_        [2]uint32
}

// ExpansionBytes is the size of an Expansion in device memory.
const ExpansionBytes = int64(unsafe.Sizeof(Expansion{}))

// ExpandedHead is the bytes before expanded values. The first four tell how many values there are.
const ExpandedHead = 16

// ExpandedDamaged is the number of values of a page that is damaged.
const ExpandedDamaged = math.MaxUint32

// Expansions are what ExpandPages takes. Memory has MemoryBytes, and PagesPad bytes behind them that may be
// read; List is Count times ExpansionBytes. No page is within what another becomes.
type Expansions struct {
	Memory      Span
	MemoryBytes int64
	List        Span
	Count       int64
}
