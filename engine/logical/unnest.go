package logical

import (
	"slices"

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
			const instead = "not supported: unnest within %s; want FROM ..., unnest(list) AS t(name), and %s(name)"
			m.err = errorAt(x.At, instead, x.Name, x.Name)
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
	of, behindFrom := m.s.From.(*sql.Unnest)
	switch {
	case m.s.From == nil:
		return nil, errorAt(x.At, "unnest: there is no table to take a list from")
	case len(x.Args) != 1:
		return nil, errorAt(x.At, "unnest takes one list")
	case !behindFrom:
		of = &sql.Unnest{Input: m.s.From, List: x.Args[0], Name: x.String(), Alias: rowElements, InRow: true}
		m.s.From = of
	case !of.InRow || of.Name != x.String():
		return nil, errorAt(x.At, "not supported: a second list for unnest")
	}
	column := expr.Column(of.Name)
	column.At, column.Path, column.Qualified = x.At, []string{rowElements, of.Name}, true
	return column, nil
}

// rowElements is the name of the table of the elements of unnest behind SELECT. No table has such a name.
const rowElements = "\x00elements"

func isUnnest(e *expr.Expr) bool { return e.Op == expr.OpCall && e.Name == sql.UnnestCall }

// firstUnnest returns the first call of unnest in an expression, or nil.
func firstUnnest(e *expr.Expr) *expr.Expr { return e.First(isUnnest) }

// unnest returns the scope with a row for every element of a list, and the elements as its last column.
func (r *scope) unnest(ids *IDs, u *sql.Unnest) (*scope, error) {
	if u.List.Op != expr.OpColumn {
		return nil, errorAt(u.List.At, "not supported: unnest of other than a column that is a list")
	}
	at, err := r.find(u.List)
	if err != nil {
		return nil, err
	}
	list := r.columns[at]
	field, err := scan.Element(arrow.Field{Name: list.Name, Type: list.Type})
	if err != nil {
		return nil, errorAt(u.List.At, "unnest: %v", err)
	}
	element := Column{ID: ids.New(), Name: u.Name, Type: field.Type, Nullable: true}
	n := &Unnest{In: r.node, List: list.ID, columns: append(slices.Clone(r.node.Columns()), element)}
	for i := range n.columns {
		n.columns[i].Stats.Tight = false // a row without elements is left out
	}
	with := &scope{node: n, tables: slices.Clone(r.tables), hidden: r.hidden}
	with.columns = append(slices.Clone(r.columns), element)
	field.Name = u.Name
	with.schema = arrow.NewSchema(append(slices.Clone(r.schema.Fields()), field), nil)
	with.qualify(len(r.columns), []string{u.Alias})
	starred := slices.Clone(r.starred)
	if !u.InRow {
		starred = append(starred, len(r.columns))
	}
	with.setStarred(starred)
	return with, nil
}
