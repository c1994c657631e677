package logical

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Join has the pairs of rows of two inputs whose keys are equal and for which a condition is TRUE; and, by its
// kind, rows of an input that have no partner, with NULL in place of the other's columns. Without keys and
// condition it has all pairs. A SEMI and an ANTI join have no pairs, but rows of the left input, with its columns.
type Join struct {
	Kind        sql.JoinKind
	Left, Right Node
	Keys        []JoinKey
	Nearest     *Inequality // of an ASOF join, where a row's nearest partner by it is left; else nil
	Condition   *expr.Expr  // over PairColumns, beside the keys; nil for TRUE
	columns     []Column    // of Left, then of Right
}

// JoinKey is a pair of expressions that are equal. Their types have one kind of keys. A NULL is equal to nothing, or to
// NULL.
type JoinKey struct {
	Left, Right *expr.Expr // over the columns of their side alone
	NullsEqual  bool
}

// Condition returns the key as a condition.
func (k JoinKey) Condition() *expr.Expr {
	if k.NullsEqual {
		return expr.Call("is not distinct from", k.Left, k.Right)
	}
	return expr.Call("=", k.Left, k.Right)
}

// NewJoin returns the join of two nodes by a condition, which is nil for all pairs. Equalities of an expression
// of the one side with an expression of the other become keys.
func NewJoin(ctx context.Context, kind sql.JoinKind, left, right Node, condition *expr.Expr) (*Join, error) {
	n := (&Join{Kind: kind}).With(left, right).(*Join)
	if condition == nil {
		return n, nil
	}
	if _, err := expr.BindCondition(ctx, n.Pairs(), condition); err != nil {
		return nil, err
	}
	for _, x := range expr.Conjuncts(nil, condition) {
		if key, ok := n.keyOf(ctx, x); ok {
			n.Keys = append(n.Keys, key)
		} else {
			n.Condition = expr.Conjunction(n.Condition, x)
		}
	}
	return n, nil
}

// keyOf returns the key that a condition is, if it is one.
func (n *Join) keyOf(ctx context.Context, x *expr.Expr) (key JoinKey, ok bool) {
	if x.Op != expr.OpCall || x.Name != "=" && x.Name != "is not distinct from" {
		return key, false
	}
	left, right, _, ok := n.compared(ctx, x.Args[0], x.Args[1])
	return JoinKey{left, right, x.Name != "="}, ok
}

// compared returns two expressions that are compared, cast to one type: left reads the left side alone, and right the
// right side. turned says that left is the second one. ok is false where they read other sides.
func (n *Join) compared(ctx context.Context, a, b *expr.Expr) (left, right *expr.Expr, turned, ok bool) {
	left, right = a, b
	if turned = Reads(a, n.Right) && Reads(b, n.Left); turned {
		left, right = b, a
	} else if !Reads(left, n.Left) || !Reads(right, n.Right) {
		return nil, nil, false, false
	}
	p, err := expr.BindTo(ctx, n.Pairs(), left, right, expr.Call("coalesce", left, right))
	if err != nil {
		return nil, nil, false, false // the condition has been bound: the comparison has a way of its own
	}
	ofLeft, ofRight, common := p.Type(0), p.Type(1), p.Type(2)
	if _, err := rowdata.KindOf(p.Arrow(2)); err != nil || (ofLeft.ID == expr.Text) != (ofRight.ID == expr.Text) {
		return nil, nil, false, false
	}
	left, right = castTo(left, p, 0, common), castTo(right, p, 1, common)
	if common.HoldsIntervals() {
		left, right = expr.Call(expr.EqualIntervals, left), expr.Call(expr.EqualIntervals, right)
	}
	return left, right, turned, true
}

// castTo casts expression i of a program to a type, unless it is a column that has it.
func castTo(x *expr.Expr, p *expr.Program, i int, t expr.Type) *expr.Expr {
	if arrow.TypeEqual(p.Arrow(i), p.Arrow(2)) {
		return x
	}
	return castAt(x, t)
}

// Reads says whether an expression reads columns of a node, and no others.
func Reads(x *expr.Expr, n Node) bool {
	some, only := false, true
	x.IDs(func(id expr.ID) {
		some = true
		only = only && PlaceOf(n, id) >= 0
	})
	return some && only
}

// Columns implements Node.
func (n *Join) Columns() []Column {
	if n.IsOneSided() {
		return n.columns[:len(n.Left.Columns())]
	}
	return n.columns
}

// IsOneSided says whether the join has the columns of its left side alone.
func (n *Join) IsOneSided() bool { return n.Kind == sql.SemiJoin || n.Kind == sql.AntiJoin }

// PairColumns returns the columns of both sides.
func (n *Join) PairColumns() []Column { return n.columns }

// PairStats returns what is known of the columns of both sides.
func (n *Join) PairStats() []scan.ColumnStats { return statsOfColumns(n.columns) }

// Pairs returns the columns of both sides, to bind expressions to.
func (n *Join) Pairs() expr.Columns { return columnsOf(n.columns) }

// Inputs implements Node.
func (n *Join) Inputs() []Node { return []Node{n.Left, n.Right} }

// With implements Node.
func (n *Join) With(in ...Node) Node {
	of := *n
	of.Left, of.Right = in[0], in[1]
	of.columns = slices.Concat(
		joined(of.Left, n.Kind.KeepsRight()),
		joined(of.Right, n.Kind == sql.LeftJoin || n.Kind == sql.FullJoin))
	return &of
}

// joined returns the columns of a side of a join, which are NULL in some rows where the other side's rows may have
// no partner.
func joined(n Node, nullable bool) []Column {
	columns := slices.Clone(n.Columns())
	for i := range columns {
		c := &columns[i]
		c.Type = rowdata.ValueType(c.Type)
		c.Nullable = c.Nullable || nullable
		c.Stats.NoNulls = c.Stats.NoNulls && !nullable
		c.Stats.Tight, c.Stats.Repeats, c.Stats.Numbered, c.Stats.StringBytes = false, false, false, 0
	}
	return columns
}

// join binds a join: its scope has the columns of both sides. A column of USING is there once for * and for
// names without a table's, and on both sides behind the names of their tables.
func (b *binder) join(ctx context.Context, s *sql.Select, f *sql.Join) (*scope, error) {
	left, err := b.from(ctx, s, f.Left)
	if err != nil {
		return nil, err
	}
	if b.outer != nil && b.outer.early {
		if f.Kind.KeepsRight() {
			return nil, errorAt(f.At, "not supported: a %s JOIN whose ON or sides read them "+correlated, f.Kind)
		}
		if err := b.joinDomain(ctx, left); err != nil {
			return nil, err
		}
	}
	right, domain, err := b.rightSide(ctx, s, f, left)
	if err != nil {
		return nil, err
	}
	if err := checkTableNames(left, right, f.At); err != nil {
		return nil, err
	}
	first := len(left.columns)
	both := &scope{columns: slices.Concat(left.columns, right.columns)}
	both.schema = arrow.NewSchema(slices.Concat(left.schema.Fields(), right.schema.Fields()), nil)
	both.tables = slices.Clone(left.tables)
	for _, t := range right.tables {
		t.from += first
		both.tables = append(both.tables, t)
	}
	both.hidden = slices.Clone(left.hidden)
	for _, c := range right.hidden {
		both.hidden = append(both.hidden, first+c)
	}
	both.places = maps.Clone(left.places)
	for c, at := range right.places {
		if both.places == nil {
			both.places = map[int]int{}
		}
		both.places[first+c] = first + at
	}
	using := f.Using
	if f.Natural {
		if using = common(left.inStar, right.inStar); len(using) == 0 {
			return nil, errorAt(f.At, "NATURAL JOIN: no column of both sides has the same name")
		}
	}
	var on *expr.Expr
	shared := make(map[int]int, len(using)) // columns of the left side that stand for columns of the right one
	hidden := make(map[int]bool, len(using))
	for i, name := range using {
		x := expr.Column(name)
		x.At = f.At
		l, err := left.find(x)
		if err != nil {
			return nil, err
		}
		r, err := right.find(x)
		if err != nil {
			return nil, err
		}
		shared[l], hidden[r] = r, true
		sign := "="
		if f.Asof && i == len(using)-1 {
			sign = ">="
		}
		on = expr.Conjunction(on, expr.Call(sign, left.columns[l].Expr(), right.columns[r].Expr()))
	}
	visible := slices.Clone(left.starred)
	for _, c := range right.starred {
		visible = append(visible, first+c)
	}
	both.setStarred(visible)
	if f.On != nil {
		both.node = (&Join{Kind: sql.InnerJoin}).With(left.node, right.node)
		if on, err = b.on(ctx, both, b.parameters.moments(f.On)); err != nil {
			return nil, err
		}
	}
	of := &joinCondition{of: f, sides: [2]*attacher{
		b.attach(ctx, both, left.node), b.attach(ctx, both, right.node),
	}}
	if err := of.divide(on); err != nil {
		return nil, err
	}
	n, err := NewJoin(ctx, f.Kind, of.sides[0].node, of.sides[1].node, expr.Conjunction(domain, of.plain))
	if err != nil {
		return nil, err
	}
	if f.Asof {
		if err := n.takeNearest(ctx, f.At); err != nil {
			return nil, err
		}
	}
	if n.IsOneSided() {
		left.take(n)
		return left, nil
	}
	both.take(n)
	if of.pairs != nil {
		if both.node, err = b.filtered(ctx, both, n, of.pairs); err != nil {
			return nil, err
		}
	}
	var starred []int
	for _, l := range left.starred {
		if r, ok := shared[l]; ok && f.Kind != sql.InnerJoin && f.Kind != sql.LeftJoin {
			if l, err = both.merged(ctx, b, f.Kind, l, first+r); err != nil {
				return nil, err
			}
		}
		starred = append(starred, l)
	}
	for _, r := range right.starred {
		if !hidden[r] {
			starred = append(starred, first+r)
		}
	}
	both.setStarred(starred)
	return both, nil
}

// on looks up the names of a condition of a join.
func (b *binder) on(ctx context.Context, both *scope, condition *expr.Expr) (*expr.Expr, error) {
	both.outer = b.outer
	var failed error
	if condition = condition.Replace(b.correlating(ctx, both, &failed)); failed != nil {
		return nil, failed
	}
	on, err := both.resolve(condition, nil, nil)
	if err != nil {
		return nil, err
	}
	if b.outer != nil && len(b.outer.reads) > 0 && b.outer.domain == nil { // what stands behind FROM is bound first
		b.outer.early = true
	}
	if a := firstAggregate(on); a != nil {
		return nil, errorAt(a.At, "%s: an aggregate function cannot stand in ON", a)
	}
	if w := on.FirstWindow(); w != nil {
		return nil, errorAt(w.At, "%s: a window function cannot stand in ON", w)
	}
	return on, nil
}

// take gives the columns of the scope the types that they have in a join, under the names that they have here.
func (r *scope) take(n Node) {
	r.node = n
	fields := slices.Clone(r.schema.Fields())
	places := PlacesOf(n.Columns())
	for i := range r.columns {
		c := n.Columns()[places[r.columns[i].ID]]
		c.Name = r.columns[i].Name
		r.columns[i] = c
		fields[i].Type, fields[i].Nullable = c.Type, c.Nullable
	}
	r.schema = arrow.NewSchema(fields, nil)
}

// merged adds a column of USING with the values of the side which has a row, and returns the column's place.
func (r *scope) merged(ctx context.Context, b *binder, kind sql.JoinKind, left, right int) (int, error) {
	if kind == sql.RightJoin {
		return right, nil
	}
	columns := slices.Clone(r.node.Columns())
	exprs := exprsOf(columns)
	made := Column{ID: b.ids.New(), Name: r.columns[left].Name}
	exprs = append(exprs, expr.Call("coalesce", r.columns[left].Expr(), r.columns[right].Expr()))
	n, err := NewProject(ctx, r.node, append(columns, made), exprs)
	if err != nil {
		return 0, err
	}
	made = n.Columns()[len(columns)]
	r.node, r.columns = n, append(r.columns, made)
	field := arrow.Field{Name: made.Name, Type: made.Type, Nullable: true}
	r.schema = arrow.NewSchema(append(slices.Clone(r.schema.Fields()), field), nil)
	return len(r.columns) - 1, nil
}

// checkTableNames refuses two tables of one name.
func checkTableNames(left, right *scope, at int) error {
	for _, l := range left.tables {
		for _, r := range right.tables {
			if len(l.names) == 0 || len(r.names) == 0 || l.implied || r.implied {
				continue
			}
			if name := l.names[0]; slices.EqualFunc(name, r.names[0], strings.EqualFold) {
				return errorAt(at, sameName, name[0], name[0])
			}
		}
	}
	return nil
}

// common returns the names that columns of both schemas have, in the order of the first.
func common(left, right *arrow.Schema) (names []string) {
	taken := NamesOf(right)
	for _, f := range left.Fields() {
		if taken[strings.ToLower(f.Name)] {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkAmbiguous refuses a name that columns of several tables have, or, where none has it, hidden ones.
func (r *scope) checkAmbiguous(e *expr.Expr) error {
	var of []string
	for _, columns := range [][]int{r.starred, r.hidden} {
		for _, i := range columns {
			if strings.EqualFold(r.schema.Field(i).Name, e.Name) {
				of = append(of, r.qualified(i))
			}
		}
		if len(of) > 0 {
			break
		}
	}
	if len(of) < 2 {
		return nil
	}
	return errorAt(e.At, "column %q is ambiguous: %s have it", e.Name, strings.Join(of, " and "))
}

// qualified returns the name of a column behind the name of its table.
func (r *scope) qualified(i int) string {
	for _, t := range r.tables {
		if at := i - t.from; at >= 0 && at < t.schema.NumFields() && len(t.names) > 0 {
			return fmt.Sprintf("%s.%s", t.names[0][0], r.schema.Field(i).Name)
		}
	}
	return r.schema.Field(i).Name
}
