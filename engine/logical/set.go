package logical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Union has the rows of all of its inputs, one after the other.
type Union struct {
	In      []Node
	Of      [][]expr.ID // by input and column: the column of the input that has the values
	columns []Column
}

// NewUnion returns the rows of nodes. of says for each node which of its columns are the columns of the rows, which
// have the given names; the types of these columns are equal.
func NewUnion(ids *IDs, in []Node, of [][]int, names []string) *Union {
	n := &Union{In: in}
	for i, places := range of {
		columns := make([]expr.ID, len(places))
		for c, at := range places {
			columns[c] = in[i].Columns()[at].ID
		}
		n.Of = append(n.Of, columns)
	}
	for c, name := range names {
		made := Column{ID: ids.New(), Name: name}
		for i, places := range of {
			from := in[i].Columns()[places[c]]
			if i == 0 {
				made.Type, made.Nullable, made.Stats = rowdata.ValueType(from.Type), from.Nullable, from.Stats
				continue
			}
			made.Nullable = made.Nullable || from.Nullable
			made.Stats = statsOfBoth(made.Stats, from.Stats)
		}
		made.Stats.Tight, made.Stats.Numbered = false, false
		n.columns = append(n.columns, made)
	}
	return n
}

// statsOfBoth returns what is known of the values of two columns together.
func statsOfBoth(a, b scan.ColumnStats) scan.ColumnStats {
	return scan.ColumnStats{
		NoNulls:  a.NoNulls && b.NoNulls,
		HasRange: a.HasRange && b.HasRange, Min: min(a.Min, b.Min), Max: max(a.Max, b.Max),
		Repeats: a.Repeats && b.Repeats, StringBytes: a.StringBytes + b.StringBytes,
	}
}

// Columns implements Node.
func (n *Union) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Union) Inputs() []Node { return n.In }

// With implements Node.
func (n *Union) With(in ...Node) Node { return &Union{in, n.Of, n.columns} }

// Only returns the rows with some of their columns.
func (n *Union) Only(isKept func(Column) bool) *Union {
	of := &Union{In: n.In, Of: make([][]expr.ID, len(n.In))}
	for c, column := range n.columns {
		if !isKept(column) {
			continue
		}
		of.columns = append(of.columns, column)
		for i := range of.Of {
			of.Of[i] = append(of.Of[i], n.Of[i][c])
		}
	}
	return of
}

// Repeat has each row of its input as often as one of its columns says, which is a BIGINT above 0.
type Repeat struct {
	In    Node
	Times expr.ID
}

// Columns implements Node.
func (n *Repeat) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *Repeat) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Repeat) With(in ...Node) Node { return &Repeat{in[0], n.Times} }

// setOperation binds UNION, INTERSECT or EXCEPT. Rows that several statements have are found as groups of the rows of
// all statements, each with the number of its statement.
// hidden is how many of the last columns are a domain.
func (b *binder) setOperation(
	ctx context.Context, s *sql.Select, f *sql.SetOperation,
) (made *scope, hidden int, err error) {
	m := &united{b: b, ctx: ctx, of: f}
	for _, q := range f.Queries {
		r, hidden, err := b.part(ctx, f, q)
		if err != nil {
			return nil, 0, err
		}
		m.in, m.hidden, m.written = append(m.in, r), hidden, append(m.written, itemNames(q))
	}
	made, err = b.united(ctx, s, m)
	return made, m.hidden, err
}

// united puts the rows of statements together.
func (b *binder) united(ctx context.Context, s *sql.Select, m *united) (*scope, error) {
	f := m.of
	if err := m.match(); err != nil {
		return nil, err
	}
	if err := m.unify(); err != nil {
		return nil, err
	}
	nodes, places, names := make([]Node, len(m.in)), make([][]int, len(m.in)), m.names
	if f.Kind != sql.Union {
		names = append(names, "number of the statement")
	}
	for i := range m.in {
		var err error
		if nodes[i], places[i], err = m.input(i); err != nil {
			return nil, err
		}
	}
	n := NewUnion(&b.ids, nodes, places, names)
	r := scopeOf(n)
	if f.Kind != sql.Union {
		var err error
		if r, err = b.common(ctx, s, f, n); err != nil {
			return nil, err
		}
	}
	r.others = m.others()
	return r, nil
}

// others returns further names of columns: the names in the statements, in statements within them, and names behind a
// table's. A name of two columns is none.
func (m *united) others() map[string]int {
	names := map[string]int{}
	note := func(name string, c int) {
		if at, ok := names[name]; ok && at != c {
			c = -1
		}
		names[name] = c
	}
	for i, r := range m.in {
		for c, at := range m.places[i] {
			if at < 0 {
				continue
			}
			if note(strings.ToLower(r.columns[at].Name), c); i < len(m.written) && at < len(m.written[i]) {
				for _, name := range m.written[i][at] {
					note(name, c)
				}
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, c int) bool { return c < 0 })
	return names
}

// itemNames returns the names that the columns of a statement have, in lower case: of its items, and behind the
// name of its only table; of a set operation by places the names of all its statements. nil where a * has columns.
func itemNames(q *sql.Select) (names [][]string) {
	set, isSet := q.From.(*sql.SetOperation)
	t, isTable := q.From.(*sql.Table)
	for _, it := range q.Items {
		var list []string
		switch {
		case it.Expr == nil && isSet && !set.ByName && len(q.Items) == 1:
			for _, of := range set.Queries {
				for i, more := range itemNames(of) {
					if i == len(names) {
						names = append(names, nil)
					}
					names[i] = append(names[i], more...)
				}
			}
			return names
		case it.Expr == nil:
			return nil
		case it.Name != "":
			list = append(list, strings.ToLower(it.Name))
		}
		if it.Expr.Op == expr.OpColumn {
			list = append(list, strings.ToLower(it.Expr.Name))
			if isTable && it.Expr.Path == nil {
				list = append(list, strings.ToLower(cmp.Or(t.Alias.Name, t.Name)+"."+it.Expr.Name))
			}
		}
		names = append(names, list)
	}
	return names
}

// common binds what INTERSECT and EXCEPT have of the rows of two statements, whose number, 1 or 2, is the last column.
func (b *binder) common(ctx context.Context, s *sql.Select, f *sql.SetOperation, rows *Union) (*scope, error) {
	columns, of := rows.Columns(), rows.Columns()[len(rows.columns)-1].Expr()
	columns = columns[:len(columns)-1]
	call := func(name string, args ...*expr.Expr) *expr.Expr {
		return &expr.Expr{Op: expr.OpAggregate, Name: name, Args: args, At: f.At}
	}
	number := func(n int64) *expr.Expr { return expr.Constant(n) }
	groups := &sql.Select{Text: s.Text}
	for _, c := range columns {
		groups.Items = append(groups.Items, sql.Item{Expr: c.Expr(), Name: c.Name})
		groups.GroupBy = append(groups.GroupBy, sql.GroupElement{Expr: c.Expr(), At: f.At})
	}
	if !f.All {
		statements := int64(1 | 2) // that have the row, each a bit
		if f.Kind == sql.Except {
			statements = 1
		}
		groups.Having = expr.Call("=", call("bit_or", of), number(statements))
		n, err := b.over(ctx, groups, scopeOf(rows))
		if err != nil {
			return nil, err
		}
		return scopeOf(n), nil
	}
	rowsOfBoth := call("count_star")
	ofSecond := expr.Call("-", expr.Cast(call("sum", of), expr.Type{ID: expr.Int64}), rowsOfBoth)
	ofFirst := expr.Call("-", rowsOfBoth, ofSecond)
	times := expr.Call("least", ofFirst, ofSecond)
	if f.Kind == sql.Except {
		times = expr.Call("-", ofFirst, ofSecond)
	}
	groups.Items = append(groups.Items, sql.Item{Expr: times, Name: "times"})
	groups.Having = expr.Call(">", times, number(0))
	n, err := b.over(ctx, groups, scopeOf(rows))
	if err != nil {
		return nil, err
	}
	made := n.Columns()
	repeated := &Repeat{n, made[len(columns)].ID}
	if n, err = b.first(ctx, repeated, slices.Clone(made[:len(columns)])); err != nil {
		return nil, err
	}
	return scopeOf(n), nil
}

// united is the columns of the statements of a set operation while they are put together.
type united struct {
	b   *binder
	ctx context.Context
	of  *sql.SetOperation
	in  []*scope

	written [][][]string // by statement and column: further names, in lower case; nil of a statement with a *

	hidden int // of the last columns of each statement: a domain
	names  []string
	places [][]int      // by statement and column: the column of the statement, or -1 for NULL
	types  []commonType // by column
}

// commonType is the type of a column of several statements.
type commonType struct {
	arrow  arrow.DataType
	expr   expr.Type
	isCast bool // columns of other types are cast
}

// match finds the columns that belong together, by their places or by their names.
func (m *united) match() error {
	first := m.in[0].columns
	if !m.of.ByName {
		for i, r := range m.in {
			if len(r.columns) != len(first) {
				return errorAt(m.of.At, "%s: the first statement has %s, and another one %d", m.of.Kind,
					counted(len(first)-m.hidden), len(r.columns)-m.hidden)
			}
			m.places = append(m.places, numbersTo(0, len(first)))
			if i == 0 {
				for _, c := range first {
					m.names = append(m.names, c.Name)
				}
			}
		}
		return nil
	}
	at := map[string]int{}
	for _, r := range m.in {
		for _, c := range r.columns[:len(r.columns)-m.hidden] {
			key := strings.ToLower(c.Name)
			if _, ok := at[key]; !ok {
				at[key], m.names = len(m.names), append(m.names, c.Name)
			}
		}
	}
	visible := len(m.names)
	for _, c := range first[len(first)-m.hidden:] {
		m.names = append(m.names, c.Name)
	}
	for _, r := range m.in {
		places := slices.Repeat([]int{-1}, visible)
		for i, c := range r.columns[:len(r.columns)-m.hidden] {
			places[at[strings.ToLower(c.Name)]] = i
		}
		m.places = append(m.places, append(places, numbersTo(len(r.columns)-m.hidden, len(r.columns))...))
	}
	return nil
}

// counted returns a number of columns in words.
func counted(columns int) string {
	if columns == 1 {
		return "1 column"
	}
	return fmt.Sprintf("%d columns", columns)
}

// isNull says whether a column of a statement is the constant NULL, which suits every type.
func (m *united) isNull(statement, column int) bool {
	p, ok := m.in[statement].node.(*Project)
	if !ok {
		return false
	}
	x := p.Exprs[column]
	return x.Op == expr.OpConstant && x.Value == nil
}

// unify finds the types of the columns.
func (m *united) unify() error {
	for c, name := range m.names {
		var columns []Column // whose types differ
		var any *Column
		for i, places := range m.places {
			if places[c] < 0 {
				continue
			}
			of := m.in[i].columns[places[c]]
			of.Type = rowdata.ValueType(of.Type)
			any = &of
			differs := func(other Column) bool { return !arrow.TypeEqual(of.Type, other.Type) }
			if !m.isNull(i, places[c]) && !slices.ContainsFunc(columns, func(other Column) bool { return !differs(other) }) {
				columns = append(columns, of)
			}
		}
		t := commonType{arrow: any.Type}
		if len(columns) > 0 {
			t.arrow = columns[0].Type
		}
		of, err := expr.TypeOf(t.arrow)
		if t.expr, t.isCast = of, err == nil; t.isCast && expr.HasOtherUnit(t.arrow) {
			t.arrow = of.Arrow() // as groups of the rows have it
		}
		if len(columns) > 1 {
			if t.expr, err = m.common(columns); err != nil {
				const apart = "%s: column %q is %s in one statement and %s in another; cast one of them"
				return errorAt(m.of.At, apart, m.of.Kind, name,
					query.TypeName(columns[0].Type), query.TypeName(columns[1].Type))
			}
			t.arrow, t.isCast = t.expr.Arrow(), true
		}
		m.types = append(m.types, t)
	}
	return nil
}

// common returns the type of the values of all columns: text, if a column is text and none is a UUID.
func (m *united) common(columns []Column) (expr.Type, error) {
	for i := range columns {
		columns[i].ID = m.b.ids.New() // a statement may be read twice
	}
	text, args := expr.Type{ID: expr.Text}, exprsOf(columns)
	is := func(of expr.Type) bool {
		return slices.ContainsFunc(columns, func(c Column) bool {
			t, err := expr.TypeOf(c.Type)
			return err == nil && t == of
		})
	}
	if uuid, _ := expr.ParseType("uuid"); is(text) && !is(uuid) {
		for i := range args {
			args[i] = expr.Cast(args[i], text)
		}
	}
	return typeOfAll(m.ctx, columnsOf(columns), args...)
}

// input returns the rows of a statement with columns of the common types, behind which is the number of the statement
// where that is asked for, and the places of these columns.
func (m *united) input(i int) (Node, []int, error) {
	r := m.in[i]
	isSame := m.of.Kind == sql.Union
	var columns []Column
	var exprs []*expr.Expr
	for c, t := range m.types {
		at, made := m.places[i][c], Column{ID: m.b.ids.New(), Name: m.names[c]}
		var x *expr.Expr
		switch {
		case at >= 0 && !m.isNull(i, at) && arrow.TypeEqual(rowdata.ValueType(r.columns[at].Type), t.arrow):
			x = r.columns[at].Expr()
		case !t.isCast:
			return nil, nil, errorAt(m.of.At, "not supported: %s of NULL and column %q of type %s", m.of.Kind, m.names[c],
				query.TypeName(t.arrow))
		case at >= 0 && !m.isNull(i, at):
			x, isSame = expr.Cast(r.columns[at].Expr(), t.expr), false
		default:
			x, isSame = expr.Cast(expr.Constant(nil), t.expr), false
		}
		columns, exprs = append(columns, made), append(exprs, x)
	}
	if isSame {
		return r.node, m.places[i], nil
	}
	if m.of.Kind != sql.Union {
		columns = append(columns, Column{ID: m.b.ids.New(), Name: "number of the statement"})
		exprs = append(exprs, expr.Cast(expr.Constant(int64(i+1)), expr.Type{ID: expr.Int32}))
	}
	n, err := NewProject(m.ctx, r.node, columns, exprs)
	return n, numbersTo(0, len(columns)), err
}

// values binds VALUES: its expressions are evaluated at once.
func (b *binder) values(ctx context.Context, s *sql.Select, f *sql.Values) (*scope, error) {
	none := b.noTable()
	all := &sql.Select{Text: s.Text}
	for _, row := range f.Rows {
		for _, x := range row {
			all.Items = append(all.Items, sql.Item{Expr: x})
		}
	}
	width := len(f.Rows[0])
	columns := make([][]*expr.Expr, width)
	for i, it := range b.parameters.bind(ctx, all, none).Items {
		x, err := none.resolve(it.Expr, nil, nil)
		if err != nil {
			return nil, err
		}
		columns[i%width] = append(columns[i%width], x)
	}
	var casts []*expr.Expr
	var fields []arrow.Field
	for c, list := range columns {
		t, err := typeOfAll(ctx, ColumnsOf(none.node), list...)
		if of := (*expr.Error)(nil); errors.As(err, &of) {
			err = errorAt(of.At, "VALUES: %s", strings.TrimPrefix(of.Message, expr.Call("coalesce", list...).String()+": "))
		}
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			casts = append(casts, expr.Cast(x, t))
		}
		fields = append(fields, arrow.Field{Name: sql.ValuesColumn(c), Type: t.Arrow(), Nullable: true})
	}
	batch, err := rowsOf(ctx, arrow.NewSchema(fields, nil), casts)
	if err != nil {
		return nil, err
	}
	return b.tableScope(scan.Batches(batch.Schema(), []arrow.RecordBatch{batch}), "VALUES"), nil
}

// rowsOf returns the batch of constant expressions, column by column.
func rowsOf(ctx context.Context, schema *arrow.Schema, exprs []*expr.Expr) (arrow.RecordBatch, error) {
	none := arrow.NewSchema(nil, nil)
	p, err := expr.Bind(ctx, none, exprs...)
	if err != nil {
		return nil, err
	}
	p.Plain()
	e := p.NewEvaluator(memory.DefaultAllocator)
	defer e.Release()
	made, _, err := e.Eval(ctx, array.NewRecordBatch(none, nil, 1), 0)
	if err != nil {
		return nil, err
	}
	rows := len(made) / schema.NumFields()
	var columns []arrow.Array
	for i := range schema.NumFields() {
		column, err := array.Concatenate(made[i*rows:(i+1)*rows], memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(schema, columns, int64(rows)), nil
}
