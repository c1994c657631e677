// Package flightsql speaks Arrow Flight SQL with the clients of a server: JDBC, ADBC and all else
// that does.
//
//	GetFlightInfo, CreatePreparedStatement     Session.Prepare: the columns of the result, and a handle
//	DoGet with the handle                      Statement.Run: batches, as fast as the client takes them
//	DoPut                                      values of parameters; rows of a temporary table
//	metadata                                   the session's tables
//
// Clients are known by the headers of a call, before its message is read (identify). Columns of results
// have the types that drivers know, which are fewer than Arrow's (package adapt).
//
// A session belongs to a connection, or to a client that sends the cookie that it was given back.
// What a client sends is read as a file would be: no length in it is trusted.
package flightsql
