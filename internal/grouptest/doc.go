// Package grouptest says what the right answer to a query is, for tests.
//
//	Cases, RandomTable, RandomQuery      what to ask
//	Oracle                               the answer, by a Go map and the plainest formulas
//	ReadAll, Equal                       somebody else's answer, and where it differs
//
// Every route that answers a query.Query is held to the same cases. The oracle shares no code with
// them: it collects each group's values in slices, sums in arbitrary precision and computes
// moments exactly. It is slow and keeps everything in memory.
//
// Where rounding may differ between correct routes, a wanted cell is an Approx or a Near, which
// carry the allowed difference: it follows from the group's own values, so that a well-conditioned
// group is held to nine digits and an ill-conditioned one to what doubles can do.
package grouptest
