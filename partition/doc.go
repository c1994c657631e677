// Package partition decides how rows are split so that each partition's hash table fits
// the memory it is built in.
//
// A hash of 64 bits names a row's partition, the slot where its table begins to search, and
// the salt that stands for the key in that slot:
//
//	63        53 52                    21 20            0
//	| partition |          salt          |     slot     |
//	  up to 11             32              up to 32, the upper ones shared with the salt
//
// What holds:
//
//   - P1 (disjoint): a pass reads nothing but the hash, and keys of equal words have equal
//     hashes, so a key is in one partition and results are concatenated, not merged. Whoever packs
//     keys into words must give equal keys the same words: -0.0 and 0.0, and any two NaNs.
//   - P2 (progress): the slot and the salt read no partition bit, and every pass has a seed of
//     its own, so the keys of a partition look alike neither to a table nor to a later pass.
//   - P3 (termination): no pass separates the rows of one key, and an estimate may be wrong by
//     any factor, so no answer of this package promises that a partition fits; its callers
//     have a fallback that needs no such promise.
//   - P4 (feedback): a load of Feedback has at least one row, so that loading a table ends; and a
//     table below LFMin is never called full.
//
// The package is pure: no I/O, no goroutines, no CUDA. What a partition holds, and where it is
// kept, is up to its callers.
package partition
