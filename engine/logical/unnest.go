package logical

import (
	"context"
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
	for _, it := range s.Items {
		m.find(it.Expr)
	}
	for _, g := range s.GroupBy {
		m.find(g.Expr)
		for _, x := range slices.Concat(g.Sets...) {
			m.find(x)
		}
	}
	for _, o := range s.OrderBy {
		m.find(o.Expr)
	}
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
	m.behindFrom()
	return &m.s, m.err
}

// unnesting rewrites a statement.
type unnesting struct {
	s     sql.Select
	lists []*expr.Expr // of the calls
	err   error        // the first
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
	if len(x.Args) != 1 {
		return nil, errorAt(x.At, "unnest takes one list")
	}
	name := x.String()
	if len(m.lists) > 1 {
		name = rowElements
	}
	column := expr.Column(name)
	column.At, column.Path, column.Qualified = x.At, []string{rowElements, name}, true
	if len(m.lists) > 1 {
		key := x.Args[0].Key()
		at := slices.IndexFunc(m.lists, func(l *expr.Expr) bool { return l.Key() == key })
		column = expr.Call("struct_extract", column, expr.Constant(int64(at+1)))
		column.At = x.At
	}
	return column, nil
}

// behindFrom puts the lists of the calls of unnest behind FROM: several as a list of an element of each.
func (m *unnesting) behindFrom() {
	if m.err != nil || len(m.lists) == 0 {
		return
	}
	u := &sql.Unnest{At: m.lists[0].At, Input: m.s.From, List: m.lists[0], Alias: rowElements, InRow: true}
	if u.Name = expr.Call(sql.UnnestCall, m.lists[0]).String(); len(m.lists) > 1 {
		u.List, u.Name = expr.Call("list_zip", m.lists...), rowElements
		u.List.At = u.At
	}
	m.s.From = u
}

// find notes the lists of the calls of unnest in an expression.
func (m *unnesting) find(e *expr.Expr) {
	e.Walk(func(x *expr.Expr) bool {
		if !isUnnest(x) || len(x.Args) != 1 {
			return true
		}
		key := x.Args[0].Key()
		if !slices.ContainsFunc(m.lists, func(l *expr.Expr) bool { return l.Key() == key }) {
			m.lists = append(m.lists, x.Args[0])
		}
		return false
	})
}

// rowElements is the name of the table of the elements of unnest behind SELECT. No table has such a name.
const rowElements = "\x00elements"

func isUnnest(e *expr.Expr) bool { return e.Op == expr.OpCall && e.Name == sql.UnnestCall }

// firstUnnest returns the first call of unnest in an expression, or nil.
func firstUnnest(e *expr.Expr) *expr.Expr { return e.First(isUnnest) }

// unnest is scope.unnest, whose list may be of columns around the statement.
func (b *binder) unnest(ctx context.Context, r *scope, u *sql.Unnest) (*scope, error) {
	o := b.outer
	if o == nil {
		return r.unnest(ctx, &b.ids, u)
	}
	if r.outer = o; o.early {
		if err := b.joinDomain(ctx, r); err != nil {
			return nil, err
		}
	}
	known := len(o.reads)
	with, err := r.unnest(ctx, &b.ids, u)
	o.early = o.early || len(o.reads) > known
	return with, err
}

// unnest returns the scope with a row for every element of a list, and the elements as its last column.
func (r *scope) unnest(ctx context.Context, ids *IDs, u *sql.Unnest) (*scope, error) {
	in, list, err := r.listOf(ctx, ids, u.List)
	if err != nil {
		return nil, err
	}
	field, err := scan.Element(arrow.Field{Name: u.List.String(), Type: list.Type})
	if err != nil {
		return nil, errorAt(u.List.At, "unnest: %v", err)
	}
	element := Column{ID: ids.New(), Name: u.Name, Type: field.Type, Nullable: true}
	n := &Unnest{In: in, List: list.ID, columns: append(slices.Clone(in.Columns()), element)}
	for i := range n.columns {
		n.columns[i].Stats.Tight = false // a row without elements is left out
	}
	with := &scope{node: n, tables: slices.Clone(r.tables), hidden: r.hidden, places: r.places}
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

// listOf returns a node that has a list as a column: the scope's, or, of an expression, one that computes it.
func (r *scope) listOf(ctx context.Context, ids *IDs, e *expr.Expr) (Node, Column, error) {
	if e.Op == expr.OpColumn {
		if at, err := r.find(e); err == nil {
			return r.node, r.columns[at], nil
		}
	}
	x, err := r.resolve(e, nil, nil)
	if err != nil {
		return nil, Column{}, err
	}
	columns, exprs := slices.Clone(r.node.Columns()), make([]*expr.Expr, 0, len(r.node.Columns())+1)
	for i := range columns {
		exprs = append(exprs, columns[i].Expr())
	}
	columns = append(columns, Column{ID: ids.New(), Name: e.String()})
	made, err := NewProject(ctx, r.node, columns, append(exprs, x))
	if err != nil {
		return nil, Column{}, err
	}
	return made, made.columns[len(columns)-1], nil
}
