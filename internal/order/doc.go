// Package order puts the rows of record batches in order, and takes the first of them.
//
//		without LIMIT                    batches                   with LIMIT n
//		all rows are held                  |                       rows behind the n-th so far are dropped;
//		                                   v                       held rows are cut to n when they are twice that
//		                           held batches, entries: keys, words or bytes that compare as the rows do
//		                                   |
//		    budget used up ----------------+--------------- end of the input
//		          |                                              |
//		   sorted -> a run on disk                        sorted -> batches, if no run was written
//		          |                                              |
//		          +---- runs merged, in passes if many ----> batches
//
//	  - O1 (order): a key's bytes compare as its value does: NaN is the greatest number, -0.0 equals
//	    0.0, strings compare by bytes. NULL is behind all values unless the key says otherwise.
//	  - O2 (stable): rows that are equal in all keys come in the order of the input.
//	  - O3 (memory): the rows and keys that are held stay within the grant, Options.Bytes at most, but for one batch
//	    of the input and one of the result; with a limit of n rows, they are also about 2n rows at most. Where the first
//	    rows of each prefix matter, the others are dropped whenever the rows that are held have grown some times over.
//	  - O4 (nothing left): after Release, an error or the end there is no file, page or batch.
//
// All threads make the keys of the rows that are held, scatter their entries by the first digit in which keys differ,
// and sort the parts. A key of numbers takes as many bits as the range of the values needs.
//
// A heap of single rows would hold a batch of the input for each row. So rows are kept by batches
// and cut in bulk, and the n-th key so far turns away nearly all rows that come later.
package order
