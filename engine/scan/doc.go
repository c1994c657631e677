// Package scan has the tables that an engine reads: record batches in memory (Batches), a reader
// (Reader), and files, which package dataset opens.
//
//	src := scan.Batches(schema, batches)
//	src, err := dataset.Open(ctx, []string{"flights/*.parquet"}, dataset.Options{})
//	filtered, err := scan.Filter(ctx, src, scan.Predicate{Terms: terms})
//
// A Source is read by splits, which are independent of each other:
//
//	inputs (one per file: columns, statistics)            dataset | Batches | Reader
//	-> table (columns matched by name, folders added)     Source     table.go
//	-> splits (row group, run of batches, 4 MiB of text)  Split      split.go
//	-> record batches                                     Split.Open split.go, internal/delivery
//
// Imports point one way, and a program that does not import dataset links no decoder:
//
//	dataset -> parquet, csv, json, ipc -> internal/decode -> internal/{delivery, predicate, rowset, reserve}
//	           csv, json -> internal/textfile -> internal/fields
//	dataset -> scan              -> internal/decode
//
// A program may have sources of its own: Source, Split, OpenOptions and Stats are all that the
// engine knows of a source, and all of these are declared here. A decoder of files implements
// decode.Input, decode.Part and decode.RowReader instead, and this package makes a Source of it: it
// matches columns by name, adds constant columns, slices to the wanted batch size, recovers panics
// of the libraries beneath, and names the file in an error.
//
//   - S1 (values): a batch's column has its schema's type, or dictionary<int32, that type> where
//     that type is a string, a binary or of a fixed width other than boolean's. Strings and
//     binaries may be views. With NarrowDecimals, decimals of at most 18 digits may be of 64 bits
//     in place of 128. Other dictionaries and extension types are replaced by their values. A list,
//     which is read for Unnest alone, is a list of any kind, of elements as the file has them.
//   - S2 (positions): splits come in input order, and the positions of their rows do not overlap. With a
//     LearningFilter, row groups may come by what their bounds promise.
//   - S3 (no panic): a corrupt file gives an error that names it. Arrays are validated before they
//     are handed on, so that reading a value does not panic later either. A string of a file is
//     UTF-8, or an error that names its row.
//   - S4 (nothing left open): a file is open only between Split.Open and the reader's last Release,
//     its end or its error; dataset.Open, Filter, Stats and Splits leave none open.
//   - S5 (dictionaries): the batches of one split share one dictionary array where the file has one
//     dictionary, so that a consumer can keep results about it by the array's identity.
//   - S6 (filters): rows are left out unread only if a term of the predicate is surely not TRUE for
//     them. Statistics that are missing, in another order, contradictory or corrupt leave nothing
//     out.
//   - S7 (one version): a split that is read to its end is an error if its file is another by then,
//     or was written over. Rows that were appended to a text since it was opened are not read.
//   - S8 (budget): with OpenOptions.Budget a reader takes memory once there is room for it. A
//     reader that is refused gives back what it holds and tries again: when fewer readers of the
//     table read, then in smaller steps, whose size the next readers begin with. It ends with the
//     refusal when the smallest step of a reader that is alone has no room. S5 does not hold for
//     it: a dictionary that was given back is read, and made, again.
//
// Filter leaves rows out before they are read, the cheapest knowledge first:
//
//	folders -> statistics | Bloom filters -> dictionaries -> page indexes | RowFilter
//	       no reads       |      read once, when the filter is made       | while rows are read
//
// Knowledge of every kind becomes bounds of values, in the units of the column, to which terms are
// compared.
//
// What the package leaves out: pruning files before their footers are read (all must have the same
// columns), and nested columns but the fields of structs, which are columns, and lists of values that
// are not nested, which Unnest reads (a schema names the others, reading them is an error).
package scan
