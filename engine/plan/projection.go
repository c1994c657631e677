package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// projection makes the columns of a result of the rows of another reader, and leaves rows out by
// HAVING.
type projection struct {
	*computePlan
	exprs     []*expr.Expr
	source    []int         // by expression: the column of the input whose values it has; -1 of others
	condition *expr.Expr    // of having
	having    *expr.Program // nil for all rows
	columns   []int         // of the input: the columns that having reads
}

// newProjection binds expressions to columns. having may be nil. ofFiles says that rows
// may hold dictionaries and views, whose values are written out.
func newProjection(ctx context.Context, rows expr.Columns, names []string, exprs []*expr.Expr, having *expr.Expr,
	ofFiles bool,
) (*projection, error) {
	p := &projection{exprs: exprs, condition: having, computePlan: &computePlan{}}
	var err error
	if having != nil {
		if p.having, err = expr.BindCondition(ctx, rows, having); err != nil {
			return nil, err
		}
		p.columns = p.having.Columns()
	}
	var made []*expr.Expr
	fields := make([]arrow.Field, len(exprs))
	for i, x := range exprs {
		fields[i].Name = names[i]
		p.source = append(p.source, sourceOf(rows, x))
		if x.Op != expr.OpColumn || ofFiles {
			p.from = append(p.from, -1-len(made))
			made = append(made, x)
			continue
		}
		at, err := rows.Find(x)
		if err != nil {
			return nil, err
		}
		p.from = append(p.from, at)
		fields[i].Type, fields[i].Nullable = rowdata.ValueType(rows.Schema.Field(at).Type), rows.Schema.Field(at).Nullable
	}
	if p.program, err = expr.BindTo(ctx, rows, made...); err != nil {
		return nil, err
	}
	p.program.Plain()
	p.inputs = p.program.Columns()
	for i, from := range p.from {
		if from < 0 {
			fields[i].Type, fields[i].Nullable = p.program.Type(-1-from).Arrow(), true
		}
	}
	p.schema = arrow.NewSchema(fields, nil)
	for i, c := range p.source {
		if c >= 0 && !hasValues(fields[i].Type, rowdata.ValueType(rows.Schema.Field(c).Type)) {
			p.source[i] = -1
		}
	}
	return p, nil
}

// hasValues says whether a type has all values of another: it is the same, or a wider integer.
func hasValues(wide, of arrow.DataType) bool {
	if arrow.TypeEqual(wide, of) {
		return true
	}
	if !arrow.IsInteger(wide.ID()) || !arrow.IsInteger(of.ID()) {
		return false
	}
	wideBits, ofBits := wide.(arrow.FixedWidthDataType).BitWidth(), of.(arrow.FixedWidthDataType).BitWidth()
	return wideBits > ofBits && (arrow.IsSignedInteger(wide.ID()) || !arrow.IsSignedInteger(of.ID()))
}

// sourceOf returns the column that an expression is, or a cast of it; -1 where it is none.
func sourceOf(rows expr.Columns, x *expr.Expr) int {
	if x.Op == expr.OpCast {
		x = x.Args[0]
	}
	if x.Op != expr.OpColumn {
		return -1
	}
	at, err := rows.Find(x)
	if err != nil {
		return -1
	}
	return at
}

// columnsRead returns the columns that the projection reads, out of all columns of its input.
func (p *projection) columnsRead() []int {
	var list []int
	for _, c := range slices.Concat(p.from, p.inputs, p.columns) {
		if c >= 0 {
			placeIn(&list, c)
		}
	}
	return list
}

// narrowed returns the projection for batches that have only the columns that it reads.
func (p *projection) narrowed(inputs []int) *projection {
	plan := *p.computePlan
	plan.inputs = columnIndexes(inputs, p.inputs)
	plan.from = slices.Clone(p.from)
	for i, c := range plan.from {
		if c >= 0 {
			plan.from[i] = slices.Index(inputs, c)
		}
	}
	return &projection{computePlan: &plan, exprs: p.exprs, having: p.having, columns: columnIndexes(inputs, p.columns)}
}

// projector makes the batches of a projection. One goroutine at a time uses it.
type projector struct {
	p         *projection
	mem       memory.Allocator
	evaluator *expr.Evaluator
	condition *expr.Evaluator   // nil without HAVING
	input     arrow.RecordBatch // owned: the rows that HAVING leaves; nil when all of them are projected
	begin     int               // row of input with which the last batch begins
	at        int               // row of input to go on from
}

// newProjector returns a projector that takes the memory of its batches from mem.
func newProjector(p *projection, mem memory.Allocator) *projector {
	m := &projector{p: p, mem: mem, evaluator: p.program.NewEvaluator(mem)}
	if p.having != nil {
		m.condition = p.having.NewEvaluator(mem)
	}
	return m
}

// Release implements engine.RowMap.
func (m *projector) Release() {
	m.drop()
	m.evaluator.Release()
	if m.condition != nil {
		m.condition.Release()
	}
}

func (m *projector) drop() {
	if m.input != nil {
		m.input.Release()
		m.input = nil
	}
}

// Begin implements engine.RowMap.
func (m *projector) Begin(ctx context.Context, in arrow.RecordBatch) (err error) {
	m.drop()
	m.at = 0
	m.input, err = m.filter(ctx, in)
	return err
}

// Next implements engine.RowMap.
func (m *projector) Next(ctx context.Context) (out arrow.RecordBatch, err error) {
	if m.input == nil {
		return nil, nil
	}
	m.begin = m.at
	if out, m.at, err = m.p.run(ctx, m.evaluator, m.input, m.at); err != nil {
		return nil, err
	}
	if m.at == int(m.input.NumRows()) {
		m.drop()
	}
	return out, nil
}

// row implements stepMap.
func (m *projector) row() int { return m.begin }

// filter returns the rows of a batch for which HAVING is TRUE.
func (m *projector) filter(ctx context.Context, in arrow.RecordBatch) (arrow.RecordBatch, error) {
	rows := int(in.NumRows())
	if m.condition == nil {
		in.Retain()
		return in, nil
	}
	inputs := recordreader.Project(in, m.p.columns)
	defer inputs.Release()
	bits := memory.NewBufferBytes(make([]byte, (rows+7)/8))
	kept, err := m.condition.Select(ctx, 0, inputs, bits.Bytes())
	switch {
	case err != nil:
		return nil, fmt.Errorf("HAVING: %w", err)
	case kept == 0:
		return nil, nil
	case kept == rows:
		in.Retain()
		return in, nil
	}
	mask := array.NewBoolean(rows, bits, nil, 0)
	defer mask.Release()
	out, err := compute.FilterRecordBatch(compute.WithAllocator(ctx, m.mem), in, mask, compute.DefaultFilterOptions())
	if err != nil {
		return nil, fmt.Errorf("HAVING: %w", err)
	}
	return out, nil
}
