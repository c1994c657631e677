// Package distributed answers a statement by many processes on many hosts. An engine that is there
// already, such as Spark, Kubernetes or Beam, schedules the processes, tries them again and watches
// them: the package has neither a scheduler nor a server. Processes meet in a work directory alone,
// on a file system that all of them share or in an object store.
//
//	statement, files --New--> Plan
//	       split 0 .. S-1 --Partial-->  pack 0 .. S-1       of states, a blob for each partition
//	(many small packs) ----Combine-->  pack 0 .. C-1       of neighbours
//	    partitions A..B ----Merge---->  files of rows
//	                        Commit -->  the output, and its manifest
//
// Where tables of a join are too large to be read by each task, and for windows below groups and statements of rows,
// rows change tasks by the hash of keys:
//
//	split 0 .. S-1  --Partial-->  pack 0 .. S-1   of rows, a blob for each partition of this hash
//	partitions A..B --Combine-->  pack 0 .. C-1   of states of the groups of these rows
//	partitions A..B ----Merge-->  files of rows, of a statement without groups
//
// In the work directory of a plan:
//
//	plan.json
//	partial/00007.<attempt>.pack, .json     blobs of one attempt of a split; the manifest, which comes last
//	combine/00001.<attempt>.pack, .json     the same of a node of the tree
//	merge/00000-00015.<attempt>/, .json     rows of a range of partitions; the manifest, which comes last
//	sealed/partial.json, combine.json, merge-<hash>.json    which attempts count
//	committed.json
//
// A plan's id is a hash of all that the plan says. So planning the same statement over the same files
// again gives the same work directory, and a run there goes on where an earlier run ended.
//
//   - R1 (attempts): an attempt writes under names that no other attempt has. It counts once its
//     manifest is there. What it leaves when it is killed is in nobody's way.
//   - R2 (one of each): the first reader of a stage's packs seals the stage, alone where there are many: it
//     writes down one attempt for each task. All later readers read these attempts and no others, whatever twins and
//     zombies write afterwards. Where a store knows no conditional writes, two may seal at once; Commit
//     then finds ranges that were merged of other packs than the rest, and has them merged again.
//   - R3 (same plan): a plan of another version of the program, an input that is not what it was when
//     the plan was made, and a blob of another plan, stage, task or attempt are refused by name.
//   - R4 (whole): the output appears by Commit, whole or not at all, as package sink writes one. A plan
//     is committed once: a late twin finds that it is done.
//   - R5 (order): splits are in input order, and packs are merged in that order, so that first, last,
//     lists and ties are as in a single run.
//   - R6 (calls): a task lists its own stage, and the stage that it reads, and opens its inputs once,
//     whatever the number of partitions: S splits and T merges read packs S*T times at most, and S+C*T
//     times with a tree of C combines.
package distributed
