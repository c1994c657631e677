// Package measure fills in the results of the papers' figures: it runs kernels on rows that a device
// has, and engines on rows in memory, and has the claims judged.
//
//	                +-> lab/bench  (rows on the device) ---+
//	papers.Figure --+-> lab/pairs (engines, out of core) -+-> papers.Result -> Judge -> lab/papers/page
//	                +-> partition, papers (counts, models) ----+
//
// What the points of a result can be relied on for:
//
//   - M1 (checked): a point is of an answer that was found right; a wrong answer ends its figure. A table that may
//     be too full for all rows is the exception: once the table loses a row, neither the number of its groups nor
//     their sums are checked, and a note of the figure says how many rows were lost.
//   - M2 (one device): kernels and engines of a report use one device, which engines open again.
//   - M3 (scale): a figure has the paper's rows times the scale, between limits of its own;
//     Result.Scale says what came of it.
//   - M4 (noted): a system that cannot be run has no points, and a note says why.
//
// What a figure shows, what its paper says and the models are in package papers, and what a report
// looks like is in lab/papers/page.
package measure
