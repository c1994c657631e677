// Package scan reads tables: Parquet, Arrow IPC and CSV files, record batches in memory, readers.
//
//	patterns -> files -> inputs (one per file: columns, statistics)   Open
//	         -> table (columns matched by name, hive keys added)      Source
//	         -> splits (row group, run of record batches, 4 MiB of text)
//	         -> record batches                                        Split.Open
//
// A format implements input, part and RowReader; everything that formats share - matching columns
// by name, constant columns, slicing to the wanted batch size, recovering panics of the libraries
// beneath, naming the file in an error - is done once, in table.go, split.go and deliver.go.
//
// Parquet's flat columns are read by our own decoders, one flatColumn per column chunk:
//
//	ReadAt -> window -> page -> decompressed -> levels, codes or values -> buffers of the batch
//
// An open row group holds, per column: a window of compressed bytes (16 to 256 KiB, by the batch's
// rows, or the largest page), one page decompressed, the chunk's dictionary, and the batches that
// nobody has released. Nothing grows with the row group. Nested columns and rare types (96-bit
// timestamps, bytes of some widths) are read by pqarrow, one column at a time.
//
//   - S1 (values): a batch's column has its schema's type, or dictionary<int32, that type> where that
//     is a string, a binary or of a fixed width other than boolean; strings and binaries may be views, and, for
//     those who ask for it, decimals of at most 18 digits of 64 bits in place of 128.
//     Other dictionaries and extension types are replaced by their values.
//   - S2 (positions): splits come in input order, and the positions of their rows do not overlap.
//   - S3 (no panic): a corrupt file gives an error that names it. Arrays are validated before they
//     are handed on, so that reading a value does not panic later either.
//   - S4 (nothing left open): a file is open only between Split.Open and the reader's last Release,
//     its end or its error; Open, Filter, Stats and Splits leave none open.
//   - S5 (dictionaries): the batches of one split share one dictionary array where the file has one
//     dictionary, so that what a consumer derives from it can be kept by the array's identity.
//   - S6 (filters): rows are left out unread only if a term of the predicate is surely not TRUE for
//     them. What is not known - statistics that are missing, in another order, contradictory or
//     corrupt - leaves nothing out.
//   - S7 (one version): a split that is read to its end is an error if its file is another by then, or
//     was written over. Rows that were appended to a text since it was opened are not read.
//   - S8 (budget): with OpenOptions.Budget a reader takes memory once there is room for it. A reader that is refused
//     gives back what it holds and tries again: when fewer readers of the table read, then in smaller steps, whose
//     size the next readers begin with. It ends with the refusal when the smallest step of a reader that is alone has
//     no room. S5 does not hold for it: a dictionary that was given back is read, and made, again.
//
// Filter leaves rows out before they are read, the cheapest knowledge first:
//
//	folders -> statistics | Bloom filters -> dictionaries -> page indexes | RowFilter
//	       no reads       |      read once, when the filter is made       | while rows are read
//
// Knowledge of every kind becomes bounds of values, in the units of the column, to which terms are compared.
// In a row group, the columns that the RowFilter needs are decoded step by step; of the others, the stretches
// of rows that it has kept: pages between are passed over, by their offset index or header by header.
//
// Text is cut in blocks of 32 KiB, in which masks of 64 bytes tell where fields end; after that, only the
// columns that are asked for are looked at. An irregular block is cut row by row. Strings that repeat in
// samples of a file come as codes of a dictionary; samples that mislead cost time, not correctness.
//
// What it leaves out: pruning files before their footers are read (all must have the same columns), nested
// columns (a schema names them, reading them is an error), encrypted Parquet, and reading single columns of
// an Arrow file (a record batch is read whole).
package scan
