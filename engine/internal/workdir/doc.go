// Package workdir is a directory where processes meet: on a file system that all of them share, or in an object store.
//
//	Dir      small files that appear whole, also only if nobody was faster; lists of them
//	Spool    blobs that are written side by side --> a pack: one after the other, in one file
//	Packed   a blob of a pack --> partial.Blob
//
// Package distributed keeps the tasks of a plan in one, package rollup the states of a roll-up.
package workdir
