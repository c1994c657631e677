// Package cpujoin finds the pairs of rows whose keys are equal, by hash tables on the CPU.
//
//	build side: packed keys -> Worker.Add: by hash bits, to parts -> Build.Finish: a table for each part
//	                                                                    |  keys -> numbers -> rows
//	probe side: packed keys -> Prober.Probe ----------------------------+-> pairs of rows
//
// A row is a number that the caller gives it. Equal keys of the build side have one number in a table, and a list of
// rows by that number.
//
//   - J1 (once): each pair of rows with equal keys is found once.
//   - J2 (equality): keys are equal as groups are (rowdata.KeyLayout). Rows that are to have no partner are not
//     added.
//   - J3 (read-only): a Build changes nothing after Finish, and any number of Probers use it at once.
//
// The package starts no goroutine: a Worker and a Prober belong to one goroutine at a time.
package cpujoin
