// Package window adds columns of window functions to rows that are in the order of their partitions, and within these
// in the order of the window.
//
//		spans of a sort, with marks -> a block of whole partitions, with starts of partitions and of peers
//		                                 |
//		  several blocks at once, each   +-> its batches, which are gathered -> frames of the rows
//		  by a goroutine                     -> rows of the block that values come from, or states of frames
//		                                     -> further columns
//		                                 |
//		  in the order of the blocks     +-> the batches with further columns
//
//	  - Q1 (whole partitions): a block has all rows of its partitions, so that a function may look at any of them,
//	    unless all functions go on where they were, as row_number and running sums do. Its memory is reserved before it
//	    is taken.
//	  - Q2 (states): an aggregate function over frames has the states that groups have: of partitions, of the rows up to
//	    each row, or of the nodes of a tree over the rows of a block.
//	  - Q3 (order): blocks are returned in their order. A block that goes on with a partition has the makers of the block
//	    before, once that is done.
package window
