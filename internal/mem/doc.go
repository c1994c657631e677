// Package mem gives out blocks of words outside the Go heap, within one budget.
//
//		Alloc, Free          blocks of words for pages, heaps and tables
//		Reserve, Unreserve   bytes of the budget that an owner takes elsewhere: buffers of decoders, results
//		Room                 whether so much is left, before a step begins
//		Measure, SetLimit    what the rest of the process leaves of the limit
//
//	  - T1 (budget): what the system sees as resident is what Memory counts: blocks in use and free blocks that
//	    are still warm. Blocks in use are never taken away; warm blocks are given up first.
//
// The package starts no goroutine.
package mem
