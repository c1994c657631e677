// Package trace records what a query did when, and writes it as Chrome's trace events, which
// Perfetto and chrome://tracing show.
//
//		Recorder - Query - Row: a worker, a device's stream, a copy engine, a file's reader or writer
//		                    |
//		                    spans: name, begin, end
//
//	  - T1 (free): a nil *Recorder, *Query, *Row or *Rows takes everything and keeps nothing.
//	  - T2 (bounded): at most spansMax spans are kept; beyond that the shorter half is dropped, and said to be.
//	  - T3 (in turn): what a row shows does one thing at a time: where spans overlap, the later one has
//	    waited for the earlier, and is shown from there on.
//	  - T4 (within): a span lies within its query.
package trace
