// Package rollup keeps the answer of a statement over files that come every day, and reads the new ones alone.
//
//	files --list--> leaves, one for each file of a folder or of a table's state, or segment of a text that grows
//	leaves --tree--> parts: leaves, and runs of neighbours merged k-way
//	parts that the state lacks, bundles of small files --Partial, MergePartial--> packs --publish--> manifest n+1
//	roots of the tree --Merge, Finish, InOrder--> the output, whole
//
// In the directory of a state, which may be the beginning of URLs of a store:
//
//	manifest/<generation>.manifest   what the state is: files, and parts by their packs; the highest number counts
//	parts/<hash>.<attempt>.pack      states of a part, a blob for each partition; the hash is of its content
//	lock                             held by the run that is at work, on a file system
//
// What it promises:
//
//   - U1 (a function of the files): which parts there are follows from the list of files alone, by hashes; of a text
//     that lines are appended to, also from where it ended in runs before. A file that
//     is added, changed or gone takes the way of all: the parts that have it in them have other names, and are made
//     anew of their members, or of their files. A total of the first files may be there besides; its name says of
//     which.
//   - U2 (once): a part is named by the files whose rows it has; its blobs carry the names of all parts that were
//     merged to it, and no merge takes a name twice (B2 of package partial).
//   - U3 (one winner): generation n+1 is made by whoever first puts its name, and is complete before it has one. What
//     no manifest names is garbage. A run that takes long makes generations of the parts that it has so far; the
//     answer of before is still made of them. A run that finds its generation taken, or passed, fails, and publishes no
//     output.
//   - U4 (state first): the output is made of a state that is published. A run that is killed between both leaves a
//     state of which the next run makes the output; each run writes the output.
//   - U5 (order): parts are in the order of the files, so that first, last, lists and ties are as in a full run.
package rollup
