// Package mem gives out blocks of words outside the Go heap, within one budget.
//
//		Alloc, Free          blocks of words for pages, heaps and tables
//		Reserve, Unreserve   bytes of the budget that an owner takes elsewhere: buffers of decoders, results
//		Room                 whether a reservation would fit, before a step begins
//		Measure, SetLimit    what the rest of the process leaves of the limit
//
//	  - T1 (budget): what the system sees as resident is what Memory counts: blocks in use and free
//	    blocks that are still warm. Blocks in use are never taken away; warm blocks are given up
//	    first.
//
// Blocks lie outside the Go heap since the collector then neither clears nor scans them, and since
// a freed block can be given back to the system by itself. The allocators of internal/budget take
// blocks here, or reserve here what they take elsewhere. The package starts no goroutine.
package mem
