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
	Had          *Working     // the rows of all iterations before; nil where the step does not read them
	columns      []Column
}

// Working is rows that a run of a Recursion keeps, which an Iteration reads. It is told apart by its address.
type Working struct{ Name string }

// Fresh is a statement of its own: the rows of an iteration that no iteration before it has had.
type Fresh struct {
	Root      Node     // EXCEPT of the following two
	Made, Had *Working // the rows of the iteration; the rows of all iterations before
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
	had     *Working // nil where the step has not read it
	columns []Column // of the anchor
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
	of := &recursing{before: n.Before, columns: n.columns, hidden: hidden}
	if known := b.recursions[f]; known != nil { // what it shares was bound with it
		n.Before, of.before, of.had = known.before, known.before, known.had
	}
	b.recursions[f] = of
	step, err := b.step(ctx, f, hidden)
	if err != nil {
		return nil, 0, err
	}
	if len(step.columns) != len(n.columns) {
		const text = "WITH RECURSIVE %s: the first statement has %s, and the one that reads %[1]s %[3]d"
		return nil, 0, errorAt(f.At, text, f.Name, counted(len(n.columns)-hidden), len(step.columns)-hidden)
	}
	if n.Step, err = b.castTo(ctx, f, step.node, n.columns); err != nil {
		return nil, 0, err
	}
	for _, c := range n.Step.Columns() {
		n.Of[1] = append(n.Of[1], c.ID)
	}
	if n.Had = of.had; f.Key != nil {
		r, err := b.keyed(ctx, s, f, scopeOf(n), hidden)
		return r, hidden, err
	}
	if !f.All {
		if n.Fresh, err = b.fresh(ctx, s, f, n.columns); err != nil {
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

// fresh binds which rows of an iteration are new.
func (b *binder) fresh(ctx context.Context, s *sql.Select, f *sql.Recursion, columns []Column) (*Fresh, error) {
	n := &Fresh{Made: &Working{f.Name + ", made"}, Had: &Working{f.Name + ", before"}}
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

// keyed leaves one row for each value of the columns of USING KEY, and of the last columns, which are a domain.
func (b *binder) keyed(ctx context.Context, s *sql.Select, f *sql.Recursion, r *scope, hidden int) (*scope, error) {
	r.qualify(0, []string{f.Name})
	if err := r.rename(sql.Alias{Name: f.Name, Columns: f.Columns}, f.At); err != nil {
		return nil, err
	}
	own := len(r.columns) - hidden
	values := make([]*expr.Expr, own) // by column: an aggregate; nil of none
	isKey := make([]bool, own)
	for _, it := range f.Key {
		if it.Expr == nil {
			return nil, errorAt(it.At, "USING KEY: * is no column")
		}
		name := it.Expr
		if it.Expr.Op == expr.OpAggregate && len(it.Expr.Args) > 0 {
			name = it.Expr.Args[0]
		}
		if it.Name != "" {
			name = &expr.Expr{Op: expr.OpColumn, Name: it.Name, At: it.At}
		}
		isCall := it.Expr.Op == expr.OpAggregate
		if name.Op != expr.OpColumn || !isCall && (it.Expr.Op != expr.OpColumn || it.Name != "") {
			const want = "USING KEY (%s): want columns, and aggregates of others, as in USING KEY (a, max(b), count(*) AS n)"
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
			isKey[c] = true
		}
	}
	if !slices.Contains(isKey, true) {
		return nil, errorAt(f.At, "USING KEY wants one column at least that is no aggregate")
	}
	groups := &sql.Select{Text: s.Text}
	for i, c := range r.columns {
		value := c.Expr()
		switch {
		case i >= own || isKey[i]:
			groups.GroupBy = append(groups.GroupBy, sql.GroupElement{Expr: value, At: f.At})
		case values[i] != nil:
			value = values[i]
		default:
			value = &expr.Expr{Op: expr.OpAggregate, Name: query.Last.String(), Args: []*expr.Expr{value}, At: f.At}
		}
		groups.Items = append(groups.Items, sql.Item{Expr: value, Name: c.Name})
	}
	n, err := b.over(ctx, groups, r)
	if err != nil {
		return nil, err
	}
	return scopeOf(n), nil
}

// iteration binds a place that reads the iteration before, or all of them.
func (b *binder) iteration(ctx context.Context, s *sql.Select, f *sql.Iteration) (*scope, error) {
	of := b.recursions[f.Of]
	r := scopeOf(newIteration(&b.ids, of.before, of.columns))
	if f.Whole {
		if of.had == nil {
			of.had = &Working{f.Of.Name + ", before"}
		}
		var err error
		if r, err = b.keyed(ctx, s, f.Of, scopeOf(newIteration(&b.ids, of.had, of.columns)), of.hidden); err != nil {
			return nil, err
		}
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
