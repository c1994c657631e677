package kernels

import "unsafe"

// Page is a data page of a Parquet column whose values have one width, decompressed.
type Page struct {
	From       uint64 // in the memory of all pages, where it begins: levels of LevelsPrefixed, then values
	Dictionary uint64 // in the memory of all pages: Entries values
	To         uint64 // the row of the column that its first row is
	LevelsFrom uint64 // in the memory of all pages: LevelBytes of LevelsSized
	Bytes      uint32 // of levels and values
	Rows       uint32
	Entries    uint32 // of the dictionary; 0: the values are plain
	LevelBytes uint32
	Levels     PageLevels // which definition levels it has
	FirstStep  uint32     // the PageSteps of the pages before it

	Apart PageApart
	Head  uint32 // where in the memory of all pages the head of expanded values is, in units of ExpandedHead; 0: no head
}

// PageApart says whether the values of a page are apart from its levels: Dictionary then has its values, one
// after the other.
type PageApart uint32

// Where values are.
const (
	ApartNone    PageApart = iota // in the page, as they are or as codes of entries
	ApartPlain                    // at most Entries values
	ApartNowhere                  // there are none: the page has codes, and there are no entries
)

// PageLevels says which definition levels, of at most 1, are before the values of a page.
type PageLevels uint32

// The levels that a page may have.
const (
	LevelsNone     PageLevels = iota // no row is NULL
	LevelsPrefixed                   // behind 4 bytes that say how many bytes they have: pages of version 1
	LevelsSized                      // LevelBytes from LevelsFrom on: pages of version 2
)

// PageForm is how the values of a column differ from the values of its pages.
type PageForm uint32

// The forms. Of an integer of 8 or 16 bits, pages have 4 bytes, whose lowest are the value.
const (
	FormWhole PageForm = iota // not at all
	FormInt8
	FormInt16
	FormUint8
	FormUint16
	FormFloat // pages have floats, the column doubles
	// Pages have integers of 4 and of 8 bytes, the column the nearest doubles.
	FormInt32Double
	FormUint32Double
	FormInt64Double
	FormUint64Double
	FormLow // pages have 8 bytes, the column the lowest 4
	FormBig // pages have integers of 1 to 8 bytes, the highest first, the column 8 bytes
)

// Width returns how many bytes a value of the column has whose pages have width bytes.
func (f PageForm) Width(width int) int {
	switch f {
	case FormFloat, FormInt32Double, FormUint32Double, FormBig:
		return 8
	case FormLow:
		return 4
	}
	return width
}

// suits reports whether the form is one for values of width bytes.
func (f PageForm) suits(width int) bool {
	switch f {
	case FormWhole:
		return width == 4 || width == 8
	case FormInt64Double, FormUint64Double, FormLow:
		return width == 8
	case FormBig:
		return width >= 1 && width <= 8
	}
	return width == 4 && f <= FormLow
}

// stepRows is how many rows of a page are decoded by themselves: params_pages.h.
const stepRows = 1024

// PageSteps returns how many steps a page of `rows` rows takes.
func PageSteps(rows int64) int64 { return ceilDiv(rows, stepRows) }

// PageBytes is the size of a Page in device memory.
const PageBytes = int64(unsafe.Sizeof(Page{}))

// PageStatus is how the decoding of a page ended, 4 bytes. Of a page that is not done, the rows may
// have any values.
type PageStatus uint32

// The ends of a page, by what is found first.
const (
	PageDone      PageStatus = iota
	PageOutside              // the page, its dictionary, rows or steps are not within their memory
	PageLevelsBad            // the definition levels are damaged, or too few
	PageWidth                // codes of more than 32 bits
	PageEnds                 // it ends before its last value
	PageCode                 // a code is not in the dictionary, or a row has no number
	PageNull                 // a row is NULL, and there is no bitmap
)

var pageStatuses = [...]string{
	PageDone:      "done",
	PageOutside:   "it is outside of its memory",
	PageLevelsBad: "its definition levels are damaged",
	PageWidth:     "its codes have more than 32 bits",
	PageEnds:      "it ends before its last value",
	PageCode:      "it has a code that is not in the dictionary, or a string without a number",
	PageNull:      "it has a NULL in a column without NULLs",
}

// String says for people what is wrong with a page.
func (s PageStatus) String() string { return statusText(pageStatuses[:], uint32(s)) }

// Pages are what DecodePages takes of a column. Memory has MemoryBytes, and PagesPad bytes behind them that may
// be read. List is Count times PageBytes, whose rows do not overlap; Status gets Count times a
// PageStatus. Pages have values of Width bytes, 4 or 8 unless Form says otherwise; Values are Rows
// of Form.Width(Width) bytes. Valid is a bitmap of Rows, all bits 0 before or as the same pages
// have left the bitmap; without a buffer, no row is to be NULL. Where values are Numbers, none is
// to be 0 in a row that is not NULL. Scratch is of ScratchBytes.
type Pages struct {
	Memory      Span
	MemoryBytes int64
	List        Span
	Count       int64
	Steps       int64 // of all pages
	Width       int
	Form        PageForm
	Numbers     bool
	Values      Span
	Valid       Span
	Rows        int64
	Status      Span
	Scratch     Span
}

// PagesPad is how many bytes behind the pages may be read.
const PagesPad = 16

// pageStepBytes is the size of Step.
const pageStepBytes = 32

// ScratchBytes returns the bytes of scratch that DecodePages needs.
func (p *Pages) ScratchBytes() int64 { return p.Steps * pageStepBytes }
