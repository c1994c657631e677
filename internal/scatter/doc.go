// Package scatter moves rows to the partitions that their hashes name, and makes tasks of them: what
// operators share whose tables may outgrow a cache or the memory.
//
//	tile -> Pass.Hash -> Writer.Tile -> open pages -> Partitions of a Store, in memory or on disk
//
//	Pass.Tasks: partitions merged greedily -> Task.EachPage -> Unpack -> the operator's table
//	Task.Split: a task whose table outgrows the memory -> a Pass with the next seed
//
// Rows lie as a rowdata.RowLayout says: a packed key, parts, validity bits. An operator has pages of up
// to two contents, as of rows and of states, or of the two sides of a join; what parts mean is its own.
//
//   - Z1 (once): a row that is placed is in one page, of the partition that its hash or key names, and a
//     page is handed over once.
//   - Z2 (own): the strings and blocks that a row refers to lie in its page's heap.
//   - Z3 (one task): a partition is in one task, so that a key is in one task.
//   - Z4 (ends): a split reads a hash with a seed of its own (P2), and no partition is split more than
//     SplitsMax times (P3).
//
// The package starts no goroutine: a Writer belongs to one goroutine, and a Pass and its Partitions
// serve all workers at once.
package scatter
