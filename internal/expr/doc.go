// Package expr evaluates expressions of SQL over record batches.
//
//	text --engine/sql--> Expr --Bind--> Program --Evaluator--> arrays, or bits of rows selected
//
// Bind gives every part a type, by the rules of DuckDB, puts casts where types differ, folds
// constants, and makes each function a kernel. A kernel takes vectors of up to 2,048 rows: int64,
// float64, 128-bit integers, strings or bits, whatever the SQL type, with a bitmap of NULLs apart.
//
//   - X1 (NULL): logic is three-valued. The value at a NULL has no meaning and raises no error.
//   - X2 (errors): an overflow, a failed cast or a root of a negative number is an error of the query.
//     CASE, COALESCE, AND and OR evaluate an argument that may give an error only for the rows that reach it.
//   - X3 (dictionaries): an expression of one dictionary-encoded column is evaluated once for each entry and once for
//     NULL, and the values are kept for as long as batches share the dictionary. If an entry gives an error, the batch
//     is evaluated row by row: maybe no row has that entry.
//   - X4 (memory): an evaluator's buffers come from its arena and go back after each vector. Strings
//     point into the batch, or into the arena.
//
// A Program is shared; an Evaluator belongs to one goroutine. Points in time are microseconds, or
// days, without a zone; timestamps with a zone are taken as UTC. Intervals are constants; the
// difference of two timestamps is a Duration.
//
// To add a function:
//
//  1. Write a row of a table in functions.go: its name, parameters, help, an example with its result, its binding.
//  2. Write the binding: it checks and casts the arguments (want), sets the node's type, and its kernel by map1, map2e, ...
//  3. Set fallible if a value may give an error (X2); name the function in neverNull (stats.go) if it makes no NULL.
//  4. Syntax that is no call, and PostgreSQL's name for it, goes to engine/sql/expression.go; IN and LIKE are examples.
//  5. Run go test ./engine/plan -run TestDocs -rewrite, which runs the example and writes docs/sql.md.
//
// Aggregate functions are not here: CONTRIBUTING.md has the steps of a fold.
package expr
