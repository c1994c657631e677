package rowdata

// Tile is a block of rows in words, stored by column: what a worker takes at a time.
type Tile struct {
	Rows int

	// Keys are the packed keys, row after row: Rows * KeyLayout.Words. They may share memory with
	// the batch that the tile was made from, and are not to be written.
	Keys []uint64

	// Groups are the packed keys as group numbers, in place of Keys: for tables that use them so.
	Groups []uint32

	// Args are the arguments of Bound.Args: Rows * Arg.Words each. They may share memory with the
	// batch that the tile was made from, and refer to its strings.
	Args [][]uint64

	// Valid says for each column of Bound.Columns which rows are not NULL, as bytes 1 and 0. A nil
	// slice means that none is NULL.
	Valid [][]uint8
}

// TileRows is the most rows of a tile: a key, a hash, a group number and a few arguments of each
// row stay within a core's L2 cache.
const TileRows = 2048
