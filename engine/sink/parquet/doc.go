// Package parquet encodes record batches as a Parquet file.
//
//	New ──> Write* ──> Close
//
//	batch ──> parts ──> a column each:  words ──> dictionary or plain ──> pages ──> chunk ──> row group
//
// Columns without children are encoded here, in parallel, as words (wordColumn). Columns of other
// types, and schemas with lists and structs, are left to the library (libraryColumn, nestedFile),
// which takes several times as long. The page index has the places and the bounds of the pages of
// wordColumn.
//
//   - Q1 (bounded): a row group ends at RowGroupRows rows, or at GroupBytes of encoded bytes, or
//     where the Budget refuses the memory for more rows.
//   - Q2 (bounds hold): the statistics of a chunk and of a page leave no value out but NaN, so that
//     a reader may skip by them. A value that is too long for statistics leaves them without
//     bounds.
//   - Q3 (dictionaries pay): a chunk begins with a dictionary and gives it up for plain pages once
//     it is larger than its limit, or than the values themselves.
//   - Q4 (order): the bytes of a file do not depend on the number of threads.
package parquet
