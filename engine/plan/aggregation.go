package plan

import (
	"errors"
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// Aggregation returns the source and the query of a statement that is one aggregation and nothing
// else: its columns are the keys and then the aggregates as they are, and it has neither HAVING nor
// an order nor a limit.
func (q *Query) Aggregation() (scan.Source, query.Query, error) {
	switch {
	case !q.grouped || q.sets != nil:
		return nil, query.Query{}, errors.New("this is not one aggregation")
	case q.post.having != nil:
		return nil, query.Query{}, errors.New("HAVING comes after an aggregation")
	case len(q.by.Keys) > 0 || q.by.Limited || q.by.Offset > 0:
		return nil, query.Query{}, errors.New("an order or a limit comes after an aggregation")
	}
	grouping := q.query
	grouping.Keys, grouping.Aggregates = slices.Clone(grouping.Keys), slices.Clone(grouping.Aggregates)
	keys := len(grouping.Keys)
	if len(q.post.exprs) != keys+len(grouping.Aggregates) {
		return nil, query.Query{}, errors.New("the columns are not the keys and then the aggregates, each once")
	}
	for i, x := range q.post.exprs {
		name := q.schema.Field(i).Name
		if x.Op != expr.OpColumn || x.Name != q.rows.Field(i).Name {
			return nil, query.Query{}, errors.New(name + " is computed after the aggregation, or stands before a key")
		}
		if i < keys {
			grouping.Keys[i].Name = name
		} else {
			grouping.Aggregates[i-keys].Name = name
		}
	}
	return q.source, grouping, nil
}
