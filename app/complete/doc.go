// Package complete offers what may stand at a place of a statement that is being typed: keywords,
// functions, tables, columns, types and files.
//
//	text, cursor, Catalog ──At──> Candidates
//
// The text need not be SQL yet: tokens before the cursor say what is wanted, and names behind FROM
// anywhere in the statement say whose columns. A Catalog knows the tables and the files. The package
// knows no line editor and no protocol; a shell and a server show the same candidates.
package complete
