package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
)

// condition is what readers ask of rows: WHERE, and whether a row may be among the first of an
// order.
type condition struct {
	program *expr.Program    // WHERE; nil where all rows pass
	order   *topOrder        // nil where nobody asks for an order
	mem     memory.Allocator // of new evaluators; the engine's, once the query runs

	mu   sync.Mutex
	free []*conditionTest // that no reader uses now; they hold on to dictionaries until release
}

var _ scan.RowFilter = (*condition)(nil)

// topOrder is an order of rows with a limit.
type topOrder struct {
	columns []int         // by key: the column that it is, or -1-i for expression i of exprs
	exprs   *expr.Program // the keys that are not columns
	bound   *order.Bound  // of the sort; set before rows are read
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
	t, columns := &conditionTest{}, c.Columns()
	if c.program != nil {
		t.where, t.ofWhere = c.program.NewEvaluator(c.mem), columnIndexes(columns, c.program.Columns())
	}
	if o := c.order; o != nil {
		t.order, t.keys, t.ofKeys = o, o.exprs.NewEvaluator(c.mem), columnIndexes(columns, o.exprs.Columns())
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
		inputs := selected(batch, t.ofWhere)
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
	inputs := selected(batch, t.ofKeys)
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
		releaseAll(keys)
		releaseAll(made)
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
	c.free = nil
}

var termOps = map[string]scan.Op{
	"=": scan.OpEqual, "<>": scan.OpNotEqual, "<": scan.OpLess, "<=": scan.OpLessOrEqual, ">": scan.OpGreater, ">=": scan.OpGreaterOrEqual,
	"in": scan.OpIn, "is null": scan.OpIsNull, "is not null": scan.OpIsNotNull,
}

// filtered returns the rows of a source for which where is TRUE. The caller releases the condition.
func filtered(ctx context.Context, src scan.Source, where *expr.Expr) (scan.Filtered, *condition, error) {
	program, err := expr.BindCondition(src.Schema(), where)
	if err != nil {
		return nil, nil, err
	}
	c := &condition{program: program, mem: memory.DefaultAllocator}
	p := scan.Predicate{Rows: c}
	p.Terms = termsOf(program.Terms(0))
	for _, alternatives := range program.Alternatives(0) {
		list := make([][]scan.Term, len(alternatives))
		for i := range list {
			list[i] = termsOf(alternatives[i])
		}
		p.AnyOf = append(p.AnyOf, list)
	}
	f, err := scan.Filter(ctx, src, p)
	return f, c, err
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
