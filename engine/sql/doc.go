// Package sql reads statements of SQL.
//
//	statement, err := sql.Parse("SELECT origin, count(*) FROM 'flights.parquet' GROUP BY origin")
//	var at *sql.Error // the place of an error in the text
//	if errors.As(err, &at) {
//		...
//	}
//
// Package plan runs a statement. Other texts that are read here:
//
//	SELECT origin, sum(delay) / count(*) FROM 'flights.parquet' GROUP BY ALL      Parse
//	SUMMARIZE 'flights.parquet'                                                  Parse
//	origin, upper(destination) as dest                                           ParseItems
//	CREATE TABLE t AS SELECT ...; DROP TABLE t; COPY t TO 'file'                   ParseCreate, ParseDrop, ParseCopy
//
// PostgreSQL's own parser reads the text, so that quoting, comments and precedence are SQL's to the
// letter. Statements that it accepts and a query cannot express (joins, OVER, ...) are an [Error]
// that points at the place. Names are looked up later, by package plan. script.go holds the text
// and its tokens, parse.go reads the clauses of the parser's tree, and expression.go its
// expressions.
//
//   - L1 (spelling): an unquoted name keeps the case it is written in, and its length, where
//     PostgreSQL folds it to lower case and cuts it at 63 bytes: Arrow's columns have both. The
//     tree has lost the spelling, so names are read from the text at the tree's byte positions.
//   - L2 (bounds): the parser is recursive C. Text is measured and cut into tokens, which takes no
//     recursion, and refused when it is too long or its tree may be too deep.
//   - L3 (dialect): the syntax that DuckDB has beside PostgreSQL's (files in quotes behind FROM,
//     GROUP BY ALL, //, TRY_CAST, INTERVAL 3 DAYS, DESCRIBE and SUMMARIZE in front) is rewritten token
//     by token before the text is parsed; places in errors are places of the text as it was given. The head
//     of a CREATE is read here word by word, and is blank where the parser reads the statement behind AS.
//   - L4 (nothing is ignored): a reader of a message of the parser's tree names the fields that it uses,
//     and a statement with any other field, or with a message that nobody reads, is refused.
//
// The parser is C and needs cgo; without it every call returns [ErrNoCgo].
package sql
