package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
)

// condition is WHERE as readers take it.
type condition struct {
	program *expr.Program
	mem     memory.Allocator // of new evaluators; the engine's, once the query runs

	mu   sync.Mutex
	free []*expr.Evaluator // that no reader uses now; they hold on to dictionaries until release
}

var _ scan.RowFilter = (*condition)(nil)

// Columns implements scan.RowFilter.
func (c *condition) Columns() []int { return c.program.Columns() }

// Select implements scan.RowFilter.
func (c *condition) Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (int, error) {
	e := c.take()
	defer c.give(e)
	return e.Select(ctx, 0, batch, selected)
}

func (c *condition) take() *expr.Evaluator {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.free) - 1
	if last < 0 {
		return c.program.NewEvaluator(c.mem)
	}
	e := c.free[last]
	c.free = c.free[:last]
	return e
}

func (c *condition) give(e *expr.Evaluator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, e)
}

// release gives back what the evaluators hold.
// Requires: no reader is at work any more.
func (c *condition) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.free {
		e.Release()
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
