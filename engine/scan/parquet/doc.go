// Package parquet decodes Parquet: footers, column chunks, pages and what filters can learn without
// reading rows. A split is a row group.
//
// Columns and the fields of structs, at any depth, are read by the package's own decoders, one
// flatColumn per column chunk:
//
//	ReadAt -> window -> page -> decompressed -> levels, codes or values -> buffers of the batch
//	          pages.go, skip.go snappy.go        rle.go   fixed.go, views.go, delta.go, bool.go
//
// A list column is a listColumn (list.go): levels say which elements a row has, and a flatColumn reads
// the elements.
//
// An open row group holds, per column: a window of compressed bytes (16 to 256 KiB, by the batch's
// rows, or the largest page), one page decompressed, the chunk's dictionary, and the batches that
// nobody has released. Nothing grows with the row group. Rare types (96-bit timestamps, bytes of
// some widths) are read by pqarrow, one column at a time (column.go).
//
// Strings must be UTF-8 (text.go): a TextError tells the row of one that is not.
//
// In a row group with a RowFilter, the columns that the filter needs are decoded step by step; of
// the others, the stretches of rows that the filter has kept (filter.go): pages between them are
// passed over, by their offset index or header by header (skip.go).
//
// The numbers are package scan's:
//
//   - S2 (positions): a file is refused where the rows of its row groups do not add up.
//   - S3 (no panic): every length, code and offset of a file is checked before it is used. Columns
//     are read apart, so that pqarrow starts no goroutine in which a corrupt page could panic.
//   - S5 (dictionaries): the batches of a row group share the array of a chunk's dictionary.
//   - S6 (filters): Bloom filters, dictionaries and page indexes (prune.go) prune nothing where
//     they are corrupt or cannot be read.
//   - S8 (budget): footers, open columns, windows and pages are reserved before they are read.
//
// What the package leaves out: lists of nested values, maps, encrypted columns, and columns whose chunks lie in other
// files.
package parquet
