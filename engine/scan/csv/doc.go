// Package csv decodes text: CSV and its kin, plain or compressed by gzip, zstd or bzip2.
//
//	bytes       -> text in UTF-8                  internal/textfile, encoding.go
//	first rows  -> delimiter, header, types       file.go, infer.go, guess.go
//	file        -> chunks of 4 MiB, each a split  internal/textfile, chunk.go
//	chunk       -> blocks of 32 KiB -> fields     block.go, mask.go, row.go
//	fields      -> columns of a batch             internal/fields
//	other rows  -> counted, and a file of them    internal/textfile
//
// Masks of 64 bytes tell where the fields of a block end; after that, only the wanted columns are
// looked at. An irregular block is cut row by row. A chunk begins within quotes where the chunks
// before hold an odd number of quote characters; where there are comments, or rows with errors are
// left out, a table of states tells (state.go). A text that is compressed, or not in UTF-8, and
// standard input, are one split. Strings that repeat in samples of a file come as codes of a
// dictionary; samples that mislead cost time, not correctness.
//
// The numbers are package scan's:
//
//   - S2 (positions): a row's position lies between the offsets of its chunk's first and last byte.
//   - S3 (no panic): text that is no table is an error that names the file, the line and, where an
//     option helps, the option.
//   - S8 (budget): buffers, fields, columns and the windows of decompressors are reserved before
//     they are taken.
//
// What the package leaves out: delimiters of more than one character.
package csv
