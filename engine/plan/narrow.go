package plan

import (
	"slices"

	"github.com/mpga/mpga/engine/expr"
)

// narrow plans derived tables anew, without the columns that nobody asks for, from the statement inwards. They have been
// planned with all columns, so that errors in any of them are told.
func (p *planner) narrow(q *Query) error {
	src, ok := q.base.source.(*streamed)
	if !ok {
		return nil
	}
	inner := src.query
	unused := make([]bool, src.schema.NumFields())
	for i := range unused {
		unused[i] = true
	}
	for _, x := range append(q.uses, q.base.where) {
		for _, name := range x.Columns() {
			at, err := expr.FindColumn(src.schema, expr.Column(name))
			if err != nil {
				return err
			}
			unused[at] = false
		}
	}
	if !slices.Contains(unused, false) {
		unused[inner.st.cheapest()] = false // rows are counted by some column
	}
	if slices.Contains(unused, true) {
		st := *inner.st
		st.unused = unused
		*inner = Query{engine: inner.engine, text: inner.text, st: &st, base: inner.base, filter: inner.filter, where: inner.where, subqueries: inner.subqueries}
		if err := p.complete(inner); err != nil {
			return located(inner.text, err)
		}
		src.made = make([]int, len(unused))
		next := 0
		for i := range unused {
			src.made[i] = -1
			if !unused[i] {
				src.made[i] = next
				next++
			}
		}
	}
	return p.narrow(inner)
}

// cheapest returns the item that costs least: one without aggregates, if there is one.
func (st *statement) cheapest() int {
	return max(0, slices.IndexFunc(st.items, func(it item) bool { return firstAggregate(it.expr) == nil }))
}
