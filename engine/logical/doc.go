// Package logical turns a statement of SQL into a tree of nodes that says what the result is, and not
// yet how it is made.
//
//	sql.Select --Bind--> Node --engine/rules--> Node --engine/plan--> steps that run
//
//	Limit                          the first rows, or all
//	└─ Sort                        in an order
//	   └─ Project                  the columns of the result, and the keys of the order
//	      └─ Filter                HAVING
//	         └─ Aggregate          groups
//	            └─ Project         keys and arguments
//	               └─ Filter       WHERE
//	                  └─ Scan      FROM: a table, or the tree of a derived table
//
// A column is an ID: names are for people, are looked up once, in a scope, and two columns may have the
// same. A node that makes a column gives it an ID of its own; a node that hands a column on keeps the ID.
//
// Invariants:
//
//   - N1 (immutable): a node is never changed. With returns another one.
//
//   - N2 (no runs): a tree knows tables, and nothing of a run. It can be planned and run any number of
//     times.
//
//   - N3 (names): every name of a statement has been looked up, and every expression has been given its
//     type, before the first rule is used: what a rule leaves out has been checked.
package logical
