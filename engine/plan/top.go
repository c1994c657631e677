package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
)

// topNode has the first rows of a statement without groups in an order. Rows are read with
// the columns of WHERE and of the order. A row that comes behind as many rows as are wanted is left
// out where it is read, as a row that fails WHERE is; the sort tells which rows those are. The other
// columns are read in the end, of the rows of the result, by their positions; where a source does
// not find rows by positions, of the rows that are not left out.
type topNode struct {
	in     sourceNode    // the rows, without a condition
	test   *condition    // WHERE and the order; a run asks a copy, which knows its bound
	tested scan.Filtered // in filtered by test; of no run
	by     order.By      // over the columns of head
	text   string        // names the order
	all    *projection   // to the columns of the result

	head     *projection // what is made while all rows are read; where late is not nil, the positions behind it
	late     *projection // what is made of the rows of the result; nil where nothing is
	position string      // name of the column of positions; "" where late is nil
	result   *arrow.Schema
	from     []int // by column of the result: the column of head, or -1-i for column i of late
}

func (t *topNode) input() node           { return t.in }
func (t *topNode) schema() *arrow.Schema { return t.result }

// first makes the first rows of an order.
func (p *planner) first(n *logical.First) (readerNode, error) {
	rows, filter := n.In.In, (*logical.Filter)(nil)
	if f, ok := rows.(*logical.Filter); ok {
		rows, filter = f.In, f
	}
	in, err := p.source(rows, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(n.Columns()))
	for i, c := range n.Columns() {
		names[i] = c.Name
	}
	t := &topNode{in: in.node, by: orderBy(logical.PlacesOf(n.Columns()), n.Keys, &n.Limit)}
	if t.all, err = newProjection(p.ctx, in.columns(), names, n.In.Exprs, nil, true); err != nil {
		return nil, err
	}
	t.result, t.text = t.all.schema, describeOrder(t.by, &rowsNode{post: t.all})
	by, err := p.topOrder(in, n, t.result)
	if err != nil {
		return nil, err
	}
	src := in.node.rows(nil)
	if filter != nil {
		of, err := p.filtered(in, filter)
		if err != nil {
			return nil, err
		}
		t.test = of.condition.ordered(by)
		t.tested = scan.Refilter(of.described, src, t.test)
	} else {
		t.test = &condition{columns: in.columns(), order: by, mem: p.engine.Allocator()}
		if t.tested, err = scan.Filter(p.ctx, src, scan.Predicate{Rows: t.test}); err != nil {
			return nil, err
		}
	}
	return t, t.divide(p.ctx, in, n, names)
}

// topOrder returns the order of the result over the columns of its rows. The sort, whose bound it knows, orders values
// of the types of the result: a column that has others, as nanoseconds of a zone, is computed.
func (p *planner) topOrder(in *input, n *logical.First, result *arrow.Schema) (o *topOrder, err error) {
	o = &topOrder{}
	places, read := logical.PlacesOf(n.Columns()), in.columns().Schema
	var made []*expr.Expr
	for _, k := range n.Keys {
		x := n.In.Exprs[places[k.Column]]
		if x.Op != expr.OpColumn || !order.SameWords(read.Field(in.places[x.ID]).Type, result.Field(places[k.Column]).Type) {
			o.columns = append(o.columns, -1-len(made))
			made = append(made, x)
			continue
		}
		o.columns = append(o.columns, in.places[x.ID])
	}
	if o.none, err = expr.BindTo(p.ctx, in.columns()); err != nil {
		return nil, err
	}
	o.exprs, err = expr.BindTo(p.ctx, in.columns(), made...)
	return o, err
}

// divide says which columns of the result are made while all rows are read.
func (t *topNode) divide(ctx context.Context, in *input, n *logical.First, resultNames []string) (err error) {
	columns := in.columns()
	var positioned scan.Source
	finds, position := false, ""
	if n.Late {
		position = logical.NamesOf(columns.Schema).Unique("position")
		positioned, finds = scan.WithPositions(t.tested, position)
	}
	tested := t.test.Columns()
	var names, lateNames []string
	var head, late []*expr.Expr
	for i, x := range n.In.Exprs {
		read, err := expr.BindTo(ctx, columns, x)
		if err != nil {
			return err
		}
		untested := slices.ContainsFunc(read.Columns(), func(c int) bool { return !slices.Contains(tested, c) })
		if finds && untested {
			t.from = append(t.from, -1-len(late))
			lateNames, late = append(lateNames, resultNames[i]), append(late, x)
		} else {
			t.from = append(t.from, len(head))
			names, head = append(names, resultNames[i]), append(head, x)
		}
	}
	t.by.Keys = slices.Clone(t.by.Keys)
	for i := range t.by.Keys {
		t.by.Keys[i].Column = t.from[t.by.Keys[i].Column]
	}
	if len(late) == 0 {
		t.head, err = newProjection(ctx, columns, names, head, nil, true)
		return err
	}
	t.position = position
	at := expr.Column(position)
	names, head = append(names, position), append(head, at)
	columns.Schema = positioned.Schema()
	if t.head, err = newProjection(ctx, columns, names, head, nil, true); err != nil {
		return err
	}
	t.late, err = newProjection(ctx, columns, append(lateNames, position), append(late, at), nil, true)
	return err
}

// lateNames returns the names of the columns that are read of the rows of the result alone, out of
// some columns of the result; nil are all.
func (t *topNode) lateNames(of []int) (names []string) {
	for i, c := range t.from {
		if c < 0 && (of == nil || slices.Contains(of, i)) {
			names = append(names, t.result.Field(i).Name)
		}
	}
	return names
}

// read implements readerNode.
func (t *topNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	by := t.by
	by.Bound = order.NewBound(by.Keys)
	var src scan.Source = scan.Refilter(t.tested, t.in.rows(r), t.test.within(by.Bound, r))
	if t.late != nil {
		src, _ = scan.WithPositions(src, t.position)
	}
	rows, err := r.statement.Rows(ctx, src, rowsOptions(t.head, r))
	if err != nil {
		return nil, err
	}
	w := r.of(t)
	w.reads = append(w.reads, rows)
	defer rows.Release()
	sorted, err := r.statement.Sort(ctx, rows, by)
	if err != nil || t.late == nil {
		return sorted, err
	}
	return newLateReader(ctx, t, r, sorted), nil
}

// lateReader reads the columns of the result's rows that were not needed to find them.
type lateReader struct {
	recordreader.Base
	ctx  context.Context
	plan *topNode
	run  *run
	rows array.RecordReader // owned: the rows of the result, in order; nil once they are read
	late array.RecordReader // owned: the late columns of the same rows, in the same order; nil before rows is read

	heads []arrow.RecordBatch // owned: of rows; what has not been joined begins in the first
	begin int64               // row of the first of heads
	tail  arrow.RecordBatch   // of late, which owns it; nil where it has been joined
	from  int64               // row of tail
}

func newLateReader(ctx context.Context, plan *topNode, of *run, rows array.RecordReader) *lateReader {
	r := &lateReader{ctx: ctx, plan: plan, run: of, rows: rows}
	r.Init(plan.result, r.next, r.close)
	return r
}

func (r *lateReader) close() {
	recordreader.ReleaseAll(r.heads)
	if r.rows != nil {
		r.rows.Release()
	}
	if r.late != nil {
		r.late.Release()
	}
}

func (r *lateReader) next() (_ arrow.RecordBatch, err error) {
	if r.late == nil {
		if err := r.find(); err != nil || len(r.heads) == 0 {
			return nil, err
		}
	}
	if r.tail == nil {
		if r.tail, err = recordreader.Next(r.late); err != nil {
			return nil, err
		}
		r.from = 0
	}
	switch {
	case r.tail == nil && len(r.heads) == 0:
		return nil, nil
	case r.tail == nil || len(r.heads) == 0:
		return nil, fmt.Errorf("%w: other rows than have been read before", scan.ErrCorrupt)
	}
	return r.join(), nil
}

// find reads the rows of the result, and starts to read their late columns.
func (r *lateReader) find() error {
	var positions []uint64 // of the rows of the result
	for {
		batch, err := recordreader.Next(r.rows)
		if err != nil {
			return err
		}
		if batch == nil {
			break
		}
		batch.Retain()
		r.heads = append(r.heads, batch)
		positions = append(positions, batch.Column(int(batch.NumCols())-1).(*array.Uint64).Values()...)
	}
	r.rows.Release()
	r.rows = nil
	if len(positions) == 0 {
		return nil
	}
	var err error
	r.late, err = r.plan.readAt(r.ctx, positions, r.run)
	return err
}

// readAt returns the late columns of the rows of some positions, in the order of the list, and the
// rows' places in the list.
func (t *topNode) readAt(ctx context.Context, positions []uint64, r *run) (array.RecordReader, error) {
	places := make(map[uint64]int64, len(positions))
	for i, p := range positions {
		places[p] = int64(i)
	}
	slices.Sort(positions)
	src, _ := scan.WithPositions(scan.At(t.in.rows(r), positions), t.position)
	rows, err := r.statement.Rows(ctx, src, rowsOptions(t.late, r))
	if err != nil {
		return nil, err
	}
	w := r.of(t)
	w.reads = append(w.reads, rows)
	numbered := replaceLast(rows, places)
	defer numbered.Release()
	return r.statement.Sort(ctx, numbered, order.By{Keys: []order.Key{{Column: t.late.schema.NumFields() - 1}}})
}

// replaceLast takes over a reader whose last column are positions, and returns it with the places
// of the positions instead.
func replaceLast(from array.RecordReader, places map[uint64]int64) array.RecordReader {
	last := from.Schema().NumFields() - 1
	fields := from.Schema().Fields()
	fields[last].Type = arrow.PrimitiveTypes.Int64
	schema := arrow.NewSchema(fields, nil)
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		in, err := recordreader.Next(from)
		if in == nil {
			return nil, err
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for _, p := range in.Column(last).(*array.Uint64).Values() {
			b.Append(places[p])
		}
		column := b.NewArray()
		defer column.Release()
		return recordreader.Batch(schema, append(slices.Clone(in.Columns()[:last]), column), in.NumRows()), nil
	}, from.Release)
}

// join returns the next rows with all columns: as many as both batches have.
func (r *lateReader) join() arrow.RecordBatch {
	head := r.heads[0]
	n := min(head.NumRows()-r.begin, r.tail.NumRows()-r.from)
	columns := make([]arrow.Array, len(r.plan.from))
	defer recordreader.ReleaseAll(columns)
	for i, c := range r.plan.from {
		if c >= 0 {
			columns[i] = array.NewSlice(head.Column(c), r.begin, r.begin+n)
		} else {
			columns[i] = array.NewSlice(r.tail.Column(-1-c), r.from, r.from+n)
		}
	}
	joined := recordreader.Batch(r.plan.result, columns, n)
	if r.begin += n; r.begin == head.NumRows() {
		head.Release()
		r.heads, r.begin = r.heads[1:], 0
	}
	if r.from += n; r.from == r.tail.NumRows() {
		r.tail = nil
	}
	return joined
}
