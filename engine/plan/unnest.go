package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
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
	if r.exprs[at].Op != expr.OpColumn { // of a derived table
		field := r.schema.Field(at)
		const why = "unnest: column %q is of type %s; only a list of values that are not nested has elements to read"
		return nil, errorAt(u.List.At, why, field.Name, query.TypeName(field.Type))
	}
	source := r.source()
	list, err := expr.FindColumn(source.Schema(), r.exprs[at])
	if err != nil {
		return nil, err
	}
	n := &unnestNode{in: r.node, list: list, name: namesOf(source.Schema()).unique(u.Name)}
	if n.described, err = scan.Unnest(source, list, n.name); err != nil {
		return nil, errorAt(u.List.At, "unnest: %v", err)
	}
	element := n.described.Schema().Field(n.described.Schema().NumFields() - 1)
	element.Name = u.Name
	with := &relation{node: n, where: r.where, inStar: r.inStar, tables: slices.Clone(r.tables)}
	with.schema = arrow.NewSchema(append(slices.Clone(r.schema.Fields()), element), nil)
	with.exprs = append(slices.Clone(r.exprs), expr.Column(n.name))
	with.qualify(len(r.exprs), []string{u.Alias})
	if !u.InRow {
		with.inStar = with.schema
	}
	return with, nil
}

// unnestNode has a row for each element of a list of its input.
type unnestNode struct {
	in        sourceNode
	list      int           // column of in
	name      string        // of the elements' column, which no column of in has in any case
	pruned    scan.Filtered // in without what a condition leaves out unread; nil where that is nothing
	described scan.Source   // of no run
}

func (n *unnestNode) input() node { return n.in }

// rows implements sourceNode.
func (n *unnestNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	source := n.in.rows(r)
	if n.pruned != nil {
		source = scan.Refilter(n.pruned, source, nil)
	}
	made, err := scan.Unnest(source, n.list, n.name)
	if err != nil {
		panic(err) // described is made of the same columns
	}
	return made
}

// pruneLists leaves out files, row groups and pages of lists by what the condition says of the
// columns beside the elements. The rows that are left are still to be tested.
func (r *relation) pruneLists(ctx context.Context, rules *rewrites) error {
	n, ok := r.node.(*unnestNode)
	if !ok || !rules.allows(FilterLists) {
		return nil
	}
	lists := n.in.rows(nil)
	var where *expr.Expr
	for _, x := range conjuncts(nil, r.where) {
		if _, err := expr.BindCondition(ctx, lists.Schema(), x); err == nil {
			where = conjunction(where, x)
		}
	}
	if where == nil {
		return nil
	}
	program, err := expr.BindCondition(ctx, lists.Schema(), where)
	if err != nil {
		return err
	}
	of := *n
	if of.pruned, err = scan.Filter(ctx, lists, predicateOf(program)); err != nil {
		return err
	}
	rules.note(FilterLists, true)
	of.described, err = scan.Unnest(of.pruned, n.list, n.name)
	r.node = &of
	return err
}
