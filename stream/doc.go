// Package stream groups rows on devices, however many there are: MP-EGA (Wang, Shen, Lei: Applied
// Sciences, 2025, section 4.2), with its two phases.
//
//	Run.Tile -> host memory of a tile -> Run.Submit                              (partition-generating)
//	  copy in -+- few groups:       aggregate the tile ------> Options.TakeStates
//	           +- a table has room: insert into it; refused, once it is full -+
//	           +- Options.Algorithm is MPEGA: aggregate the tile, scatter its groups -> block
//	           +- too many groups:  scatter by hash <-------------------------+
//	           |                        -> block, on the device or in pinned memory; no room -> Options.TakeRows
//	           +- no device has the folds: scatter by hash -> Options.Parts
//
//	Run.Process: the table, and partitions merged greedily -----------------------> (partition-processing)
//	  gather the pieces of a partition -> aggregate; larger than the memory: load by load into a table
//	  copy out -> Groups; what the table refuses -> Options.TakeRows
//
// Tiles go through a ring: while one is copied in, others are aggregated and copied out, each on a
// stream of its own. Nothing is allocated per tile but the blocks that stay.
//
//   - M1 (once): every row submitted is in groups that were emitted or given to Options.TakeStates,
//     or was given to Options.TakeRows or Options.Parts.
//   - M2 (disjoint): a key is emitted once. Rows and groups that Options.TakeRows and TakeStates
//     took before the input ended are to be merged with the emitted groups of their partitions; a
//     key that they take later is not emitted.
//   - M3 (ways out): an error of a device is ErrDevice, and the run then useless; groups that were
//     emitted stay true.
//   - M4 (budget): a device's memory stays within the limit; pinned memory within the limit that
//     the device was opened with.
//
// The package knows rows in columns and groups in columns; other packages know queries, types and
// files.
package stream
