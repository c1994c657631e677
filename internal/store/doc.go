// Package store keeps pages of rows and states until they are processed: in memory, and in files
// when memory is short.
//
//	Store -> pass -> pages  partitions, in memory, then in frames on disk  (scatter.Store)
//	Temp                    temporary files, and the bytes that they may take
//	Blob                    pages of states that leave the process         (FORMAT.md)
//
// A page reaches the disk as a frame: a header with a checksum, the page's rows, and the strings
// and blocks that the rows refer to, with places in the frame instead of addresses. Frames written
// at once are an extent; a partition's extents are read in order, and each gives its space back
// when it has been read.
//
//   - T2 (space): Temp counts the bytes of its files. It counts them off when an extent has been
//     read or dropped, or could not be written to its end, and at the latest when the Store is
//     closed.
//   - T3 (no trust): a frame or a blob may be damaged, or come from another program. Every length
//     is compared with the bytes that are left before memory is taken, and every place in a frame
//     with the size of the frame.
//
// The package starts no goroutine. It leaves out files of columns, which engine/scan reads and
// engine/sink writes.
package store
