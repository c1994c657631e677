// Package lake reads the metadata of tables of Delta Lake and of Apache Iceberg: which files a table has at a moment,
// what their columns mean, which of their rows are deleted, and what is known of their values before they are opened.
//
//	directory -> log, checkpoints             delta.go, checkpoint.go  \
//	          -> metadata, manifests (Avro)   iceberg.go, manifest.go  -> Table: Columns, Files   table.go
//	File      -> names of columns             naming.go                -> parquet.Naming
//	          -> deleted rows                 vector.go, deletes.go    -> parquet.File.Delete
//	          -> bounds, partitions           stats.go, transform.go   -> scan.Listed
//
// Package dataset opens the files. The rules are the Delta transaction log protocol (reader version 3) and
// the Iceberg table spec (versions 1 to 3).
//
//   - L1 (refusal): a feature, type or kind of file that the package does not know is an error that names it. A
//     transform of partitions that it does not know bounds nothing.
//   - L2 (no trust): sizes, counts and offsets of metadata are checked before memory is taken; a damaged file gives an
//     error that names it, never a panic.
//   - L3 (bounds): what is not known of values, or written in another way than expected, bounds nothing.
//
// The package leaves out writing, and the history of single rows.
package lake
