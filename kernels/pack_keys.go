package kernels

// KeyPart says where the values of a column lie in packed keys, as rowdata.KeyField does.
type KeyPart struct {
	Column // of integers

	Word, Shift int    // where value - Base lies
	Base        int64  // the least value
	Range       uint64 // the largest value less Base

	// A NULL is NullCode in place of value - Base, or, where NullBit is not negative, that bit of
	// NullWord, beside 0.
	NullCode          uint64
	NullWord, NullBit int
}

// KeyPartsMax is the most parts of a key, since the parameters of a kernel have no room for more.
const KeyPartsMax = 8

// KeyParts are what PackKeys takes: KeyPartsMax parts at most. Keys gets Rows times KeyBytes, as
// Shape.KeyBytes; but where Count has a buffer, with 8 bytes, its number of rows and no more than Rows.
// Outside gets 4 bytes: 1 where a value is not in the range of its part, and otherwise 0.
type KeyParts struct {
	Parts    []KeyPart
	Rows     int64
	Count    Span
	KeyBytes int
	Keys     Span
	Outside  Span
}
