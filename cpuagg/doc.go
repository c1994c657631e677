// Package cpuagg groups and aggregates tiles of rows on the CPU.
//
//	tile -> Worker.Add -+-> table: find the group of each row, accumulate      (pre-aggregation)
//	                    |      full -> states scattered by hash bits --+
//	                    +-> rows scattered by hash bits ---------------+--> Store, by partition
//
//	Run.Tasks: partitions merged greedily
//	Worker.Process(task): rows and states of its partitions -> one table -> Groups
//
// A worker pre-aggregates in a table that fits its core's cache. When the table fills, the worker
// compares the bytes of the rows that went in with the bytes of the states that come out; where
// pre-aggregation does not pay it scatters rows as they are, and tries again after a while, since
// data change.
//
// Where the groups of a task outgrow the worker's share of the memory, the task is split; where a
// few groups do, their elements become sorted runs in Spools, and are merged when results are made.
//
//   - A1 (once): every row is accumulated exactly once, by its tile or by a page that holds it.
//   - A2 (disjoint): a key is in one task, so results are concatenated, not merged.
//   - A3 (states): a state is a fixed number of words, with blocks of a rowdata.Heap behind states
//     that grow; the strings and blocks that a page refers to lie in the page's own heap.
//   - A4 (NULL): folds see no NULL; selections leave rows with a NULL out before.
//
// Tables are of internal/table; pages, passes and the Store are of internal/scatter.
//
// The package starts no goroutine: a Worker belongs to one goroutine at a time, and a Run and its
// Store serve all workers at once.
package cpuagg
