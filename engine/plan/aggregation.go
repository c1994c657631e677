package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
)

// Aggregation returns the source and the query of a statement that is one aggregation and nothing
// else: its columns are the keys and then the aggregates as they are, and it has neither HAVING nor
// an order nor a limit.
func (q *Query) Aggregation(ctx context.Context) (scan.Source, query.Query, error) {
	l := q.last()
	switch {
	case l.project == nil || l.project.in.sets != nil:
		return nil, query.Query{}, errors.New("this is not one aggregation")
	case l.post.having != nil:
		return nil, query.Query{}, errors.New("HAVING comes after an aggregation")
	case l.sort != nil:
		return nil, query.Query{}, errors.New("an order or a limit comes after an aggregation")
	}
	groups := l.project.in.of
	grouping := groups.query
	grouping.Keys, grouping.Aggregates = slices.Clone(grouping.Keys), slices.Clone(grouping.Aggregates)
	keys := len(grouping.Keys)
	if len(l.post.exprs) != keys+len(grouping.Aggregates) {
		return nil, query.Query{}, errors.New("the columns are not the keys and then the aggregates, each once")
	}
	for i, from := range l.post.from {
		name := l.post.schema.Field(i).Name
		if from != i {
			return nil, query.Query{}, errors.New(name + " is computed after the aggregation, or stands before a key")
		}
		if i < keys {
			grouping.Keys[i].Name = name
		} else {
			grouping.Aggregates[i-keys].Name = name
		}
	}
	return groups.in.rows(newRun(q.engine.Statement(ctx))), grouping, nil
}
