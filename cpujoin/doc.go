// Package cpujoin finds the pairs of rows whose keys are equal, by hash tables on the CPU.
//
//	build side: packed keys -> Worker.Add: to parts -> Build.Finish: a table for each part, or a list of all keys
//	                                                                    |  keys -> numbers -> rows
//	probe side: packed keys -> Prober.Begin, Next ----------------------+-> pairs of rows
//
//	both sides: batches and hashes -> Scatterer -> Parts, in pages of a store -> Task: partitions that are joined at once
//
// A row is a number that the caller gives it. Equal keys of the build side have one number, and a list of rows by that
// number. Rows that outgrow the memory are batches in Parts; a Build is made of each Task.
//
//   - J1 (once): each pair of rows with equal keys is found once.
//   - J2 (equality): keys are equal as groups are (rowdata.KeyLayout). Rows that are to have no partner are not
//     added.
//   - J3 (read-only): a Build changes nothing after Finish, and any number of Probers use it at once.
//
// The package starts no goroutine: a Worker and a Prober belong to one goroutine at a time.
package cpujoin
