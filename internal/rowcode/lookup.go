package rowcode

// Lookup is rows of another table that are found by a key, at most one row by each: the build side of a join. It
// is compared by its address, and is safe for concurrent use.
type Lookup interface {
	// Rows returns how many rows there are; they are numbered from 0.
	Rows() int64

	// IsText says whether a column has strings.
	IsText(column int) bool

	// Words writes the values of a column in rows first, first+1 and so on, as inputs have them, and sets
	// valid[i] to 1 where one is not NULL, to 0 where it is. Column Keys has the keys.
	Words(column int, first int64, words []int64, valid []byte) error

	// Strings calls a function with the strings of a column in n rows from first on, but for NULLs; i counts from 0.
	// The bytes are the Lookup's.
	Strings(column int, first int64, n int, put func(i int, s []byte)) error

	// Marked tells of rows that Mark has noted, by their bits. It is called by several goroutines at once.
	Marked(rows []uint32)
}

// Keys is the column of the keys of a Lookup.
const Keys = -1

// Fetched is a column of a lookup that code fetches. Of strings it is their words for Code.Patterns, or, without
// Words, what devices have in place of strings.
type Fetched struct {
	Lookup, Column int
	Words          bool
}
