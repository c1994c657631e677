// Package query holds the words of a caller: what is grouped by, what is computed of each group,
// and how.
//
//	query.Query{
//		Keys: []query.Key{{Column: "origin"}},
//		Aggregates: []query.Aggregate{
//			{Func: query.CountStar, Name: "flights"},
//			{Func: query.Avg, Args: []string{"delay"}},
//		},
//	}
//
// A Query knows no source yet. engine.Engine.Aggregate answers it over a source of rows; an error
// that is ErrQuery says what of the query does not suit the columns of the source.
package query
