package logical

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// pivoted binds PIVOT or UNPIVOT over what stands behind its FROM.
func (b *binder) pivoted(ctx context.Context, s *sql.Select, r *scope) (Node, error) {
	others := s.Where != nil || s.Having != nil || s.Qualify != nil || s.Distinct || s.DistinctOn != nil ||
		s.OrderBy != nil ||
		s.OrderAll != nil || s.Limit != nil || s.Offset != nil || s.GroupAll
	switch {
	case others || s.Pivot.IsUnpivot && s.GroupBy != nil:
		return nil, errorAt(s.Pivot.At, "not supported: this clause in PIVOT and UNPIVOT")
	case s.Pivot.IsUnpivot:
		return b.unpivot(ctx, s, r)
	}
	groups, err := b.pivotGroups(ctx, s, r)
	if err != nil {
		return nil, err
	}
	return b.over(ctx, groups, r)
}

// pivotValue is a condition that a row belongs to a column of PIVOT, and the column's name.
type pivotValue struct {
	condition *expr.Expr
	name      string
}

// pivotGroups returns the groups that PIVOT stands for: each aggregate with a FILTER for each of the values, which are
// columns of their names.
func (b *binder) pivotGroups(ctx context.Context, s *sql.Select, r *scope) (*sql.Select, error) {
	items := s.Items
	aggregates := items[len(items)-s.Pivot.Aggregates:]
	if s.Pivot.First {
		aggregates, items = items[:s.Pivot.Aggregates], items[s.Pivot.Aggregates:]
	}
	if len(aggregates) == 0 {
		aggregates = []sql.Item{{Expr: &expr.Expr{Op: expr.OpAggregate, Name: "count_star", At: s.Pivot.At}, At: s.Pivot.At}}
	}
	values := []pivotValue{{}}
	var read []*expr.Expr
	for _, n := range s.Pivot.On {
		of := items[0]
		if of.Expr == nil || of.Name != "" {
			return nil, errorAt(of.At, "PIVOT: want ON expression IN (value, ...)")
		}
		read = append(read, of.Expr)
		next, err := b.valuesOf(ctx, s, r, of.Expr, items[1:1+n])
		if err != nil {
			return nil, err
		}
		if values = combined(values, next); len(values)*len(aggregates) > sql.ItemsMax {
			return nil, errorAt(of.At, "not supported: PIVOT of more than %d columns", sql.ItemsMax)
		}
		items = items[1+n:]
	}
	made := &sql.Select{Text: s.Text, GroupBy: s.GroupBy, Parameters: s.Parameters}
	for _, a := range aggregates {
		if a.Expr == nil || firstAggregate(a.Expr) == nil || a.Expr.FirstWindow() != nil {
			return nil, errorAt(a.At, "PIVOT: USING wants aggregates")
		}
		if a.Expr.First(func(x *expr.Expr) bool { return x.Filter != nil }) != nil { // which DuckDB leaves out
			return nil, errorAt(a.At, "not supported: FILTER in PIVOT")
		}
		read = append(read, a.Expr)
	}
	if err := pivotKeys(made, r, read); err != nil {
		return nil, err
	}
	for _, v := range values {
		for _, a := range aggregates {
			name := v.name
			if a.Name != "" || len(aggregates) > 1 {
				name += "_" + cmp.Or(a.Name, a.Expr.String())
			}
			made.Items = append(made.Items, sql.Item{Expr: filteredBy(a.Expr, v.condition), Name: name, At: a.At})
		}
	}
	return made, nil
}

// filteredBy returns an expression whose aggregates are of the rows that a condition leaves.
func filteredBy(e, condition *expr.Expr) *expr.Expr {
	return e.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpAggregate {
			return nil
		}
		of := *x
		of.Filter = expr.Conjunction(x.Filter, condition)
		return &of
	})
}

// combined returns each value together with each of further ones.
func combined(values, next []pivotValue) (all []pivotValue) {
	for _, v := range values {
		for _, w := range next {
			name := w.name
			if v.condition != nil {
				name = v.name + "_" + w.name
			}
			all = append(all, pivotValue{expr.Conjunction(v.condition, w.condition), name})
		}
	}
	return all
}

// valuesOf returns the values of an expression of PIVOT, as they are written, or as a statement has them.
func (b *binder) valuesOf(ctx context.Context, s *sql.Select, r *scope, of *expr.Expr, items []sql.Item) (
	[]pivotValue, error,
) {
	if len(items) == 0 {
		return b.askedValues(ctx, s, r, of)
	}
	query, isAsked := items[0].Expr, items[0].Expr != nil && items[0].Expr.Op == expr.OpSubquery
	if !isAsked {
		return pivotValues(ctx, of, items)
	}
	t, err := r.typeOfNamed(ctx, of)
	switch {
	case err != nil:
		return nil, err
	case b.opt.Ask == nil:
		return nil, errorAt(query.At, "not supported: PIVOT with a statement behind IN here; write the values")
	}
	const column = "value"
	value := expr.Column(column)
	rows := &sql.Derived{At: query.At, Query: query.Value.(*sql.Subquery).Query,
		Alias: sql.Alias{Name: "values of PIVOT", Columns: []string{column}}}
	texts, err := b.opt.Ask(ctx, &sql.Select{
		Text: s.Text, From: rows, Where: expr.Call("is not null", value), Limit: expr.Constant(int64(sql.ItemsMax + 1)),
		Items: []sql.Item{{Expr: value, Name: column}, {Expr: castAt(value, expr.Type{ID: expr.Text}), Name: "text"}},
	})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	texts = slices.DeleteFunc(texts, func(text string) bool {
		again := known[text]
		known[text] = true
		return again
	})
	return namedValues(of, t, texts), nil
}

// namedValues returns the values that texts are of, each named by its text.
func namedValues(of *expr.Expr, t expr.Type, texts []string) (values []pivotValue) {
	for _, name := range texts {
		condition := expr.Call("=", of, castAt(expr.Constant(name), t))
		condition.At = of.At
		values = append(values, pivotValue{condition, name})
	}
	return values
}

// pivotValues returns the values of an expression of PIVOT.
func pivotValues(ctx context.Context, of *expr.Expr, items []sql.Item) (values []pivotValue, err error) {
	for _, it := range items {
		name := it.Name
		if it.Expr == nil || len(it.Expr.Columns()) > 0 {
			return nil, errorAt(it.At, "PIVOT: want constants in IN (...)")
		}
		if name == "" {
			if name, err = textOf(ctx, it.Expr); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(values, func(v pivotValue) bool { return v.name == name }) {
			return nil, errorAt(it.At, "PIVOT: the value %q stands twice in IN (...)", name)
		}
		condition := expr.Call("is not distinct from", of, it.Expr)
		condition.At = it.At
		values = append(values, pivotValue{condition, name})
	}
	return values, nil
}

// askedValues returns the values that an expression of PIVOT has, but for NULL, in the order of their texts. A
// statement of its own is asked for them, while the PIVOT is bound.
func (b *binder) askedValues(ctx context.Context, s *sql.Select, r *scope, of *expr.Expr) ([]pivotValue, error) {
	const write = "; write %s IN (value, ...)"
	switch {
	case b.opt.Ask == nil:
		return nil, errorAt(of.At, "not supported: PIVOT without its values here"+write, of)
	case readsOnce(r.node):
		return nil, errorAt(of.At, "PIVOT without its values reads the table twice, which can be read once"+write, of)
	}
	t, err := r.typeOfNamed(ctx, of)
	if err != nil {
		return nil, err
	}
	text, second := expr.Type{ID: expr.Text}, expr.Constant(int64(2))
	texts, err := b.opt.Ask(ctx, &sql.Select{
		Text: s.Text, From: s.From, Where: expr.Call("is not null", of), GroupBy: []sql.GroupElement{{Expr: of, At: of.At}},
		Items:   []sql.Item{{Expr: of, Name: "value"}, {Expr: castAt(of, text), Name: "text"}},
		OrderBy: []sql.Order{{Expr: second}}, Limit: expr.Constant(int64(sql.ItemsMax + 1)),
	})
	if err != nil {
		return nil, err
	}
	return namedValues(of, t, texts), nil
}

// typeOfNamed returns the type of an expression whose names mean columns of the columns of the scope.
func (r *scope) typeOfNamed(ctx context.Context, x *expr.Expr) (expr.Type, error) {
	x, err := r.resolve(x, nil, nil)
	if err != nil {
		return expr.Type{}, err
	}
	return typeOfAll(ctx, ColumnsOf(r.node), x)
}

// readsOnce says whether a table below a node can be read once.
func readsOnce(n Node) bool {
	if table, ok := n.(*Scan); ok {
		return table.Source.Stats().Once
	}
	return slices.ContainsFunc(n.Inputs(), readsOnce)
}

// textOf returns a constant as text; NULL is NULL.
func textOf(ctx context.Context, e *expr.Expr) (string, error) {
	p, err := expr.Bind(ctx, arrow.NewSchema(nil, nil), castAt(e, expr.Type{ID: expr.Text}))
	if err != nil {
		return "", err
	}
	value, _ := p.Constant(0)
	if value == nil {
		return "NULL", nil
	}
	text, ok := value.(string)
	if !ok {
		return "", errorAt(e.At, "PIVOT: want constants in IN (...)")
	}
	return text, nil
}

// pivotKeys sets what a PIVOT groups by: its GROUP BY, or all columns that none of some expressions reads.
func pivotKeys(s *sql.Select, r *scope, read []*expr.Expr) error {
	for _, g := range s.GroupBy {
		if g.Expr == nil || g.Expr.Op != expr.OpColumn {
			return errorAt(g.At, "PIVOT: GROUP BY takes columns alone")
		}
		s.Items = append(s.Items, sql.Item{Expr: g.Expr, At: g.At})
	}
	if s.GroupBy != nil {
		return nil
	}
	used, err := r.columnsIn(read)
	if err != nil {
		return err
	}
	for _, i := range r.starred {
		c := r.columns[i]
		if !used[c.ID] {
			s.Items = append(s.Items, sql.Item{Expr: c.Expr(), Name: c.Name})
			s.GroupBy = append(s.GroupBy, sql.GroupElement{Expr: c.Expr()})
		}
	}
	return nil
}

// columnsIn returns the columns that expressions read.
func (r *scope) columnsIn(list []*expr.Expr) (map[expr.ID]bool, error) {
	used := map[expr.ID]bool{}
	for _, x := range list {
		of, err := r.resolve(x, nil, nil)
		if err != nil {
			return nil, err
		}
		of.Walk(func(x *expr.Expr) bool {
			if x.Op == expr.OpColumn {
				used[x.ID] = true
			}
			return true
		})
	}
	return used, nil
}

// unpivot binds UNPIVOT: each row is joined with the names of the columns, and has the value of the column that is
// named.
func (b *binder) unpivot(ctx context.Context, s *sql.Select, r *scope) (Node, error) {
	names, values, err := b.unpivoted(ctx, s, r)
	if err != nil {
		return nil, err
	}
	used, err := r.columnsIn(values)
	if err != nil {
		return nil, err
	}
	rows := &sql.Values{At: s.Pivot.At}
	for i, name := range names {
		rows.Rows = append(rows.Rows, []*expr.Expr{expr.Constant(int64(i)), expr.Constant(name)})
	}
	list, err := b.values(ctx, s, rows)
	if err != nil {
		return nil, err
	}
	joined, err := NewJoin(ctx, sql.InnerJoin, r.node, list.node, nil)
	if err != nil {
		return nil, err
	}
	var columns []Column
	var exprs []*expr.Expr
	var written []string
	add := func(c Column, x *expr.Expr) {
		columns, exprs, written = append(columns, c), append(exprs, x), append(written, c.Name)
	}
	for _, i := range r.starred {
		if c := r.columns[i]; !used[c.ID] {
			add(c, c.Expr())
		}
	}
	number := list.columns[0].Expr()
	value := expr.Call("case")
	for i, x := range values {
		value.Args = append(value.Args, expr.Call("=", number, expr.Constant(int64(i))), x)
	}
	add(Column{ID: b.ids.New(), Name: cmp.Or(s.Pivot.Name, "name")}, list.columns[1].Expr())
	add(Column{ID: b.ids.New(), Name: cmp.Or(s.Pivot.Value, "value")}, value)
	last := len(columns) - 1
	if r.outer != nil {
		for _, c := range r.outer.domain {
			add(c, c.Expr())
		}
	}
	for i, name := range apart(written) {
		columns[i].Name = name
	}
	n, err := NewProject(ctx, joined, columns, exprs)
	if err != nil || s.Pivot.WithNulls {
		return n, err
	}
	return &Filter{In: n, Condition: expr.Call("is not null", n.Columns()[last].Expr())}, nil
}

// unpivoted returns the columns, or expressions, that UNPIVOT makes rows of, and their names.
func (b *binder) unpivoted(ctx context.Context, s *sql.Select, r *scope) (
	names []string, values []*expr.Expr, err error,
) {
	s, err = r.expandColumns(b.parameters.bind(ctx, s, r))
	if err != nil {
		return nil, nil, err
	}
	st := &statement{Select: s, scope: r, aliases: map[string]*expr.Expr{}}
	if _, err := st.resolveItems(ctx); err != nil {
		return nil, nil, err
	}
	var types []string
	isText := func(t expr.Type) bool { return t.ID == expr.Text }
	texts := 0
	for _, it := range st.items {
		if a := it.expr.First(func(x *expr.Expr) bool {
			return x.Op == expr.OpAggregate || x.Op == expr.OpWindow || x.Op == expr.OpSubquery
		}); a != nil {
			return nil, nil, errorAt(a.At, "not supported: %s in UNPIVOT", a)
		}
		t, err := typeOfAll(ctx, ColumnsOf(r.node), it.expr)
		if err != nil {
			return nil, nil, err
		}
		if isText(t) {
			texts++
		}
		types = append(types, fmt.Sprintf("%s %s", it.name, t))
		read := it.expr.Columns()
		if len(read) != 1 {
			return nil, nil, errorAt(it.expr.At, "UNPIVOT: %s reads %d columns, not one", it.expr, len(read))
		}
		name := it.name
		if it.expr.Op != expr.OpColumn && it.name == it.expr.String() {
			name = read[0]
		}
		names, values = append(names, name), append(values, it.expr)
	}
	if texts > 0 && texts < len(values) {
		const text = "UNPIVOT: columns of text beside others (%s): a cast is needed"
		return nil, nil, errorAt(s.Pivot.At, text, strings.Join(types, ", "))
	}
	return names, values, nil
}
