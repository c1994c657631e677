// Package server answers the statements of many clients with one engine.
//
//	client - Session - Statement - Run - batches of the result
//	            |           |       |
//	            |           |       queue: a place among the statements that run at once
//	            |           the text, its parameters, the columns of its result
//	            temporary tables, kept results (Kept), who the client is
//
// Package flightsql below speaks Arrow Flight SQL with clients, package web HTTP. Neither knows the
// engine.
//
// Invariants:
//
//   - R1 (given): a client reads the tables of the server, the temporary tables of its own session
//     and the files of Options.Files, and nothing else: neither files nor URLs nor the standard
//     input, nor statements and tables of another session.
//   - R2 (bounded): as many statements run at once as Limits.Queries says, and each client's and the
//     waiting ones are limited, too. A long text is read and planned within a place, and every text within
//     the limit of time of a run. The engine's memory limit and its devices are shared.
//   - R3 (fair): a place goes to the client that has the fewest, and among these to the one that has
//     waited longest since it had a place last. A client that takes no rows holds no place.
//   - R4 (once more): a statement may be run any number of times, so that a client whose connection
//     broke can ask for the rows again.
//   - R5 (whole): a temporary table has all rows that its client has sent, or is not there.
//   - R6 (nothing left): what a session holds, in memory and on disk, is given back when the session
//     ends, and every session ends with the server.
package server
