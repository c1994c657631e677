// Package papers holds the figures of the five papers that mpga began with: what each figure varies,
// the numbers that its paper's text gives, the paper's claims, and the arithmetic that a figure needs
// (cost models, estimators, counts of probes).
//
//		Select -> Figure -> a measurement fills a Result -> Judge -> Verdicts
//
//	  - F1 (verdicts): a verdict is computed from the points of a Result, never written by hand.
//	  - F2 (times): a claim about times has a verdict only where a GPU was measured.
//	  - F3 (sources): a number of a paper stands beside its section, and is never mixed with points
//	    that were measured.
//
// The package measures nothing and does no I/O: lab/papers/measure runs systems and
// fills in Results, and lab/papers/page shows them.
package papers
