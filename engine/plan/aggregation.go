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
	case q.groups == nil || q.groups.sets != nil:
		return nil, query.Query{}, errors.New("this is not one aggregation")
	case q.post.having != nil:
		return nil, query.Query{}, errors.New("HAVING comes after an aggregation")
	case q.Ordered():
		return nil, query.Query{}, errors.New("an order or a limit comes after an aggregation")
	}
	grouping := q.groups.of.query
	grouping.Keys, grouping.Aggregates = slices.Clone(grouping.Keys), slices.Clone(grouping.Aggregates)
	keys := len(grouping.Keys)
	if len(q.post.exprs) != keys+len(grouping.Aggregates) {
		return nil, query.Query{}, errors.New("the columns are not the keys and then the aggregates, each once")
	}
	for i, x := range q.post.exprs {
		name := q.resultSchema.Field(i).Name
		if x.Op != expr.OpColumn || x.Name != q.rows.Field(i).Name {
			return nil, query.Query{}, errors.New(name + " is computed after the aggregation, or stands before a key")
		}
		if i < keys {
			grouping.Keys[i].Name = name
		} else {
			grouping.Aggregates[i-keys].Name = name
		}
	}
	return q.in.rows(newRun(q.engine)), grouping, nil
}
