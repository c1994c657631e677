package logical

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Recursion has the rows of its anchor, and then, iteration by iteration, the rows that its step makes of the rows of
// the iteration before, until there are none.
type Recursion struct {
	Anchor, Step Node
	Of           [2][]expr.ID // of the anchor and the step, by column: the column that has the values
	Before       *Working     // the rows of the iteration before
	Fresh        *Fresh       // leaves out rows that were there before, in any iteration; nil of UNION ALL
	Keyed        *Keyed       // of USING KEY; nil of others
	columns      []Column
}

// Working is rows that a run of a Recursion keeps, which an Iteration reads. It is told apart by its address.
type Working struct{ Name string }

// Fresh is a statement of its own: the rows of an iteration that no iteration before it has had.
type Fresh struct {
	Root      Node     // EXCEPT of the following two
	Made, Had *Working // the rows of the iteration; the rows of all iterations before
}

// Keyed makes the rows of a recursion of USING KEY, its state: one row for each key, of the rows of all iterations. A
// step reads the rows of the state that the iteration before it has changed.
type Keyed struct {
	State   Node     // a statement of its own: the state, of Rows
	Rows    *Working // the rows of all iterations, or, if IsLast, the state before and the rows of one
	Changed *Fresh   // of Made, the state, the rows that are not in Had, the state one iteration before
	Raw     []Column // of Rows
	IsLast  bool     // no column has an aggregate: the state may be made of the state before, and the rows behind it
}

// Columns implements Node.
func (n *Recursion) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Recursion) Inputs() []Node { return []Node{n.Anchor, n.Step} }

// With implements Node.
func (n *Recursion) With(in ...Node) Node {
	of := *n
	of.Anchor, of.Step = in[0], in[1]
	return &of
}

// Iteration has rows that a run of a Recursion keeps.
type Iteration struct {
	Of      *Working
	columns []Column
}

// Columns implements Node.
func (n *Iteration) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Iteration) Inputs() []Node { return nil }

// With implements Node.
func (n *Iteration) With(...Node) Node { return n }

// newIteration returns the rows of a Working, with columns like others, which get IDs of their own.
func newIteration(ids *IDs, of *Working, columns []Column) *Iteration {
	n := &Iteration{of, slices.Clone(columns)}
	for i := range n.columns {
		n.columns[i].ID = ids.New()
	}
	return n
}

// Iterations calls a function with what the Iterations of a tree read, in statements of WITH, too.
func Iterations(n Node, f func(*Working)) {
	switch of := n.(type) {
	case *Iteration:
		f(of.Of)
	case *Shared:
		Iterations(of.Body.Root, f)
	}
	for _, in := range n.Inputs() {
		Iterations(in, f)
	}
}

// recursing is a statement of WITH RECURSIVE while its step is bound.
type recursing struct {
	before  *Working
	state   *Working // the rows that Fresh or Keyed has made
	columns []Column // of before and state
	hidden  int      // of the last columns: a domain
}

// recursion binds a statement of WITH RECURSIVE. The anchor has the names and the types of the columns.
// hidden is how many of the last columns are a domain.
func (b *binder) recursion(ctx context.Context, s *sql.Select, f *sql.Recursion) (r *scope, hidden int, err error) {
	anchor, hidden, err := b.part(ctx, f, f.Anchor)
	if err != nil {
		return nil, 0, err
	}
	n := &Recursion{Anchor: anchor.node, Before: &Working{f.Name}}
	for _, c := range anchor.node.Columns() {
		n.Of[0] = append(n.Of[0], c.ID)
		n.columns = append(n.columns, Column{ID: b.ids.New(), Name: c.Name, Type: rowdata.ValueType(c.Type), Nullable: true})
	}
	raw := n.columns
	of := &recursing{before: n.Before, state: &Working{f.Name + ", made"}, hidden: hidden}
	if known := b.recursions[f]; known != nil { // what it shares was bound with it
		n.Before, of.before, of.state = known.before, known.before, known.state
	}
	if f.Key != nil {
		if n.Keyed, err = b.keyed(ctx, s, f, raw, of); err != nil {
			return nil, 0, err
		}
		n.columns = n.Keyed.Changed.Root.Columns()
	}
	of.columns = n.columns
	b.recursions[f] = of
	step, err := b.step(ctx, f, hidden)
	if err != nil {
		return nil, 0, err
	}
	if len(step.columns) != len(n.columns) {
		const text = "WITH RECURSIVE %s: the first statement has %s, and the one that reads %[1]s %[3]d"
		return nil, 0, errorAt(f.At, text, f.Name, counted(len(n.columns)-hidden), len(step.columns)-hidden)
	}
	if n.Step, err = b.castTo(ctx, f, step.node, raw); err != nil {
		return nil, 0, err
	}
	for _, c := range n.Step.Columns() {
		n.Of[1] = append(n.Of[1], c.ID)
	}
	if !f.All && f.Key == nil {
		if n.Fresh, err = b.fresh(ctx, s, f, of.state, n.columns); err != nil {
			return nil, 0, err
		}
	}
	return scopeOf(n), hidden, nil
}

// step binds the step of a statement of WITH RECURSIVE, which has a domain where its anchor has one.
func (b *binder) step(ctx context.Context, f *sql.Recursion, hidden int) (*scope, error) {
	if hidden == 0 {
		iterates := b.outer != nil && b.outer.iterates
		r, _, err := b.part(ctx, f, f.Step)
		if b.outer != nil {
			b.outer.iterates = iterates
		}
		return r, err
	}
	if isGlobal(f.Step) {
		const global = "not supported: an aggregate without GROUP BY in the step of WITH RECURSIVE %s " + correlated
		return nil, errorAt(f.At, global, f.Name)
	}
	like := *b.outer
	like.isStep = true
	n, _, err := b.each(ctx, f.Step, &like)
	if err != nil {
		return nil, err
	}
	return scopeOf(n), nil
}

// castTo returns the rows of a step with the types of the anchor's columns.
func (b *binder) castTo(ctx context.Context, f *sql.Recursion, step Node, to []Column) (Node, error) {
	columns, exprs := make([]Column, len(to)), make([]*expr.Expr, len(to))
	isSame := true
	for i, c := range step.Columns() {
		columns[i], exprs[i] = Column{ID: b.ids.New(), Name: to[i].Name}, c.Expr()
		if arrow.TypeEqual(rowdata.ValueType(c.Type), to[i].Type) {
			continue
		}
		t, err := expr.TypeOf(to[i].Type)
		if err != nil {
			const text = "WITH RECURSIVE %s: column %q is %s in the first statement and %s in the one that reads %[1]s"
			return nil, errorAt(f.At, text, f.Name, to[i].Name, query.TypeName(to[i].Type), query.TypeName(c.Type))
		}
		exprs[i], isSame = expr.Cast(exprs[i], t), false
	}
	if isSame {
		return step, nil
	}
	return NewProject(ctx, step, columns, exprs)
}

// fresh binds which of the rows made are new.
func (b *binder) fresh(
	ctx context.Context, s *sql.Select, f *sql.Recursion, made *Working, columns []Column,
) (*Fresh, error) {
	n := &Fresh{Made: made, Had: &Working{f.Name + ", before"}}
	except := &sql.SetOperation{At: f.At, Kind: sql.Except}
	m := &united{b: b, ctx: ctx, of: except}
	for _, of := range []*Working{n.Made, n.Had} {
		m.in = append(m.in, scopeOf(newIteration(&b.ids, of, columns)))
	}
	r, err := b.united(ctx, s, m)
	if err != nil {
		return nil, err
	}
	n.Root = r.node
	return n, nil
}

// keyed binds USING KEY over the rows of all iterations. The last columns that are a domain are keys, too.
func (b *binder) keyed(
	ctx context.Context, s *sql.Select, f *sql.Recursion, raw []Column, of *recursing,
) (n *Keyed, err error) {
	isColumn := func(it sql.Item) bool { return it.Expr != nil && it.Expr.Op == expr.OpColumn }
	n = &Keyed{Rows: &Working{f.Name + ", all"}, Raw: raw}
	n.IsLast = !slices.ContainsFunc(f.Key, func(it sql.Item) bool { return !isColumn(it) })
	r := scopeOf(newIteration(&b.ids, n.Rows, raw))
	r.qualify(0, []string{f.Name})
	if err := r.rename(sql.Alias{Name: f.Name, Columns: f.Columns}, f.At); err != nil {
		return nil, err
	}
	values, err := r.aggregatesOf(f, len(raw)-of.hidden)
	if err != nil {
		return nil, err
	}
	groups := &sql.Select{Text: s.Text}
	for i, c := range r.columns {
		value := c.Expr()
		if i >= len(values) || values[i] == nil {
			groups.GroupBy = append(groups.GroupBy, sql.GroupElement{Expr: value, At: f.At})
		} else {
			value = values[i]
		}
		groups.Items = append(groups.Items, sql.Item{Expr: value, Name: c.Name})
	}
	if n.State, err = b.over(ctx, groups, r); err != nil {
		return nil, err
	}
	var columns []Column
	for _, c := range n.State.Columns() {
		columns = append(columns, Column{Name: c.Name, Type: rowdata.ValueType(c.Type), Nullable: true})
	}
	n.Changed, err = b.fresh(ctx, s, f, of.state, columns)
	return n, err
}

// aggregatesOf returns, for each of the first columns, its aggregate in the state of USING KEY; nil of a key.
func (r *scope) aggregatesOf(f *sql.Recursion, columns int) (values []*expr.Expr, err error) {
	values = make([]*expr.Expr, columns)
	isKey, some := make([]bool, columns), false
	for _, it := range f.Key {
		if it.Expr == nil {
			return nil, errorAt(it.At, "USING KEY: * is no column")
		}
		isCall := it.Expr.Op == expr.OpAggregate
		name := it.Expr
		if isCall && len(it.Expr.Args) > 0 {
			name = it.Expr.Args[0]
		}
		if it.Name != "" && isCall {
			name = &expr.Expr{Op: expr.OpColumn, Name: it.Name, At: it.At}
		}
		if name.Op != expr.OpColumn || it.Name != "" && !isCall {
			const want = "USING KEY (%s): want columns, and aggregates of others, as in (a, max(b), count(*) AS n)"
			return nil, errorAt(it.At, want, it.Expr)
		}
		c, err := r.find(name)
		switch {
		case err != nil:
			return nil, err
		case values[c] != nil, isCall && isKey[c]:
			return nil, errorAt(it.At, "USING KEY: column %q is there twice", r.columns[c].Name)
		case isCall:
			values[c] = it.Expr
		default:
			isKey[c], some = true, true
		}
	}
	if !some {
		return nil, errorAt(f.At, "USING KEY wants one column at least that is no aggregate")
	}
	for i := range values {
		if values[i] == nil && !isKey[i] {
			of := []*expr.Expr{r.columns[i].Expr()}
			values[i] = &expr.Expr{Op: expr.OpAggregate, Name: query.Last.String(), Args: of, At: f.At}
		}
	}
	return values, nil
}

// iteration binds a place that reads the iteration before, or the state of USING KEY.
func (b *binder) iteration(f *sql.Iteration) (*scope, error) {
	of := b.recursions[f.Of]
	r := scopeOf(newIteration(&b.ids, of.before, of.columns))
	if f.Whole {
		r = scopeOf(newIteration(&b.ids, of.state, of.columns))
	}
	if o := b.outer; o != nil {
		o.iterates = true
	}
	if of.hidden > 0 {
		if b.outer == nil || !b.outer.isStep {
			return nil, errorAt(f.At, "not supported: WITH RECURSIVE %s read by a subquery of its step "+correlated, f.Of.Name)
		}
		b.hide(r, of.hidden)
	}
	r.qualify(0, []string{f.Alias.Name})
	return r, r.rename(f.Alias, f.At)
}
