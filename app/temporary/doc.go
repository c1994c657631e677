// Package temporary has the tables and views of sessions: of a server's clients, of a shell, of a command with several
// statements.
//
//	Store     all tables of a process: how much memory and disk they take, and the directory of their files
//	Tables    the names of one session: CREATE, DROP, what statements read
//	Table     rows in memory, or, where these would be too many, in an Arrow file; it does not change
//	Intake    takes the rows of a new table
//
// A view is a statement, which is bound anew wherever its name is read.
//
// Invariants:
//
//   - T1 (held): a table's rows are there as long as somebody holds it: its name, and each statement that reads it.
//   - T2 (bounded): tables in memory take Options.MemoryBytes together, files Options.DiskBytes.
//   - T3 (nothing left): files go with their last holder, and the directory with the store. A process that was killed
//     leaves the directory to the next one.
package temporary
