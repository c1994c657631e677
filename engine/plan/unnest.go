package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// unnestInFrom returns a statement whose list of unnest stands behind FROM, and in place of the calls
// of unnest behind SELECT, in GROUP BY and in ORDER BY the column of the elements.
func unnestInFrom(s *sql.Select) (*sql.Select, error) {
	m := &unnesting{s: *s}
	m.s.Items, m.s.GroupBy, m.s.OrderBy = slices.Clone(s.Items), slices.Clone(s.GroupBy), slices.Clone(s.OrderBy)
	for i := range m.s.Items {
		it := &m.s.Items[i]
		if it.Expr != nil && it.Name == "" && firstUnnest(it.Expr) != nil {
			it.Name = it.Expr.String()
		}
		it.Expr = m.replace(it.Expr)
	}
	for i := range m.s.GroupBy {
		g := &m.s.GroupBy[i]
		g.Expr = m.replace(g.Expr)
		g.Sets = slices.Clone(g.Sets)
		for k, set := range g.Sets {
			g.Sets[k] = slices.Clone(set)
			for n, x := range set {
				g.Sets[k][n] = m.replace(x)
			}
		}
	}
	for i := range m.s.OrderBy {
		m.s.OrderBy[i].Expr = m.replace(m.s.OrderBy[i].Expr)
	}
	for _, e := range []*expr.Expr{s.Where, s.Having} {
		if call := firstUnnest(e); call != nil && m.err == nil {
			m.err = errorAt(call.At, "not supported: unnest in WHERE and HAVING; want FROM ..., unnest(list) AS t(name)")
		}
	}
	return &m.s, m.err
}

// unnesting rewrites a statement.
type unnesting struct {
	s   sql.Select
	err error // the first
}

func (m *unnesting) replace(e *expr.Expr) *expr.Expr {
	return e.Replace(func(x *expr.Expr) *expr.Expr {
		switch {
		case m.err != nil:
			return x
		case x.Op == expr.OpAggregate && firstUnnest(x) != nil:
			m.err = errorAt(x.At, "not supported: unnest within %s; want FROM ..., unnest(list) AS t(name), and %s(name)", x.Name, x.Name)
			return x
		case !isUnnest(x):
			return nil
		}
		column, err := m.call(x)
		if err != nil {
			m.err = err
			return x
		}
		return column
	})
}

// call returns the column that stands for a call of unnest.
func (m *unnesting) call(x *expr.Expr) (*expr.Expr, error) {
	switch from := m.s.From; {
	case from == nil:
		return nil, errorAt(x.At, "unnest: there is no table to take a list from")
	case len(x.Args) != 1:
		return nil, errorAt(x.At, "unnest takes one list")
	case from.Unnest == nil:
		with := *from
		with.Unnest = &sql.Unnest{List: x.Args[0], Name: x.String(), InRow: true}
		m.s.From = &with
	case !from.Unnest.InRow || from.Unnest.Name != x.String():
		return nil, errorAt(x.At, "not supported: a second list for unnest")
	}
	column := expr.Column(m.s.From.Unnest.Name)
	column.At = x.At
	return column, nil
}

func isUnnest(e *expr.Expr) bool { return e.Op == expr.OpCall && e.Name == sql.UnnestCall }

// firstUnnest returns the first call of unnest in an expression, or nil.
func firstUnnest(e *expr.Expr) (call *expr.Expr) {
	e.Walk(func(x *expr.Expr) bool {
		if call == nil && isUnnest(x) {
			call = x
		}
		return call == nil
	})
	return call
}

// unnest returns the relation with a row for every element of a list, and the elements as its last
// column.
func (r *relation) unnest(u *sql.Unnest) (*relation, error) {
	if u.List.Op != expr.OpColumn {
		return nil, errorAt(u.List.At, "not supported: unnest of other than a column that is a list")
	}
	at, err := r.find(u.List)
	if err != nil {
		return nil, err
	}
	list, err := expr.FindColumn(r.source.Schema(), r.exprs[at])
	if err != nil {
		return nil, err
	}
	of := &lists{source: r.source, list: list, name: u.Name}
	taken := func(f arrow.Field) bool { return strings.EqualFold(f.Name, of.name) }
	for slices.ContainsFunc(r.source.Schema().Fields(), taken) {
		of.name += "'"
	}
	source, err := scan.Unnest(r.source, list, of.name)
	if err != nil {
		return nil, errorAt(u.List.At, "unnest: %v", err)
	}
	element := source.Schema().Field(source.Schema().NumFields() - 1)
	element.Name = u.Name
	with := &relation{source: source, name: r.name, lists: of, where: r.where, inStar: r.inStar}
	with.schema = arrow.NewSchema(append(slices.Clone(r.schema.Fields()), element), nil)
	with.exprs = append(slices.Clone(r.exprs), expr.Column(of.name))
	if !u.InRow {
		with.inStar++
	}
	return with, nil
}

// lists is a source with lists: the source of a relation has a row for each element of a list.
type lists struct {
	source scan.Source
	list   int    // column of source
	name   string // of the elements' column, which no column of source has in any case
}

// pruneLists leaves out files, row groups and pages of lists by what the condition says of the
// columns beside the elements. The rows that are left are still to be tested.
func (r *relation) pruneLists(ctx context.Context, rules *rewrites) error {
	if r.lists == nil || !rules.allows(FilterLists) {
		return nil
	}
	var where *expr.Expr
	for _, x := range conjuncts(nil, r.where) {
		if _, err := expr.BindCondition(ctx, r.lists.source.Schema(), x); err == nil {
			where = conjunction(where, x)
		}
	}
	if where == nil {
		return nil
	}
	program, err := expr.BindCondition(ctx, r.lists.source.Schema(), where)
	if err != nil {
		return err
	}
	pruned, err := scan.Filter(ctx, r.lists.source, predicateOf(program))
	if err != nil {
		return err
	}
	rules.note(FilterLists, true)
	r.source, err = scan.Unnest(pruned, r.lists.list, r.lists.name)
	return err
}
