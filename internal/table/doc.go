// Package table is the hash table that operators share: it maps packed keys to numbers, counted from 0
// in order of first appearance. What a number stands for is the caller's: a group's states, a row.
//
//		keys of a tile -+-> FindDirect: an array by distance, where integer keys lie close together
//		                +-> Find: hashes -> slots, four at once -> numbers      (full: twice the slots)
//		                +-> dense: the packed key is the number
//
//	  - H1 (order): a key keeps its number until Reset or Pack. Growing, and going on with hashes, change
//	    none.
//	  - H2 (equality): keys are told apart by their words and the bytes of their strings, never by a hash
//	    or a salt alone (W1).
//	  - H3 (room): slots are at most half full, so that every search ends.
//	  - H4 (bytes): the strings of the table's keys lie in its heap, or in pages that it owns.
//
// All work is on tiles, at most rowdata.TileRows keys a call. The package starts no goroutine, and one
// goroutine at a time uses a Table.
package table
