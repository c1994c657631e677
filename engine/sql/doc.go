// Package sql reads the text of keys and aggregates, as they stand between SELECT and FROM:
//
//	origin, destination as dest                         ParseKeys
//	count(*), sum(delay) as total, max(distance, 3)     ParseAggregates
//
// PostgreSQL's own parser reads the text, so that quoting, comments and precedence are SQL's to the
// letter. What it accepts and a query cannot express (arithmetic, casts, FILTER, OVER, ...) is an
// [Error] that points at the place.
//
//   - L1 (spelling): an unquoted name keeps the case it is written in, and its length, where
//     PostgreSQL folds it to lower case and cuts it at 63 bytes: Arrow's columns have both. The tree has
//     lost the spelling, so names are read from the text at the tree's byte positions.
//   - L2 (bounds): the parser is recursive C. Text is measured and cut into tokens, which takes no
//     recursion, and refused when it is too long or one item has too many tokens to be a call.
//
// The parser is C and needs cgo; without it every call returns [ErrNoCgo].
package sql
