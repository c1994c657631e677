package logical

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
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
	levels, isSpread := r.structLevels(ctx, u)
	if _, isStruct := nested.Of(list.Type).(*arrow.StructType); isStruct && isSpread {
		with := r.withElement(in, list, u)
		with.spread = map[expr.ID]int64{list.ID: levels}
		return with, nil
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
	with := r.withElement(n, element, u)
	if isSpread {
		with.spread = map[expr.ID]int64{element.ID: levels}
	}
	return with, nil
}

// structLevels returns how many levels of structs unnest behind SELECT makes columns of their fields, 0 for all, beside
// the levels of lists that it takes off, and whether there are any.
func (r *scope) structLevels(ctx context.Context, u *sql.Unnest) (levels int64, isSpread bool) {
	of := u.List
	levels = 1
	if of.Op == expr.OpCall && of.Name == expr.Flattened {
		levels, _ = of.Args[1].Value.(int64)
		of = of.Args[0]
	}
	t, lists := r.typeOf(ctx, of), int64(0)
	if t == nil {
		return 0, false
	}
	for t = nested.Of(t); ; lists++ {
		list, isList := t.(arrow.ListLikeType)
		if !isList {
			break
		}
		t = list.Elem()
	}
	_, isStruct := t.(*arrow.StructType)
	isSpread = u.InRow && isStruct && (levels == 0 || levels > lists)
	return max(levels-lists, 0), isSpread
}

// spreadFields returns the fields of a struct that unnest makes columns of; nil of other values.
func (r *scope) spreadFields(x *expr.Expr) []item {
	c := columnOf(x)
	if c == nil {
		return nil
	}
	levels, ok := r.spread[c.ID]
	at := slices.IndexFunc(r.columns, func(of Column) bool { return of.ID == c.ID })
	if !ok || at < 0 {
		return nil
	}
	return fieldsWithin(x, nested.Of(r.columns[at].Type).(*arrow.StructType), levels)
}

// fieldsWithin returns the fields of a struct, and in place of structs their fields, for some levels, 0 for all.
func fieldsWithin(x *expr.Expr, of *arrow.StructType, levels int64) (items []item) {
	for i, f := range of.Fields() {
		field := expr.Call("struct_extract_at", x, expr.Constant(int64(i+1)))
		field.At = x.At
		if inner, isStruct := f.Type.(*arrow.StructType); isStruct && levels != 1 {
			items = append(items, fieldsWithin(field, inner, max(levels-1, 0))...)
			continue
		}
		items = append(items, item{expr: field, name: cmp.Or(f.Name, fmt.Sprintf("element%d", i+1))})
	}
	return items
}

// withElement returns the scope of a node with one more column than the scope's: what unnest makes.
func (r *scope) withElement(n Node, element Column, u *sql.Unnest) *scope {
	element.Name = u.Name
	field := arrow.Field{Name: u.Name, Type: element.Type, Nullable: true}
	with := &scope{node: n, tables: slices.Clone(r.tables), hidden: r.hidden, places: r.places}
	with.columns = append(slices.Clone(r.columns), element)
	with.schema = arrow.NewSchema(append(slices.Clone(r.schema.Fields()), field), nil)
	with.qualify(len(r.columns), []string{u.Alias})
	starred := slices.Clone(r.starred)
	if !u.InRow {
		starred = append(starred, len(r.columns))
	}
	with.setStarred(starred)
	return with
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
