package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// computed is a source with further columns, which are expressions of its own.
type computed struct {
	scan.Source
	exprs  []*expr.Expr
	sums   []bool // by expression: nothing is made of it but sums and the like, to which its width is all one
	schema *arrow.Schema
	stats  []rowdata.ColumnStats // of the further columns
}

// withColumns adds columns of the given names to a source. The names are none of the source's.
func withColumns(src scan.Source, names []string, exprs []*expr.Expr, sums []bool) (scan.Source, error) {
	if len(exprs) == 0 {
		return src, nil
	}
	p, err := expr.Bind(src.Schema(), exprs...)
	if err != nil {
		return nil, err
	}
	c := &computed{Source: src, exprs: exprs, sums: sums}
	fields := slices.Clone(src.Schema().Fields())
	known := src.Stats().Columns
	for i, name := range names {
		if sums[i] {
			p.Compact(i)
		}
		fields = append(fields, arrow.Field{Name: name, Type: p.Arrow(i), Nullable: true})
		c.stats = append(c.stats, p.Stats(i, known))
	}
	c.schema = arrow.NewSchema(fields, nil)
	return c, nil
}

// Unwrap returns the source of the columns that are not computed, for what its filter leaves out.
func (c *computed) Unwrap() scan.Source { return c.Source }

// Schema implements scan.Source.
func (c *computed) Schema() *arrow.Schema { return c.schema }

// Stats implements scan.Source.
func (c *computed) Stats() scan.Stats {
	s := c.Source.Stats()
	known := s.Columns
	if known == nil {
		known = make([]rowdata.ColumnStats, c.Source.Schema().NumFields())
	}
	s.Columns = append(slices.Clone(known), c.stats...)
	return s
}

// Splits implements scan.Source.
func (c *computed) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	own := c.Source.Schema().NumFields()
	var exprs []*expr.Expr
	var sums []bool
	for _, i := range columns {
		if i >= own {
			exprs, sums = append(exprs, c.exprs[i-own]), append(sums, c.sums[i-own])
		}
	}
	if len(exprs) == 0 {
		return c.Source.Splits(ctx, columns)
	}
	program, err := expr.Bind(c.Source.Schema(), exprs...)
	if err != nil {
		return nil, err
	}
	for i := range sums {
		if sums[i] {
			program.Compact(i)
		}
	}
	plan := &computePlan{program: program}
	var read []int // of the source
	next := 0
	fields := make([]arrow.Field, len(columns))
	for i, column := range columns {
		fields[i] = c.schema.Field(column)
		if column >= own {
			plan.from = append(plan.from, -1-next)
			next++
			continue
		}
		at := slices.Index(read, column)
		if at < 0 {
			at = len(read)
			read = append(read, column)
		}
		plan.from = append(plan.from, at)
	}
	for _, column := range program.Columns() {
		if !slices.Contains(read, column) {
			read = append(read, column)
		}
	}
	plan.inputs = columnIndexes(read, program.Columns())
	plan.schema = arrow.NewSchema(fields, nil)
	splits, err := c.Source.Splits(ctx, read)
	if err != nil {
		return nil, err
	}
	for i, s := range splits {
		splits[i] = &computedSplit{Split: s, plan: plan}
	}
	return splits, nil
}

// computePlan says how batches with computed columns are made.
type computePlan struct {
	program *expr.Program
	inputs  []int // columns of the batch that is read, as the program takes them
	from    []int // column of the batch that is read, or -1 less the program's expression
	schema  *arrow.Schema
}

type computedSplit struct {
	scan.Split
	plan *computePlan
}

// Open implements scan.Split.
func (s *computedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from, err := s.Split.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	return newComputedReader(ctx, from, s, opt.Allocator), nil
}

// computedReader adds columns to the batches of another reader.
type computedReader struct {
	batches
	ctx       context.Context
	split     *computedSplit
	evaluator *expr.Evaluator
	input     arrow.RecordBatch // last batch of from; nil before the first batch
	begin     int               // row of input that batch begins with
	end       int               // row of input behind the last row of batch
}

func newComputedReader(ctx context.Context, from array.RecordReader, s *computedSplit, mem memory.Allocator) *computedReader {
	e := s.plan.program.NewEvaluator(mem)
	return &computedReader{batches: batches{schema: s.plan.schema, from: from, closed: e.Release}, ctx: ctx, split: s, evaluator: e}
}

func (r *computedReader) Next() bool {
	r.drop()
	if r.err != nil {
		return false
	}
	r.begin, r.end = r.end, 0
	if r.input == nil || r.begin == int(r.input.NumRows()) {
		r.begin, r.input = 0, nil
		if !r.from.Next() {
			return false
		}
		r.input = r.from.RecordBatch()
	}
	err := scan.UseBatch(r.input, func() (err error) {
		r.batch, r.end, err = r.split.plan.run(r.ctx, r.evaluator, r.input, r.begin)
		return err
	})
	if err != nil {
		r.err = scan.Placed(r.from, r.split.Name(), err)
	}
	return r.err == nil
}

// Place implements scan.Placer.
func (r *computedReader) Place(i int) string {
	if p, ok := r.from.(scan.Placer); ok {
		return p.Place(r.begin + i)
	}
	return ""
}

// run makes a batch with the plan's columns of the rows from one on, and says from which row on to make the next.
func (p *computePlan) run(ctx context.Context, e *expr.Evaluator, in arrow.RecordBatch, from int) (out arrow.RecordBatch, to int, err error) {
	inputs := selected(in, p.inputs)
	defer inputs.Release()
	made, rows, err := e.Eval(ctx, inputs, from)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		for _, arr := range made {
			arr.Release()
		}
	}()
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
		fields[i] = arrow.Field{Name: fmt.Sprint(i), Type: arrays[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, in.NumRows())
}

// newBatch makes a batch whose columns may be dictionaries of, or views in place of, the schema's types.
func newBatch(schema *arrow.Schema, columns []arrow.Array, rows int64) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(i)
		fields[i].Type = c.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
}
