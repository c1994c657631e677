package kernels

import (
	"unsafe"

	"github.com/mpga/mpga/internal/rowcode"
)

// StringPage is a page of Parquet's plain strings, decompressed: a data page, or a dictionary. Each
// string lies behind 4 bytes that say how many bytes it has.
type StringPage struct {
	From   uint64     // in the memory of all pages, where it begins: levels of LevelsPrefixed, then strings
	Bytes  uint32     // of levels and strings
	First  uint32     // of the strings of all pages, the first of its own
	Most   uint32     // strings that it has at most
	Levels PageLevels // LevelsPrefixed, or others, which are not in the page
	Column uint32     // whose strings have numbers of their own; less than 2^15
	_      uint32
}

// StringPageBytes is the size of a StringPage in device memory.
const StringPageBytes = int64(unsafe.Sizeof(StringPage{}))

// MissingString is a string that has no number yet, as NumberStrings lists it. Its bytes follow the bytes
// of the string that is listed before it.
type MissingString struct {
	String uint32 // of the strings of all pages
	Bytes  uint32
}

// MissingBytes is the size of a MissingString in device memory.
const MissingBytes = int64(unsafe.Sizeof(MissingString{}))

// Missing says how much NumberStrings has listed.
type Missing struct {
	Bytes uint32 // of Strings.Text; where they are more than TextBytes, text is missing
	Count uint32 // of Strings.List
}

// MissingHeadBytes is the size of a Missing in device memory.
const MissingHeadBytes = int64(unsafe.Sizeof(Missing{}))

// Strings are what NumberStrings and AddStrings take: the strings of some pages, which get the numbers
// that the host has given to equal strings of the same column. Memory has MemoryBytes, less than 4 GiB,
// and PagesPad bytes behind them that may be read. Pages is Count times StringPageBytes, whose strings do not
// overlap: there are at most Strings of all pages.
type Strings struct {
	Memory      Span
	MemoryBytes int64
	Pages       Span
	Count       int64
	Strings     int64
	Known       StringTable

	// Numbers gets 4 bytes for each string: its number, or 0 where it has none, or a page ends before
	// it. Head gets a Missing, List as many MissingStrings as that says, in any order: the distinct
	// strings without a number. Their bytes go to Text, of TextBytes.
	Numbers   Span
	Head      Span
	List      Span
	Text      Span
	TextBytes int64

	// Words gets 4 bytes for each string of the columns Matched, rowcode.Word of Patterns, with the bits that are
	// asked for there alone; 0 where a page ends before the string. Refused gets 4 bytes: 0, or another where one
	// of these strings is not UTF-8 and is to be, or is searched for parts and its bytes times the bytes of the parts
	// are more than PatternSteps.
	Patterns []rowcode.Pattern
	Matched  []MatchedColumn
	Words    Span
	Refused  Span

	// Given are the numbers of the strings of List, 4 bytes each, which AddStrings takes; 0 is no number.
	Given Span

	Scratch Span // of ScratchBytes: AddStrings takes what NumberStrings has left in it
}

// MatchedColumn is a column whose strings are compared with patterns.
type MatchedColumn struct {
	Column   uint32 // less than MatchedColumnsMax
	Patterns uint32 // a bit for each that is asked for
	Numbered bool   // its strings get numbers, too
	Text     bool   // they are to be UTF-8
}

// PatternSteps bounds what a thread does for a string.
const PatternSteps = 1 << 26

// MatchedColumnsMax is how many columns NumberStrings tells apart where strings are compared with patterns.
const MatchedColumnsMax = 64

// StringTable are strings with numbers in device memory, as far as there is room for them. Several
// streams may use a table at once. It is empty where its first ResetBytes are 0.
type StringTable struct {
	Memory Span
	Slots  int64 // of which half are used, at most
	Bytes  int64 // of strings: stringRecordBytes, and their bytes, for each
}

// KnownStringMax is how many bytes a string of a StringTable has at most: a longer one would leave no
// room for many.
const KnownStringMax = 4096

// Of params_strings.h.
const (
	stringTableHeader = 16
	stringRecordBytes = 16
)

// ResetBytes returns how many bytes from the table's begin are 0 where it is empty.
func (t *StringTable) ResetBytes() int64 {
	if t.Slots == 0 {
		return 0
	}
	return stringTableHeader + 8*t.Slots
}

// MemoryBytes returns the bytes of the table's memory.
func (t *StringTable) MemoryBytes() int64 { return t.ResetBytes() + t.Bytes }

// NewStringTable returns a table that takes no more than `bytes` bytes, without its memory. It has 0
// Slots where the bytes are too few.
func NewStringTable(bytes int64) StringTable {
	const perSlot = 8 + 24 // half of the slots have a string, with its bytes
	slots := (bytes - stringTableHeader) / perSlot &^ 1
	if slots <= 0 {
		return StringTable{}
	}
	return StringTable{Slots: slots, Bytes: (bytes - stringTableHeader - 8*slots) &^ (stringRecordBytes - 1)}
}

// slots is how many slots the strings of a call have, to find equal ones among them.
func (s *Strings) slots() int64 { return 2 * s.Strings }

// ScratchBytes returns the bytes of scratch that NumberStrings needs.
func (s *Strings) ScratchBytes() int64 { return 8*s.Strings + 4*s.slots() }
