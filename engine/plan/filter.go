package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/expr"
	"github.com/mpga/mpga/engine/scan"
)

// condition is WHERE as readers take it.
type condition struct {
	program *expr.Program
	columns []int
	free    sync.Pool // of *expr.Evaluator
}

var _ scan.RowFilter = (*condition)(nil)

func newCondition(p *expr.Program) *condition {
	return &condition{program: p, columns: p.Columns()}
}

// Columns implements scan.RowFilter.
func (c *condition) Columns() []int { return c.columns }

// Select implements scan.RowFilter.
func (c *condition) Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (int, error) {
	e, ok := c.free.Get().(*expr.Evaluator)
	if !ok {
		e = c.program.NewEvaluator(memory.DefaultAllocator)
	}
	defer c.free.Put(e)
	return e.Select(ctx, 0, batch, selected)
}

var termOps = map[string]scan.Op{
	"=": scan.OpEqual, "<>": scan.OpNotEqual, "<": scan.OpLess, "<=": scan.OpLessOrEqual, ">": scan.OpGreater, ">=": scan.OpGreaterOrEqual,
	"in": scan.OpIn, "is null": scan.OpIsNull, "is not null": scan.OpIsNotNull,
}

// filtered returns the rows of a source for which a condition is TRUE.
func filtered(ctx context.Context, src scan.Source, where *expr.Expr) (scan.Filtered, error) {
	program, err := expr.BindCondition(src.Schema(), where)
	if err != nil {
		return nil, err
	}
	p := scan.Predicate{Rows: newCondition(program)}
	for _, t := range program.Terms(0) {
		p.Terms = append(p.Terms, scan.Term{Column: t.Column, Op: termOps[t.Op], Values: t.Values})
	}
	return scan.Filter(ctx, src, p)
}

// columnIndexes returns where some columns are in a list of them.
func columnIndexes(list, columns []int) []int {
	at := make([]int, len(columns))
	for i, c := range columns {
		at[i] = slices.Index(list, c)
	}
	return at
}
