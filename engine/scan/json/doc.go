// Package json decodes JSON: one object per line, or an array of objects, plain or compressed by
// gzip, zstd or bzip2.
//
//	first rows -> layout, keys, types        file.go, sample.go, guess.go, infer.go
//	file       -> chunks of 4 MiB             internal/textfile
//	chunk      -> objects -> fields           rows.go, split.go, object.go, value.go, scanner.go
//	fields     -> columns of a batch          internal/fields; nested.go
//
// The splitter guesses that a key is followed by the key that followed it before, so that most keys
// are compared, not looked up. A value that no query asks for is passed over: its syntax is checked,
// it is not decoded. A string holds no newline, so that a line of a text whose rows are lines is a row
// wherever it is met. A text whose rows are not lines (an array on one line, objects over several
// lines) is one split.
//
// The numbers are package scan's:
//
//   - S2 (positions): a row's position lies between the offsets of its chunk's first and last byte.
//   - S3 (no panic): text that is not JSON, or not objects, is an error that names the file, the line
//     and, where an option helps, the option.
//   - S8 (budget): buffers, fields, columns and the windows of decompressors are reserved before
//     they are taken.
//
// Members of objects, at any depth, are columns, which the splitter finds within the object of the row; lists, maps
// and whole structs are one value each, which is found as text and then read once more by its type.
//
// What the package leaves out: rows that are no objects, text in UTF-16.
package json
