// Package dataset opens the files of a table: Parquet, Arrow IPC, CSV and JSON, by names, globs,
// folders or standard input.
//
//	src, err := dataset.Open(ctx, []string{"flights/*.parquet"}, dataset.Options{})
//
//	patterns -> names of files   files.go, objects.go; spool.go keeps standard input
//	         -> format           options.go, open.go: by ending, then by the first bytes
//	         -> input            parquet.Open, csv.Open, json.Open, ipc.OpenFile
//	         -> columns          hive.go: of folders named key=value; filename.go: the names
//	         -> scan.NewTable
//
// Describe tells what the files say of themselves, Identities whether they are still the same.
//
// The package is apart from scan, so that programs with record batches of their own link no
// decoder.
package dataset
