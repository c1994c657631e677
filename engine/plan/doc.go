// Package plan answers statements of SQL by the engine's aggregations.
//
//	statement, err := sql.Parse("SELECT origin, avg(delay) FROM 'flights.parquet' GROUP BY origin")
//	if err != nil {
//		return err
//	}
//	q, err := plan.Prepare(ctx, eng, statement, plan.Options{})
//	if err != nil {
//		return err
//	}
//	defer q.Close()
//	result, err := q.Run(ctx)
//	if err != nil {
//		return err
//	}
//	defer result.Release()
//	for result.Next() {
//		use(result.RecordBatch())
//	}
//	return result.Err()
//
// Between the statement and the result:
//
//	sql.Select --Prepare--> Query:  FROM -> source -> WHERE -> computed columns      scan.Filter, computed
//	                                  -> rows in order, or once for each set         streamed, expanded
//	                                  -> groups to be merged -> groups               engine.Aggregate
//	                                  -> HAVING, expressions over groups             projection
//	                                  -> ORDER BY, LIMIT                             engine.Sort
//	Query --Run--> Result: a stream of Arrow record batches
//
// Invariants:
//
//   - P1 (readers): WHERE is evaluated where columns are read, so that rows that fail it take nothing but the
//     columns it needs; what it says of single columns keeps files, row groups and pages from being read.
//   - P2 (once): keys, aggregates and arguments that are written alike are one. A key that follows from
//     other keys is computed of the groups, not grouped by. However many grouping sets there are, the input
//     is read once.
//   - P3 (columns): a column that is a key or an argument as it is goes through untouched, dictionary and
//     statistics with it.
//   - P4 (derived tables): a statement behind FROM without groups, an order or a limit is put into the one
//     around it. Others are sources of one split, which runs them when it is opened and hands their batches
//     on: nothing of them is held but what the engine's budget counts. Their columns that nobody asks for
//     are looked up, so that errors in them are told, but not computed. What WHERE around them says of
//     their keys is asked of their rows.
//
// Statements without groups are read by all threads too, in no order.
package plan
