package plan

import (
	"errors"
	"slices"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/internal/expr"
)

// Aggregation returns the source and the query of a statement that is one aggregation and no more: whose columns
// are its keys and then its aggregates as they are, without HAVING, an order or a limit.
func (q *Query) Aggregation() (scan.Source, spec.Query, error) {
	switch {
	case !q.grouped || q.sets != nil:
		return nil, spec.Query{}, errors.New("this is not one aggregation")
	case q.post.having != nil:
		return nil, spec.Query{}, errors.New("HAVING comes after an aggregation")
	case len(q.by.Keys) > 0 || q.by.Limited || q.by.Offset > 0:
		return nil, spec.Query{}, errors.New("an order or a limit comes after an aggregation")
	}
	query := q.query
	query.Keys, query.Aggregates = slices.Clone(query.Keys), slices.Clone(query.Aggregates)
	keys := len(query.Keys)
	if len(q.post.exprs) != keys+len(query.Aggregates) {
		return nil, spec.Query{}, errors.New("the columns are not the keys and then the aggregates, each once")
	}
	for i, x := range q.post.exprs {
		name := q.schema.Field(i).Name
		if x.Op != expr.OpColumn || x.Name != q.rows.Field(i).Name {
			return nil, spec.Query{}, errors.New(name + " is computed after the aggregation, or stands before a key")
		}
		if i < keys {
			query.Keys[i].Name = name
		} else {
			query.Aggregates[i-keys].Name = name
		}
	}
	return q.source, query, nil
}
