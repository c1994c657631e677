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
//	sql.Select --logical.Bind--> logical.Node --rules.Apply--> logical.Node --planner (lower.go)--> Query:
//	    table -> WHERE -> computed columns             tableNode, filterNode, computeNode
//	      -> rows in order, or once for each set       sortsNode, expandNode
//	      -> groups to be merged -> groups             aggregateNode, groupsNode
//	      -> HAVING, expressions over groups           projectNode
//	      -> ORDER BY, LIMIT                           sortNode, pickNode
//	Query --Run--> Result: a stream of Arrow record batches
//
// Invariants:
//
//   - P1 (readers): WHERE is evaluated where columns are read: of a row that fails WHERE only the
//     columns that WHERE needs are read, and what WHERE says of single columns keeps files, row
//     groups and pages from being read.
//
//   - P2 (once): keys, aggregates and arguments that are written alike are one. However many grouping
//     sets there are, the input is read once.
//
//   - P3 (columns): a column that is a key or an argument as it is goes through untouched, its
//     dictionary and statistics with it.
//
//   - P4 (derived tables): groups and ordered rows that are read by further steps are a source of one
//     split, which begins to make them when it is opened and hands the batches on: all rows that are
//     held are counted by the engine's budget. Columns that nobody asks for have been checked, but are
//     not computed.
//
//   - P5 (first rows): where rows are ordered and few are wanted, rows that cannot be among them are
//     left out where they are read, and columns that only the result needs are read of its rows.
//
//   - P6 (rules): where a plan departs from the statement's text, a rule of engine/rules says so. A statement has the
//     same answer without any of the rules, as tests with random statements check; EXPLAIN names the
//     rules that were used.
//
//   - P7 (runs): a plan keeps nothing of its runs, and several may go on at once. What the nodes
//     of a plan have begun for a run is in its run, and is given back by the release of the Result.
//
// Statements without groups are read by all threads too, in no order.
//
// What DESCRIBE, SUMMARIZE and EXPLAIN tell is a table behind FROM (about.go): their results are
// results like others.
package plan
