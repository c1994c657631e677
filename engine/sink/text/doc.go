// Package text turns record batches into text: CSV and TSV, JSON lines, and tables for a terminal.
//
//		NewCSV, NewJSON, NewMarkdown, NewTable, NewVertical ──> Write* ──> Close
//
//	  - X1 (read back): text that is read back has the values that were written, and NULL is told
//	    from "", except in tables, Markdown and vertical lists, which people read.
//	  - X2 (bounded): an encoder holds flushBytes of text and the piece of a value that it writes; a
//	    table holds tableBytesMax of cells, also if it shows all rows.
//	  - X3 (early): a column whose type has no text is refused by the constructor, with the name of
//	    the column.
//	  - X4 (harmless): a cell that people read has no character that a terminal takes for a command.
//
// How values are written:
//
//	                CSV, TSV, tables         JSON
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
package text
