// Package engine answers SELECT keys, aggregates GROUP BY keys over a source of record batches.
//
//	eng, err := engine.Open(engine.Options{})
//	...
//	defer eng.Close()
//	src, err := dataset.Open(ctx, []string{"flights/*.parquet"}, dataset.Options{})
//	...
//	result, err := eng.Aggregate(ctx, src, query.Query{
//		Keys:       []query.Key{{Column: "origin"}},
//		Aggregates: []query.Aggregate{{Func: query.Avg, Args: []string{"delay"}}},
//	})
//	...
//	defer result.Release()
//	for batch, err := range result.All() {
//		...
//	}
//
// A source is files (dataset.Open), record batches of the program's own (scan.Batches), or whatever
// implements scan.Source. Explain says how a query would run. A Statement has several steps, which
// share a part of the memory: Groups, Rows, which reads without aggregating, Sort, and others.
// Package sink writes results. Package plan answers statements of SQL, and package relation builds
// them by calls: joins, windows and set operations.
//
//		source -> splits -> worker: decode -> batches -> Aggregator.Take    partition-generating phase
//		                                                  |
//		                              tables that fit, or partitions in a store, or on a device
//		                                                  |
//		Aggregator.Process -> worker: groups -> finalizer -> record batches  partition-processing phase
//		                                                  |
//		                                            Result (array.RecordReader)
//
//	  - E1 (threads): the workers of all queries of an engine together use Options.Threads threads.
//	  - E2 (answer): neither threads, batch sizes, splits nor routes change an answer, but for the
//	    rounding of floating-point sums.
//	  - E3 (ends): a query ends when its result is read to the end, released, or its context is
//	    done; it then holds no memory, goroutine or file.
//
// Partial ends with states in place of results: groups -> canonical keys and states -> blobs. Merge
// begins with these: blobs of several sources -> tasks -> ... -> Result.
//
// GPUs are used by programs that import the machine code for them, which is 5 MB:
//
//	import _ "github.com/mpga/mpga/kernels/cuda"
package engine
