// Package sink writes record batches: to Parquet, Arrow IPC, CSV, TSV and JSON files, and to the
// terminal as a table.
//
//		Create ──> Write* ──> Commit     the file is there, complete and durable
//		              └─────> Abort      nothing is there
//
//	  - S1 (whole or not at all): a file, or a directory of files, is written under a hidden name beside its
//	    target, synced, renamed, and its directory synced. Every error removes what was written. An object
//	    appears when it is complete.
//	  - S2 (early): a target that cannot be written is refused by Create, before any work is done.
//	  - S3 (no surprise): a value is written as it is or refused with the name of its column.
//
// Parquet's columns without children are encoded here, in parallel, as words (wordColumn); other types of columns, and
// schemas with lists and structs, are left to the library (libraryColumn, nestedParquet). The page index tells where the
// pages of the former are, and their bounds.
//
// How values are written as text:
//
//	                CSV, TSV, table          JSON
//	NULL            empty field; NULL        null
//	integer         digits                   number, also above 2^53
//	decimal         digits and point         number
//	float           shortest that reads back; a whole number keeps its ".0"
//	NaN, infinite   NaN Infinity -Infinity   the same, as strings
//	string          quoted where needed      string; bytes that are not UTF-8 become U+FFFD
//	binary          \xHH where not printable base64
//	date, time      2001-02-03  04:05:06.7   the same, as strings
//	timestamp       2001-02-03T04:05:06.7    with a zone: in that zone, with its offset or Z
//	duration        -26:03:04.5              hours, minutes, seconds, as a string
//	list, struct    the text of the JSON     array, object
//
// A zone that the machine does not know is written as UTC, the same moment. The table puts a space
// in place of the T.
package sink
