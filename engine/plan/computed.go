package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
)

// computed is the step of further columns, which are expressions over the columns of the rows.
type computed struct {
	schema *arrow.Schema // of all columns
	inputs expr.Columns  // what exprs are over
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
	made := &stepped{Source: src, times: 1}
	fields := slices.Clone(src.Schema().Fields())
	known := src.Stats().Columns
	for i, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: p.Arrow(i), Nullable: true})
		made.stats = append(made.stats, p.Stats(i, known))
	}
	made.schema = arrow.NewSchema(fields, nil)
	columns := in.columns()
	columns.Zone = expr.ZoneOf(ctx) // whatever context a run's reader has
	of := &computed{made.schema, columns, exprs, sums}
	made.step = of
	return &computeNode{stepNode{in.node, made}, of}, nil
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

// plan implements step.
func (c *computed) plan(ctx context.Context, columns []int) (read []int, made *stepPlan, err error) {
	own := c.inputs.Schema.NumFields()
	plan := &computePlan{schema: recordreader.Columns(c.schema, columns)}
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
		return nil, nil, nil
	}
	if plan.program, err = bindCompact(ctx, c.inputs, exprs, sums); err != nil {
		return nil, nil, err
	}
	for _, column := range plan.program.Columns() {
		plan.inputs = append(plan.inputs, placeIn(&read, column))
	}
	newMap := func(mem memory.Allocator) stepMap { return newProjector(&projection{computePlan: plan}, mem) }
	return read, &stepPlan{plan.schema, newMap, plan.code}, nil
}

// computePlan says how batches with computed columns are made.
type computePlan struct {
	program *expr.Program
	inputs  []int         // by column that the program takes: which column of the batch that is read it is
	from    []int         // by column of the result: the column of the batch that is read, or -1-i for expression i
	schema  *arrow.Schema // of the result
}

// code makes the columns on a device.
func (p *computePlan) code(b *rowcode.Builder, read []rowcode.Value) ([]rowcode.Value, error) {
	inputs := make([]rowcode.Value, len(p.inputs))
	for i, from := range p.inputs {
		inputs[i] = read[from]
	}
	made, err := p.program.Code(b, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]rowcode.Value, len(p.from))
	for i, from := range p.from {
		if from < 0 {
			out[i] = made[-1-from]
		} else {
			out[i] = read[from]
		}
	}
	return out, nil
}

// run makes a batch with the plan's columns of rows of in, from row from on, and returns the row
// that the next batch begins with.
func (p *computePlan) run(ctx context.Context, e *expr.Evaluator, in arrow.RecordBatch, from int) (
	out arrow.RecordBatch, to int, err error,
) {
	inputs := recordreader.Project(in, p.inputs)
	defer inputs.Release()
	made, rows, err := e.Eval(ctx, inputs, from)
	if err != nil {
		return nil, 0, err
	}
	defer recordreader.ReleaseAll(made)
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
	return recordreader.Batch(p.schema, columns, int64(rows)), from + rows, nil
}
