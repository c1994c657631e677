// Package relation builds statements by calls: joins, windows, groups, set operations and orders of tables. A program
// puts the steps of a statement together without putting a text together, and expressions are SQL:
//
//	orders := relation.Table("o", plan.Table{Source: source})
//	products := relation.Table("p", plan.Table{Files: []string{"products.parquet"}})
//	paid := orders.Join(relation.Left, products, relation.Equal("o.product", "p.id")).
//		GroupBy([]string{"p.name"}, "sum(o.n * p.price) AS paid").
//		OrderBy("paid DESC")
//	q, err := paid.Prepare(ctx, eng, plan.Options{})
//
// The calls make the tree that the parser makes of a text, so that package plan binds, rewrites and runs it as it does
// statements of SQL. A wrong call is an error of Prepare, which names the call and points at the place in its text.
//
//   - V1 (values): Rows are values: a call returns other rows, and leaves its receiver as it is, which may be used
//     again, at once, too. Each use reads the rows anew.
//   - V2 (names): columns of a join have the names of its tables before them (o.id) until a call makes rows of its own
//     of them: GroupBy, Select, Where, Window, OrderBy, Limit, As.
package relation
