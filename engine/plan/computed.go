package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
)

// computed is a source with further columns, which are expressions over its own.
type computed struct {
	wider
	inputs expr.Columns // what exprs are over
	exprs  []*expr.Expr
	sums   []bool // by expression: only sums, means and counts are made of it, so any width of its type will do
}

// withColumns adds columns of the given names to the rows of a node, which has none of the names.
func withColumns(ctx context.Context, in *input, names []string, exprs []*expr.Expr, sums []bool) (sourceNode, error) {
	if len(exprs) == 0 {
		return in.node, nil
	}
	src := in.node.rows(nil)
	p, err := bindCompact(ctx, in.columns(), exprs, sums)
	if err != nil {
		return nil, err
	}
	c := &computed{wider: wider{Source: src}, inputs: in.columns(), exprs: exprs, sums: sums}
	fields := slices.Clone(src.Schema().Fields())
	known := src.Stats().Columns
	for i, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: p.Arrow(i), Nullable: true})
		c.stats = append(c.stats, p.Stats(i, known))
	}
	c.schema = arrow.NewSchema(fields, nil)
	return &computeNode{in.node, c}, nil
}

// bindCompact binds expressions to columns. The expressions of which sums is true may have narrower
// types.
func bindCompact(ctx context.Context, columns expr.Columns, exprs []*expr.Expr, sums []bool) (*expr.Program, error) {
	p, err := expr.BindTo(ctx, columns, exprs...)
	if err != nil {
		return nil, err
	}
	for i, sum := range sums {
		if sum {
			p.Compact(i)
		}
	}
	return p, nil
}

// Splits implements scan.Source.
func (c *computed) Splits(ctx context.Context, columns []int) (splits []scan.Split, err error) {
	own := c.Source.Schema().NumFields()
	plan := &computePlan{schema: columnsOf(c.schema, columns)}
	var read []int // of the source
	var exprs []*expr.Expr
	var sums []bool
	for _, column := range columns {
		if column < own {
			plan.from = append(plan.from, placeIn(&read, column))
			continue
		}
		plan.from = append(plan.from, -1-len(exprs))
		exprs, sums = append(exprs, c.exprs[column-own]), append(sums, c.sums[column-own])
	}
	if len(exprs) == 0 {
		return c.Source.Splits(ctx, columns)
	}
	if plan.program, err = bindCompact(ctx, c.inputs, exprs, sums); err != nil {
		return nil, err
	}
	for _, column := range plan.program.Columns() {
		plan.inputs = append(plan.inputs, placeIn(&read, column))
	}
	return c.splits(ctx, read, func(s scan.Split) scan.Split { return &computedSplit{s, plan} })
}

// computePlan says how batches with computed columns are made.
type computePlan struct {
	program *expr.Program
	inputs  []int         // by column that the program takes: which column of the batch that is read it is
	from    []int         // by column of the result: the column of the batch that is read, or -1-i for expression i
	schema  *arrow.Schema // of the result
}

type computedSplit struct {
	scan.Split
	plan *computePlan
}

var _ scan.PagedSplit = (*computedSplit)(nil)

// Paged implements scan.PagedSplit.
func (s *computedSplit) Paged() (*scan.Paged, error) {
	of, err := scan.PagedOf(s.Split)
	if err != nil {
		return nil, err
	}
	b, filter, columns := of.Build()
	inputs := make([]rowcode.Value, len(s.plan.inputs))
	for i, from := range s.plan.inputs {
		inputs[i] = columns[from]
	}
	made, err := s.plan.program.Code(b, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]rowcode.Value, len(s.plan.from))
	for i, from := range s.plan.from {
		if from < 0 {
			out[i] = made[-1-from]
		} else {
			out[i] = columns[from]
		}
	}
	paged := *of
	paged.Program = b.Program(filter, out)
	return &paged, nil
}

// Open implements scan.Split.
func (s *computedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	e := s.plan.program.NewEvaluator(opt.Allocator)
	r := &computedReader{ctx: ctx, split: s, from: from, evaluator: e}
	r.Init(s.plan.schema, r.next, func() {
		e.Release()
		from.Release()
	})
	return r, nil
}

// computedReader adds columns to the batches of another reader.
type computedReader struct {
	recordreader.Base
	ctx       context.Context
	split     *computedSplit
	from      array.RecordReader // owned
	evaluator *expr.Evaluator    // owned
	input     arrow.RecordBatch  // last batch of from; nil before the first batch
	begin     int                // row of input that the current batch begins with
	end       int                // row of input behind the last row of the current batch
}

func (r *computedReader) next() (out arrow.RecordBatch, err error) {
	r.begin, r.end = r.end, 0
	if r.input == nil || r.begin == int(r.input.NumRows()) {
		r.begin = 0
		if r.input, err = recordreader.Next(r.from); r.input == nil {
			return nil, err
		}
	}
	err = scan.UseBatch(r.input, func() (err error) {
		out, r.end, err = r.split.plan.run(r.ctx, r.evaluator, r.input, r.begin)
		return err
	})
	if err != nil {
		return nil, scan.Placed(r.from, r.split.Name(), err)
	}
	return out, nil
}

// Place implements scan.Placer.
func (r *computedReader) Place(i int) string {
	if p, ok := r.from.(scan.Placer); ok {
		return p.Place(r.begin + i)
	}
	return ""
}

// run makes a batch with the plan's columns of rows of in, from row from on, and returns the row
// that the next batch begins with.
func (p *computePlan) run(ctx context.Context, e *expr.Evaluator, in arrow.RecordBatch, from int) (
	out arrow.RecordBatch, to int, err error,
) {
	inputs := selected(in, p.inputs)
	defer inputs.Release()
	made, rows, err := e.Eval(ctx, inputs, from)
	if err != nil {
		return nil, 0, err
	}
	defer releaseAll(made)
	if rows < int(in.NumRows()) {
		in = in.NewSlice(int64(from), int64(from+rows))
		defer in.Release()
	}
	columns := make([]arrow.Array, len(p.from))
	for i, column := range p.from {
		if column < 0 {
			columns[i] = made[-1-column]
		} else {
			columns[i] = in.Column(column)
		}
	}
	return newBatch(p.schema, columns, int64(rows)), from + rows, nil
}

// selected returns a batch of some columns.
func selected(in arrow.RecordBatch, columns []int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		arrays[i] = in.Column(c)
		fields[i] = arrow.Field{Name: in.ColumnName(c), Type: arrays[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, in.NumRows())
}

// newBatch makes a batch whose columns may be dictionaries or views where the schema has the type
// of their values.
func newBatch(schema *arrow.Schema, columns []arrow.Array, rows int64) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(i)
		fields[i].Type = c.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
}
