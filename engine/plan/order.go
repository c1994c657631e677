package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
)

// ordered puts the rows in the orders that aggregates want, one sort after the other. The rows
// stay in the last order. Of each order before it, a column keeps the places of the rows in that
// order, and the aggregates with that order go by the column. The order of the input has such a
// column, too, where an aggregate goes by it.
func (p *planner) ordered(in *input, n *logical.Aggregate, q *query.Query) error {
	s := &sortsNode{in: in.node}
	all := orders(n)
	taken := logical.NamesOf(in.schema())
	ofInput := func(c logical.Call) bool {
		return c.Order == nil && !c.Function.Distinct && slices.Contains(logical.OfOrder, c.Function.Func)
	}
	if slices.ContainsFunc(n.Calls, ofInput) {
		s.inputPlaces = taken.Unique("place in the input")
		s.places = append(s.places, s.inputPlaces)
	}
	places := make([]string, len(all)) // names of columns, by order; "" for the last order
	for i, keys := range all {
		s.orders = append(s.orders, describeKeys(n.In, keys))
		if i < len(all)-1 {
			places[i] = taken.Unique("place in order of " + s.orders[i])
			s.places = append(s.places, places[i])
		}
	}
	at := map[expr.ID]int{} // of the columns that are read
	var names []string
	var exprs []*expr.Expr
	for _, c := range n.In.Columns() {
		at[c.ID] = len(names)
		names, exprs = append(names, in.name(c.ID)), append(exprs, c.Expr())
	}
	var err error
	if s.post, err = newProjection(p.ctx, in.columns(), names, exprs, nil, true); err != nil {
		return err
	}
	fields := slices.Clone(s.post.schema.Fields())
	for _, name := range s.places {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
	}
	s.made = arrow.NewSchema(fields, nil)
	for _, keys := range all {
		by := orderBy(at, keys, &logical.Limit{})
		if err := by.Validate(s.post.schema); err != nil {
			return err
		}
		s.by = append(s.by, by)
	}
	for i, c := range n.Calls {
		if ofInput(c) {
			takePlaces(&q.Aggregates[i], s.inputPlaces)
		} else if c.Order != nil {
			order := slices.IndexFunc(all, func(keys []logical.Key) bool { return slices.Equal(keys, c.Order) })
			takePlaces(&q.Aggregates[i], places[order])
		}
	}
	in.node, in.places = newStream(s, "rows in order"), at
	return nil
}

// takePlaces lets an aggregate go by the places in a column, not by the places of the rows. A
// column of no name changes nothing.
func takePlaces(a *query.Aggregate, column string) {
	if column == "" {
		return
	}
	switch a.Func {
	case query.First, query.AnyValue:
		a.Func, a.Args = query.ArgMin, []string{a.Args[0], column}
	case query.Last:
		a.Func, a.Args = query.ArgMax, []string{a.Args[0], column}
	default:
		a.By = column
	}
}

// sortsNode sorts rows, as often as there are orders. Each sort reads the result of the sort before it.
type sortsNode struct {
	in          sourceNode
	orders      []string      // for people
	post        *projection   // to the columns that are read
	by          []order.By    // by order
	inputPlaces string        // name of the column of places in the input; "" where there is no such column
	places      []string      // names of all columns of places, in the order in which they are made
	made        *arrow.Schema // the columns of post, then places
}

func (s *sortsNode) input() node           { return s.in }
func (s *sortsNode) schema() *arrow.Schema { return s.made }

// read implements readerNode.
func (s *sortsNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	opt := rowsOptions(s.post, r)
	opt.InOrder = s.inputPlaces != ""
	rows, err := r.statement.Rows(ctx, s.in.rows(r), opt)
	if err != nil {
		return nil, err
	}
	w := r.of(s)
	w.reads = append(w.reads, rows)
	var reader array.RecordReader = rows
	made := len(s.post.schema.Fields())
	number := func() {
		made++
		reader = numbered(reader, arrow.NewSchema(s.made.Fields()[:made], nil))
	}
	if s.inputPlaces != "" {
		number()
	}
	part := rows.Part
	for i, by := range s.by {
		sorted, err := r.statement.Sort(ctx, reader, by)
		reader.Release()
		if err != nil {
			return nil, fmt.Errorf("ORDER BY of an aggregate: %w", err)
		}
		sorted.Expect(part)
		part = sorted.Part
		if reader = sorted; i < len(s.by)-1 {
			number()
		}
	}
	return reader, nil
}

// numbered takes over a reader and returns it with a column more: the rows' places.
func numbered(from array.RecordReader, schema *arrow.Schema) array.RecordReader {
	next := int64(0) // place
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		in, err := recordreader.Next(from)
		if in == nil {
			return nil, err
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		b.Reserve(int(in.NumRows()))
		for range in.NumRows() {
			b.UnsafeAppend(next)
			next++
		}
		places := b.NewArray()
		defer places.Release()
		return recordreader.Batch(schema, append(slices.Clone(in.Columns()), places), in.NumRows()), nil
	}, from.Release)
}

// describe names the orders.
func (s *sortsNode) describe() string { return strings.Join(s.orders, ", then of ") }
