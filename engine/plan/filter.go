package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowcode"
)

// condition is what readers ask of rows: WHERE, and whether a row may be among the first of an
// order.
type condition struct {
	where    *expr.Expr       // WHERE; nil where all rows pass
	estimate int64            // rows that are taken to pass
	program  *expr.Program    // of where
	columns  expr.Columns     // of the source
	order    *topOrder        // nil where nobody asks for an order
	mem      memory.Allocator // of new evaluators

	mu      sync.Mutex
	free    []*conditionTest // that no reader uses now; they hold on to dictionaries until release
	divided []*division
}

var (
	_ scan.DivisibleFilter = (*condition)(nil)
	_ scan.CodedFilter     = (*condition)(nil)
	_ scan.LearningFilter  = (*condition)(nil)
)

// division is a condition in two parts.
type division struct {
	late        []int      // columns that first does not need
	first, rest *condition // nil where there are no two parts
}

// topOrder is an order of rows with a limit.
type topOrder struct {
	columns []int         // by key: the column that it is, or -1-i for expression i of exprs
	exprs   *expr.Program // the keys that are not columns
	none    *expr.Program // of no expression
	bound   *order.Bound  // of the sort; nil before a run
}

// within returns the order by the first keys that are columns and none of some; nil where there is no such key.
func (o *topOrder) within(late []int) *topOrder {
	if o == nil {
		return nil
	}
	n := slices.IndexFunc(o.columns, func(c int) bool { return c < 0 || slices.Contains(late, c) })
	if n < 0 {
		n = len(o.columns)
	}
	if n == 0 || o.none == nil {
		return nil
	}
	return &topOrder{columns: o.columns[:n], exprs: o.none, none: o.none, bound: o.bound}
}

// read returns the columns that the keys need.
func (o *topOrder) read() (list []int) {
	for _, c := range slices.Concat(o.columns, o.exprs.Columns()) {
		if c >= 0 {
			placeIn(&list, c)
		}
	}
	return list
}

// conditionTest asks a condition of batches. One goroutine at a time uses it.
type conditionTest struct {
	where   *expr.Evaluator // nil without WHERE
	ofWhere []int           // columns of the batches

	order  *topOrder       // nil where nobody asks for an order
	keys   *expr.Evaluator // of order
	sieve  *order.Sieve
	ofKeys []int // columns of the batches that keys takes
	direct []int // by key: a column of the batches, or as in order
}

// Columns implements scan.RowFilter.
func (c *condition) Columns() []int {
	var list []int
	if c.program != nil {
		list = c.program.Columns()
	}
	if c.order != nil {
		for _, column := range c.order.read() {
			placeIn(&list, column)
		}
	}
	return list
}

// Select implements scan.RowFilter.
func (c *condition) Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (int, error) {
	t := c.take()
	defer c.give(t)
	return t.run(ctx, batch, selected)
}

// Code implements scan.CodedFilter.
func (c *condition) Code(b *rowcode.Builder, columns []rowcode.Value) (rowcode.Value, error) {
	if c.order != nil {
		return rowcode.None, errors.New("the first rows in an order are looked for")
	}
	return c.program.ConditionCode(b, columns)
}

// Divide implements scan.DivisibleFilter. The parts of WHERE change places, so none of them may give
// an error: it could be one of a row that another part leaves out.
func (c *condition) Divide(late []int) (first, rest scan.RowFilter, ok bool) {
	if c.program == nil && c.order == nil || c.program != nil && c.program.Fallible(nil) {
		return nil, nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(d *division) bool { return slices.Equal(d.late, late) }
	at := slices.IndexFunc(c.divided, same)
	if at < 0 {
		at = len(c.divided)
		c.divided = append(c.divided, c.divide(late))
	}
	d := c.divided[at]
	return d.first, d.rest, d.first != nil
}

// Learned implements scan.LearningFilter: no row is among the first whose first key is behind the last row's.
func (c *condition) Learned() (t scan.Term, ok bool) {
	if c.order == nil || c.order.columns[0] < 0 || c.order.bound == nil {
		return t, false
	}
	t = scan.Term{Column: c.order.columns[0], Op: scan.OpLessOrEqual}
	if c.order.bound.Descending() {
		t.Op = scan.OpGreaterOrEqual
	}
	if v := c.order.bound.First(); v != nil {
		t.Values = []scalar.Scalar{v}
	}
	return t, true
}

// divide makes a division. The first part has the first of the order's keys, as far as they are columns that are not
// late.
func (c *condition) divide(late []int) *division {
	var parts [2]*expr.Expr // that need no late columns; that do
	var conjuncts []*expr.Expr
	if c.where != nil {
		conjuncts = expr.Conjuncts(nil, c.where)
	}
	for _, x := range conjuncts {
		part := &parts[0]
		if c.needs(x, late) {
			part = &parts[1]
		}
		*part = expr.Conjunction(*part, x)
	}
	d := &division{late: slices.Clone(late)}
	early := c.order.within(late)
	if parts[0] == nil && early == nil || parts[1] == nil && c.order == nil {
		return d
	}
	first, err := newCondition(context.Background(), c.columns, parts[0], c.mem)
	if err != nil {
		return d
	}
	rest, err := newCondition(context.Background(), c.columns, parts[1], c.mem)
	if err != nil {
		return d
	}
	first.order, rest.order = early, c.order
	if early != nil && len(early.columns) == len(c.order.columns) {
		rest.order = nil
	}
	d.first, d.rest = first, rest
	return d
}

// needs says whether a part of the condition needs one of some columns.
func (c *condition) needs(part *expr.Expr, columns []int) bool {
	p, err := expr.BindCondition(context.Background(), c.columns, part)
	return err != nil || slices.ContainsFunc(p.Columns(), func(c int) bool { return slices.Contains(columns, c) })
}

// ordered returns the condition with an order.
func (c *condition) ordered(by *topOrder) *condition {
	return &condition{where: c.where, estimate: c.estimate, program: c.program, columns: c.columns, order: by, mem: c.mem}
}

// within returns the condition for a run whose sort tells the bound.
func (c *condition) within(bound *order.Bound, r *run) *condition {
	by := *c.order
	by.bound = bound
	of := c.ordered(&by)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tests = append(r.tests, of)
	return of
}

func (c *condition) take() *conditionTest {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.free) - 1
	if last < 0 {
		return c.newTest()
	}
	t := c.free[last]
	c.free = c.free[:last]
	return t
}

func (c *condition) newTest() *conditionTest {
	t, columns, mem := &conditionTest{}, c.Columns(), c.mem
	if c.program != nil {
		t.where, t.ofWhere = c.program.NewEvaluator(mem), columnIndexes(columns, c.program.Columns())
	}
	if o := c.order; o != nil {
		t.order, t.keys, t.ofKeys = o, o.exprs.NewEvaluator(mem), columnIndexes(columns, o.exprs.Columns())
		t.sieve = o.bound.NewSieve()
		t.direct = slices.Clone(o.columns)
		for i, column := range t.direct {
			if column >= 0 {
				t.direct[i] = slices.Index(columns, column)
			}
		}
	}
	return t
}

func (c *condition) give(t *conditionTest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, t)
}

// run is condition.Select.
func (t *conditionTest) run(ctx context.Context, batch arrow.RecordBatch, bits []byte) (kept int, err error) {
	if kept = int(batch.NumRows()); t.where == nil {
		bitutil.SetBitsTo(bits, 0, int64(kept), true)
	} else {
		inputs := recordreader.Project(batch, t.ofWhere)
		kept, err = t.where.Select(ctx, 0, inputs, bits)
		inputs.Release()
	}
	if err != nil || kept == 0 || t.order == nil || !t.order.bound.Known() {
		return kept, err
	}
	cleared, err := t.sift(ctx, batch, bits)
	return kept - cleared, err
}

// sift clears the bits of rows that cannot be among the first, and returns how many it has cleared.
func (t *conditionTest) sift(ctx context.Context, batch arrow.RecordBatch, bits []byte) (cleared int, err error) {
	inputs := recordreader.Project(batch, t.ofKeys)
	defer inputs.Release()
	for from := 0; from < int(batch.NumRows()); {
		made, rows, err := t.keys.Eval(ctx, inputs, from)
		if err != nil {
			return 0, err
		}
		keys := make([]arrow.Array, len(t.direct))
		for i, c := range t.direct {
			if c < 0 {
				keys[i] = made[-1-c]
				keys[i].Retain()
			} else {
				keys[i] = array.NewSlice(batch.Column(c), int64(from), int64(from+rows))
			}
		}
		cleared += t.sieve.Select(keys, from, rows, bits)
		recordreader.ReleaseAll(keys)
		recordreader.ReleaseAll(made)
		from += rows
	}
	return cleared, nil
}

func (t *conditionTest) release() {
	if t.where != nil {
		t.where.Release()
	}
	if t.order != nil {
		t.keys.Release()
	}
}

// release gives back what the evaluators hold.
// Requires: no reader is at work any more.
func (c *condition) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.free {
		t.release()
	}
	for _, d := range c.divided {
		if d.first != nil {
			d.first.release()
			d.rest.release()
		}
	}
	c.free, c.divided = nil, nil
}

var termOps = map[string]scan.Op{
	"=": scan.OpEqual, "<>": scan.OpNotEqual, "<": scan.OpLess, "<=": scan.OpLessOrEqual, ">": scan.OpGreater,
	">=": scan.OpGreaterOrEqual,
	"in": scan.OpIn, "is null": scan.OpIsNull, "is not null": scan.OpIsNotNull,
}

// newCondition binds WHERE of a source; nil for all rows. Evaluators take memory from mem.
func newCondition(
	ctx context.Context, columns expr.Columns, where *expr.Expr, mem memory.Allocator,
) (c *condition, err error) {
	columns.Zone = cmp.Or(columns.Zone, expr.ZoneOf(ctx))
	c = &condition{where: where, columns: columns, mem: mem}
	if where != nil {
		c.program, err = expr.BindCondition(ctx, columns, where)
	}
	return c, err
}

// NewFilter binds a condition, as it is written behind WHERE, of rows of some columns, and of nothing else. release
// ends its use.
func NewFilter(
	ctx context.Context, eng *engine.Engine, columns *arrow.Schema, text string,
) (of scan.RowFilter, release func(), err error) {
	const table = "rows"
	s, err := sql.Parse("SELECT 1 FROM " + table + " WHERE (" + text + "\n)")
	if err == nil && s.Parameters > 0 {
		err = errors.New("not supported: parameters in a condition that is a text: write the values")
	}
	if err != nil {
		return nil, nil, err
	}
	bound, err := logical.Bind(ctx, s, logical.Options{
		Tables: map[string]Table{table: {Source: scan.Shape(columns)}}, Budget: eng.Budget(),
		Open:   func(context.Context, []string, dataset.Options) (scan.Source, error) { return nil, errOtherRows },
		Rollup: func(context.Context, Rollup, dataset.Options) (scan.Source, error) { return nil, errOtherRows },
	})
	if err != nil {
		return nil, nil, err
	}
	defer bound.Planned()
	for n := bound.Root; ; n = n.Inputs()[0] {
		f, ok := n.(*logical.Filter)
		if _, of := n.(*logical.Scan); of || len(n.Inputs()) != 1 {
			return nil, nil, errOtherRows
		}
		if !ok {
			continue
		}
		if _, ok := f.In.(*logical.Scan); !ok {
			return nil, nil, errOtherRows
		}
		c, err := newCondition(ctx, logical.ColumnsOf(f.In), f.Condition, eng.Allocator())
		return c, c.release, err
	}
}

// errOtherRows is the error of a condition that reads more than the rows that it is of.
var errOtherRows = errors.New("not supported: a condition that reads tables, where it is of keys alone")

// filtered returns the rows of a filter, whose input has been made. The query releases the condition.
func (p *planner) filtered(in *input, n *logical.Filter) (*filterNode, error) {
	c, err := newCondition(p.ctx, in.columns(), n.Condition, p.engine.Allocator())
	if err != nil {
		return nil, err
	}
	predicate := predicateOf(c.program)
	predicate.Rows = c
	f, err := scan.Filter(p.ctx, in.node.rows(nil), predicate)
	if err != nil {
		return nil, err
	}
	c.estimate = rowCount(p.estimates.Rows(n))
	p.query.conditions = append(p.query.conditions, c)
	return &filterNode{in.node, c, f}, nil
}

// predicateOf returns what a condition says of single columns.
func predicateOf(condition *expr.Program) (p scan.Predicate) {
	p.Terms = termsOf(condition.Terms(0))
	for _, alternatives := range condition.Alternatives(0) {
		list := make([][]scan.Term, len(alternatives))
		for i := range list {
			list[i] = termsOf(alternatives[i])
		}
		p.AnyOf = append(p.AnyOf, list)
	}
	return p
}

// termsOf returns terms as readers take them.
func termsOf(list []expr.Term) []scan.Term {
	var terms []scan.Term
	for _, t := range list {
		terms = append(terms, scan.Term{Column: t.Column, Op: termOps[t.Op], Values: t.Values})
	}
	return terms
}

// columnIndexes returns the place of each of some columns in a list of columns.
func columnIndexes(list, columns []int) []int {
	at := make([]int, len(columns))
	for i, c := range columns {
		at[i] = slices.Index(list, c)
	}
	return at
}
