package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
)

// sortRows puts the rows in the orders that aggregates want, one sort after the other. The rows
// stay in the last order. Of each order before it, a column keeps the places of the rows in that
// order, and the aggregates with that order go by the column. The order of the input has such a
// column, too, where an aggregate goes by it.
func (g *grouping) sortRows(ctx context.Context, asked query.Query) (query.Query, error) {
	s := &sortsNode{in: g.q.in, orders: g.orders}
	asked.Aggregates = slices.Clone(asked.Aggregates)
	ofInput := func(i int) bool {
		return g.infos[i].order < 0 && !asked.Aggregates[i].Distinct && slices.Contains(ofOrder, asked.Aggregates[i].Func)
	}
	for i := range asked.Aggregates {
		if ofInput(i) && s.inputPlaces == "" {
			s.inputPlaces = g.names.unique("place in the input")
			s.places = append(s.places, s.inputPlaces)
		}
	}
	places := make([]string, len(g.orders)) // names of columns, by order; "" for the last order
	for i := range len(g.orders) - 1 {
		places[i] = g.names.unique("place in order of " + g.orders[i].String())
		s.places = append(s.places, places[i])
	}
	names := g.columnsRead(asked)
	for _, o := range g.orders {
		var by order.By
		for i, name := range o.columns {
			by.Keys = append(by.Keys, order.Key{
				Column: slices.Index(names, name), Descending: o.by[i].Descending, NullsFirst: o.by[i].NullsFirst,
			})
		}
		s.by = append(s.by, by)
	}
	if err := s.bind(ctx, names); err != nil {
		return asked, err
	}
	for i := range asked.Aggregates {
		switch {
		case ofInput(i):
			takePlaces(&asked.Aggregates[i], s.inputPlaces)
		case g.infos[i].order >= 0:
			takePlaces(&asked.Aggregates[i], places[g.infos[i].order])
		}
	}
	g.q.in = newStream(s, "rows in order")
	return asked, nil
}

// columnsRead lists the columns that a query and its orders read, each once.
func (g *grouping) columnsRead(q query.Query) (names []string) {
	use := func(list ...string) {
		for _, name := range list {
			placeIn(&names, name)
		}
	}
	for _, k := range q.Keys {
		use(k.Column)
	}
	for _, a := range q.Aggregates {
		use(a.Args...)
	}
	for _, o := range g.orders {
		use(o.columns...)
	}
	return names
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
	orders      []rowOrder
	post        *projection   // to the columns that are read
	by          []order.By    // by order
	inputPlaces string        // name of the column of places in the input; "" where there is no such column
	places      []string      // names of all columns of places, in the order in which they are made
	made        *arrow.Schema // the columns of post, then places
}

func (s *sortsNode) input() node           { return s.in }
func (s *sortsNode) schema() *arrow.Schema { return s.made }

// describe names the orders.
func (s *sortsNode) describe() string {
	texts := make([]string, len(s.orders))
	for i := range texts {
		texts[i] = s.orders[i].String()
	}
	return strings.Join(texts, ", then of ")
}

// bind makes the projection and the schema.
func (s *sortsNode) bind(ctx context.Context, names []string) (err error) {
	exprs := make([]*expr.Expr, len(names))
	for i, name := range names {
		exprs[i] = expr.Column(name)
	}
	if s.post, err = newProjection(ctx, s.in.rows(nil).Schema(), names, exprs, nil, true); err != nil {
		return err
	}
	fields := slices.Clone(s.post.schema.Fields())
	for _, name := range s.places {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
	}
	s.made = arrow.NewSchema(fields, nil)
	for _, by := range s.by {
		if err := by.Validate(s.post.schema); err != nil {
			return err
		}
	}
	return nil
}

// read implements readerNode.
func (s *sortsNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	opt := rowsOptions(s.post, r.engine)
	opt.InOrder = s.inputPlaces != ""
	rows, err := r.engine.Rows(ctx, s.in.rows(r), opt)
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
		sorted, err := r.engine.Sort(ctx, reader, by)
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
		return newBatch(schema, append(slices.Clone(in.Columns()), places), in.NumRows()), nil
	}, from.Release)
}
