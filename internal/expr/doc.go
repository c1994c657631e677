// Package expr evaluates expressions of SQL over record batches.
//
//	text --engine/sql--> Expr --Bind--> Program --Evaluator--> arrays, or bits of rows selected
//	                                           \--Code--> instructions for devices
//
// Bind gives every part a type, by the rules of DuckDB, puts casts where types differ, folds
// constants, and makes each function a kernel. A kernel takes vectors of up to 2,048 rows: int64,
// float64, 128-bit integers, strings or bits, whatever the SQL type, with a bitmap of NULLs apart.
//
//   - X1 (NULL): logic is three-valued. The value at a NULL has no meaning and raises no error.
//   - X2 (errors): an overflow, a failed cast or a root of a negative number is an error of the
//     query. CASE, COALESCE, AND and OR evaluate an argument that may give an error only for the
//     rows that reach it.
//   - X3 (dictionaries): an expression of a single dictionary-encoded column is evaluated once for
//     each entry and once for NULL, and its values are kept while batches share the dictionary. If
//     an entry gives an error, the batch is evaluated row by row: maybe no row has that entry. So
//     are the first rows of a dictionary that has more entries than they are.
//   - X4 (memory): an evaluator's buffers come from its arena and go back after each vector.
//     Strings point into the batch, or into the arena.
//
// A Program is shared; an Evaluator belongs to one goroutine. Points in time are microseconds, or
// days, without a zone; timestamps with a zone are taken as UTC. Intervals are constants where they
// can be, else strings of bytes, as nested values are; the difference of two timestamps is a Duration.
//
// To add a function (an aggregate function is a fold, see CONTRIBUTING.md):
//
//  1. A row of a table in functions.go has its name, parameters, help, example and binding.
//  2. The binding checks and casts arguments (want), and sets type and kernel (map1, map2e, ...).
//  3. It sets fallible if a value may give an error (X2). neverNull in stats.go may name the function.
//  4. A syntax that is no call is read in engine/sql/expression.go: IN and LIKE are examples.
//  5. coded in code.go may have its instructions for devices. Without them its queries are decoded by the CPU.
//  6. go test ./engine/plan -run TestDocs -rewrite runs the example and writes docs/sql.md.
package expr
