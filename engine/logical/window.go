package logical

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// Window adds columns to rows: functions of the rows of the same partition, in an order.
type Window struct {
	In        Node
	Partition []expr.ID // columns of In
	Order     []Key     // columns of In
	Calls     []WindowCall
	First     int64 // how many first rows of each partition are wanted; 0 of all
	Ties      bool  // rows with the order of the last of these are wanted, too

	Overflow      query.Overflow
	Deterministic bool

	columns []Column
}

// WindowCall is a function over a window.
type WindowCall struct {
	Name      string          // of a function of places and values; "" of an aggregate function
	Aggregate query.Aggregate // without columns and without a name
	Args      []expr.ID       // columns of In
	Frame     expr.Window
	Offsets   [2]expr.ID // columns of In: of the bounds of the frame that have an offset
	Range     expr.ID    // a column of In: what the offsets of RANGE are compared with, which are values, not distances
	Column    Column
	text      string
}

// String returns the function as SQL.
func (c *WindowCall) String() string { return c.text }

// Columns implements Node.
func (n *Window) Columns() []Column { return n.columns }

// Inputs implements Node.
func (n *Window) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Window) With(in ...Node) Node {
	of := *n
	of.In = in[0]
	of.columns = slices.Clone(in[0].Columns())
	for _, c := range n.Calls {
		of.columns = append(of.columns, c.Column)
	}
	return &of
}

// Only returns the node with some of its calls.
func (n *Window) Only(isKept func(Column) bool) *Window {
	of := *n
	of.Calls = slices.DeleteFunc(slices.Clone(n.Calls), func(c WindowCall) bool { return !isKept(c.Column) })
	return of.With(n.In).(*Window)
}

// Reads returns the columns of its input that the node itself reads.
func (n *Window) Reads() []expr.ID {
	read := slices.Clone(n.Partition)
	for _, k := range n.Order {
		read = append(read, k.Column)
	}
	for _, c := range n.Calls {
		read = append(append(read, c.Args...), c.Offsets[0], c.Offsets[1], c.Range)
	}
	return slices.DeleteFunc(read, func(id expr.ID) bool { return id == 0 })
}

// windows adds columns to rows that stand for window functions in expressions over the rows.
type windows struct {
	b    *binder
	ctx  context.Context
	st   *statement
	node Node
	by   []*expr.Expr          // what each partition is by, too: the domain of a subquery
	made map[string]*expr.Expr // what stands for a window function, by Key
}

// exprs returns expressions with columns in place of window functions.
func (w *windows) exprs(list []*expr.Expr) ([]*expr.Expr, error) {
	var specs []string
	calls := map[string][]*expr.Expr{} // by partition and order
	seen := map[string]bool{}
	for _, x := range list {
		x.Walk(func(x *expr.Expr) bool {
			if x.Op == expr.OpWindow && !seen[x.Key()] {
				seen[x.Key()] = true
				spec := specOf(x)
				if calls[spec] == nil {
					specs = append(specs, spec)
				}
				calls[spec] = append(calls[spec], x)
			}
			return x.Op != expr.OpWindow
		})
	}
	for _, spec := range specs {
		if err := w.add(calls[spec]); err != nil {
			return nil, err
		}
	}
	replaced := make([]*expr.Expr, len(list))
	for i, x := range list {
		replaced[i] = x.Replace(func(x *expr.Expr) *expr.Expr {
			if x.Op == expr.OpWindow {
				return w.made[x.Key()]
			}
			return nil
		})
	}
	return replaced, nil
}

// specOf returns a text that two window functions share if their partitions and orders are the same.
func specOf(x *expr.Expr) string {
	w := x.Value.(expr.Window)
	text := ""
	for _, p := range x.Args[w.Args : w.Args+w.Partition] {
		text += p.Key() + ", "
	}
	for _, o := range x.OrderBy {
		text += fmt.Sprintf("order by %s %v %v", o.Expr.Key(), o.Descending, o.NullsFirst)
	}
	return text
}

// add adds the columns of functions of one partition and one order.
func (w *windows) add(calls []*expr.Expr) error {
	a := &grouping{b: w.b, st: w.st, argumentAt: map[string]int{}}
	first := calls[0].Value.(expr.Window)
	n := &Window{Overflow: w.b.opt.Overflow, Deterministic: w.b.opt.Deterministic}
	for _, x := range slices.Concat(calls[0].Args[first.Args:first.Args+first.Partition], w.by) {
		if len(x.Columns()) > 0 { // a constant makes no partitions
			n.Partition = append(n.Partition, a.argument(x))
		}
	}
	for _, o := range calls[0].OrderBy {
		n.Order = append(n.Order, Key{a.argument(o.Expr), o.Descending, o.NullsFirst})
	}
	for _, x := range calls {
		if inner := firstWindowIn(x); inner != nil {
			return errorAt(inner.At, "a window function within another: %s", inner)
		}
		c, err := w.call(a, x)
		if err != nil {
			return err
		}
		n.Calls = append(n.Calls, c)
	}
	columns := slices.Clone(w.node.Columns())
	exprs := exprsOf(columns)
	for i, c := range a.columns {
		if a.exprs[i].Op != expr.OpColumn {
			columns, exprs = append(columns, c), append(exprs, a.exprs[i])
		}
	}
	in, err := NewProject(w.ctx, w.node, columns, exprs)
	if err != nil {
		return err
	}
	n.In = in
	schema, stats, names := rowsOfNode(in)
	for i := range n.Calls {
		if err := n.typed(&n.Calls[i], schema, stats, names); err != nil {
			return errorAt(calls[i].At, "%s: %v", calls[i], err)
		}
		w.made[calls[i].Key()] = n.Calls[i].Column.Expr()
	}
	w.node = n.With(in)
	return nil
}

// firstWindowIn returns the first window function within one, or nil.
func firstWindowIn(x *expr.Expr) *expr.Expr {
	return x.First(func(inner *expr.Expr) bool { return inner != x && inner.Op == expr.OpWindow })
}

// call returns a function whose arguments are columns.
func (w *windows) call(a *grouping, x *expr.Expr) (c WindowCall, err error) {
	c = WindowCall{Frame: x.Value.(expr.Window), Column: Column{ID: w.b.ids.New(), Name: x.String()}, text: x.String()}
	args := x.Args[:c.Frame.Args]
	number := func(arg *expr.Expr) expr.ID { return a.argument(castAt(arg, expr.Type{ID: expr.Int64})) }
	switch x.Name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
		c.Name = x.Name
	case "ntile":
		c.Name, c.Args = x.Name, []expr.ID{number(args[0])}
	case "first_value", "last_value":
		c.Name, c.Args = x.Name, []expr.ID{a.argument(args[0])}
	case "nth_value":
		c.Name, c.Args = x.Name, []expr.ID{a.argument(args[0]), number(args[1])}
	case "lag", "lead":
		c.Name = x.Name
		c.Args = []expr.ID{a.argument(args[0])}
		if len(args) > 1 {
			c.Args = append(c.Args, number(args[1]))
		}
		if len(args) > 2 { // of the type of the value
			t, err := typeOfAll(w.ctx, ColumnsOf(w.node), args[0])
			if err != nil {
				return c, err
			}
			c.Args = append(c.Args, a.argument(castAt(args[2], t)))
		}
	default:
		of := &expr.Expr{Op: expr.OpAggregate, Name: x.Name, Args: args, Distinct: x.Distinct, Filter: x.Filter, At: x.At}
		call, err := a.aggregate(w.ctx, of)
		if err != nil {
			return c, err
		}
		c.Aggregate, c.Args = call.Function, call.Args
	}
	return c, w.offsets(a, x, &c)
}

// castAt casts an expression that keeps its place.
func castAt(x *expr.Expr, t expr.Type) *expr.Expr {
	cast := expr.Cast(x, t)
	cast.At = x.At
	return cast
}

// typeOfAll returns the type of the values of expressions together.
func typeOfAll(ctx context.Context, columns expr.Columns, list ...*expr.Expr) (expr.Type, error) {
	p, err := expr.BindTo(ctx, columns, expr.Call("coalesce", list...))
	if err != nil {
		return expr.Type{}, err
	}
	return p.Type(0), nil
}

// offsets makes columns of the offsets of a frame: of ROWS and GROUPS they are numbers, of RANGE the key of the order
// less the offset, or with it.
func (w *windows) offsets(a *grouping, x *expr.Expr, c *WindowCall) error {
	rest := x.Args[c.Frame.Args+c.Frame.Partition:]
	if len(rest) == 0 {
		return nil
	}
	limits := [2]*expr.Expr{}
	for i, bound := range []expr.FrameBound{c.Frame.Start, c.Frame.End} {
		if !bound.HasOffset() {
			continue
		}
		offset := rest[0]
		rest = rest[1:]
		if c.Frame.Frame != expr.FrameRange {
			c.Offsets[i] = a.argument(castAt(offset, expr.Type{ID: expr.Int64}))
			continue
		}
		if len(x.OrderBy) != 1 {
			return errorAt(offset.At, "RANGE with an offset wants one expression in ORDER BY")
		}
		sign := "+"
		if (bound == expr.OffsetPreceding) != x.OrderBy[0].Descending {
			sign = "-"
		}
		limits[i] = expr.Call(sign, x.OrderBy[0].Expr, offset)
		limits[i].At = offset.At
	}
	all := slices.DeleteFunc([]*expr.Expr{limits[0], limits[1]}, func(x *expr.Expr) bool { return x == nil })
	if len(all) == 0 {
		return nil
	}
	t, err := typeOfAll(w.ctx, ColumnsOf(w.node), append(all, x.OrderBy[0].Expr)...)
	if err != nil {
		return err
	}
	c.Range = a.argument(castAt(x.OrderBy[0].Expr, t))
	for i, limit := range limits {
		if limit != nil {
			c.Offsets[i] = a.argument(castAt(limit, t))
		}
	}
	return nil
}

// Query returns the aggregation of a call of columns that have some names.
func (n *Window) Query(c *WindowCall, names map[expr.ID]string) query.Query {
	a := c.Aggregate
	a.Name = c.Column.Name
	for _, id := range c.Args {
		a.Args = append(a.Args, names[id])
	}
	return query.Query{Overflow: n.Overflow, Deterministic: n.Deterministic, Aggregates: []query.Aggregate{a}}
}

// countStats is what is known of a number of rows: 2^50 of them are more than disks hold, and arithmetic with the
// number is then no error.
var countStats = scan.ColumnStats{HasRange: true, Max: 1 << 50}

// typed finds the type of a call's column. schema, stats and names are what rowsOfNode returns of the input.
func (n *Window) typed(
	c *WindowCall, schema *arrow.Schema, stats []scan.ColumnStats, names map[expr.ID]string,
) error {
	c.Column.Nullable = true
	switch c.Name {
	case "row_number", "rank", "dense_rank":
		c.Column.Type, c.Column.Nullable = arrow.PrimitiveTypes.Int64, false
		c.Column.Stats = countStats
		c.Column.Stats.NoNulls = true
	case "ntile":
		c.Column.Type, c.Column.Stats = arrow.PrimitiveTypes.Int64, countStats
	case "percent_rank", "cume_dist":
		c.Column.Type, c.Column.Nullable = arrow.PrimitiveTypes.Float64, false
	case "":
		bound, err := rowdata.Bind(n.Query(c, names), schema, stats)
		if err != nil {
			return err
		}
		c.Column.Type = bound.Schema.Field(0).Type
	default:
		c.Column.Type = rowdata.ValueType(n.In.Columns()[PlaceOf(n.In, c.Args[0])].Type)
	}
	return nil
}
