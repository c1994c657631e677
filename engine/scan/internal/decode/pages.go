package decode

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// PagedPart is a part whose columns can be had as pages, to be decoded elsewhere.
type PagedPart interface {
	Part

	// PagedColumns tells of each column what its pages hold, or why a column has no such pages.
	PagedColumns() ([]PagedColumn, error)

	// OpenPages opens the part. Requires: PagedColumns has told of its columns.
	OpenPages() (PageReader, error)
}

// PageReader reads the pages of a part, of several columns at once.
type PageReader interface {
	// Read reads the pages of a column into memory, of PagedColumn.Bytes. It returns false where
	// the column is to be read as batches: its pages are not as PagedColumns has told, or damaged, or
	// cannot be read.
	Read(column int, memory []byte) (Pages, bool)

	io.Closer
}

// PagedColumn tells what the pages of a column hold: values of one width, which are Arrow's or integers
// whose lowest bytes are, or strings, each behind 4 bytes that say how many bytes it has. Decimals of at most
// 18 digits are integers.
type PagedColumn struct {
	Name     string
	Type     arrow.DataType
	Width    int   // bytes of a value in the pages: 4 or 8, of Big 1 to 8; 0 of strings
	Big      bool  // integers, the highest byte first
	Value    int   // bytes of a value as Arrow has it, the lowest of Width where they are fewer
	Text     bool  // strings, which must be UTF-8
	Bytes    int64 // of memory that Read needs
	Unpacked int64 // about how many bytes the pages have, decompressed, and again where they become plain

	// Codec of the pages, where Read decompresses them; "" where they are read as they lie in the file.
	Codec string
}

// PageCount is pages of one codec that were decoded.
type PageCount struct {
	Codec        string `json:"codec"` // as Parquet names it
	Pages        int64  `json:"pages"` // dictionaries are pages, too
	Bytes        int64  `json:"bytes"` // as whoever decompresses them gets them
	Decompressed int64  `json:"decompressed_bytes"`
}

// Pages are all pages of a column of a part.
type Pages struct {
	Dictionary PageBytes
	Entries    int // of the dictionary
	Data       []Page
}

// Page is a data page. Its bytes are definition levels of LevelsPrefixed, and then values.
type Page struct {
	PageBytes
	Rows       int
	Encoding   PageEncoding
	Levels     PageLevels
	LevelsAt   int64 // in the memory of the column: LevelBytes of LevelsSized
	LevelBytes int
}

// PageEncoding says how values lie in a page.
type PageEncoding uint8

// The encodings, which but for the first two have Parquet's names.
const (
	Plain PageEncoding = iota
	Coded              // a byte with the width of codes, and runs of codes of the dictionary
	DeltaBinaryPacked
	DeltaLengthByteArray
	ByteStreamSplit
)

// PageLevels says where the definition levels of a page are, which are 1 for a value and 0 for NULL,
// in runs.
type PageLevels uint8

// The places of levels.
const (
	LevelsNone     PageLevels = iota // no row is NULL
	LevelsPrefixed                   // behind 4 bytes that say how many bytes they have
	LevelsSized                      // LevelsAt
)

// PageBytes are the bytes of a page, or a block of the snappy format, behind the length that it begins
// with, which stands for them.
type PageBytes struct {
	At     int64 // in the memory of the column
	Bytes  int   // there
	Size   int   // decompressed
	Snappy bool
}
