// Package aggregator has the contract between the engine, which reads input and writes results, and
// whoever turns rows into groups in between; and CPU, the aggregator that uses the workers of
// package cpuagg. Package device has the aggregator that uses GPUs beside these workers.
//
//		engine: split -> batch -> Rows -> Aggregator.Take, by all readers at once
//		engine: input is used up       -> Aggregator.EndInput
//		Aggregator.Process             -> Output.Writer, by all writers at once
//
//	  - U1 (once): every row that Take returns as taken is in exactly one group that Process writes.
//	  - U2 (disjoint): Process writes a key once.
//	  - U3 (threads): whoever computes holds one of the engine's threads, and gives it back while it waits.
package aggregator
