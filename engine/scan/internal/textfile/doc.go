// Package textfile reads texts of rows, plain or compressed, in a file or on standard input: what the
// decoders of CSV and JSON share beside the fields of a row.
//
//	start of a text -> a sample, for the format    samples.go, unpack.go
//	file -> chunks of 4 MiB, each a split          chunk.go
//	text -> a buffer -> rows, by a Splitter        reader.go, format.go
//	rows -> batches, by fields.Column
//	     -> rows that are left out, and a file of them: rejects.go
//
// A compressed text and standard input are one split. A chunk's reader reads on behind the chunk to
// the end of its last row. S2, S8 of package scan.
package textfile
