// Package rowdata holds the words that all aggregators share: how the rows of a query lie in
// memory, and which states its aggregates are made of.
//
//	Query --Bind(schema, statistics)--> Bound
//	    Keys        KeyLayout: key columns packed into words
//	    Args        columns in the encodings that folds ask for
//	    Folds       accumulations, shared by the aggregates of the query
//	    Outputs     which folds make which result
//
//	Tile: rows in words, by column        Page: rows or states of a partition, with a Heap of what they refer to
//
// Whatever its Arrow type, a value is one or two 64-bit words of one of five kinds. A string is a
// Bytes2; its address points into an Arrow buffer or a Heap, which gives its memory back all at
// once.
//
//   - W1 (equality): two rows are in the same group exactly when their packed keys are equal,
//     strings by their bytes. Every bit pattern is a legal key.
//   - W2 (promises): statistics are promises, and a value outside its range is an error, not a
//     wrong group. With BindCanonical nothing that leaves the process depends on them.
//   - W3 (merging): the states of a fold have a fixed number of words, and merging them is
//     associative, so that rows may be split among workers, devices and machines in any way.
//   - W4 (relocation): all that a row or state refers to can be moved: to another heap, to a file,
//     and back.
//
// Of the module it imports engine/query alone: it does no I/O, starts no goroutine, and computes
// nothing but layouts.
package rowdata
