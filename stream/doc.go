// Package stream moves what a query holds between memory, files and stores.
//
//	FS, File, TempFile      the file system as an interface; Objects: names that are URLs
//	Memory                  blocks of words outside the Go heap, and their budget
//	Store -> Pass -> pages  partitions, in memory, then in frames on disk  (cpuagg.Store)
//	Blob                    pages of states that leave the process         (FORMAT.md)
//	WriteFile, StagedDir    files and directories that appear whole or not at all
//
// A page reaches the disk as a frame: a header with a checksum, its rows, and what they refer to, with
// places in the frame instead of addresses. Frames written at once are an extent; a partition's extents are
// read in order, and each gives its space back when it has been read.
//
//   - T1 (budget): what the system sees as resident is what Memory counts: blocks in use and free blocks that
//     are still warm. Blocks in use are never taken away; warm ones are given up first.
//   - T2 (space): Temp counts the bytes of its files. They return to it when an extent has been read or dropped,
//     or could not be written to its end, and at the latest when the Store is closed.
//   - T3 (no trust): a frame or a blob may be damaged, or somebody else's. Every length is held against what is
//     there before memory is taken, and every place in a frame against the frame.
//   - T4 (whole): a file under its own name is complete. What a killed process leaves has a hidden name and no
//     lock, and the next one removes it.
//
// Subpackages: mpega, the two phases on devices; trace, what was done when; faultfs, a file system that fails on
// request. The package starts no goroutine. What it leaves out: files of columns, which engine/scan reads and
// engine/sink writes.
package stream
