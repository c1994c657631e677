package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/rowdata"
)

// shiftMax bounds the constant n in shift, so that no sum of fewer than 2^32 rows passes 64 bits.
const shiftMax = 1 << 20

// shift returns sum(c + n), of a column and a constant, as sum(c) + n * count(c): nothing is
// computed for a row, and several such sums share sum(c). It returns nil for other aggregates, and
// where c + n could pass its type's bounds, which is an error.
func (g *grouping) shift(ctx context.Context, x *expr.Expr) *expr.Expr {
	if !g.q.rules.allows(ShiftedSums) || g.opt.Overflow != query.OverflowError ||
		x.Name != query.Sum.String() || x.Distinct || x.Filter != nil || len(x.Args) != 1 {
		return nil
	}
	sum := x.Args[0]
	if sum.Op != expr.OpCall || sum.Name != "+" && sum.Name != "-" || len(sum.Args) != 2 {
		return nil
	}
	column, constant := sum.Args[0], sum.Args[1]
	if column.Op != expr.OpColumn && sum.Name == "+" {
		column, constant = constant, column
	}
	n, ok := constant.Value.(int64)
	if column.Op != expr.OpColumn || constant.Op != expr.OpConstant || !ok || constant.Type.ID == expr.Decimal ||
		n < -shiftMax || n > shiftMax {
		return nil
	}
	if sum.Name == "-" {
		n = -n
	}
	if !g.shifts(ctx, column, sum, n) {
		return nil
	}
	aggregate := func(name string) *expr.Expr {
		return &expr.Expr{Op: expr.OpAggregate, Name: name, Args: []*expr.Expr{column}, At: x.At}
	}
	g.q.rules.note(ShiftedSums, true)
	return expr.Call("+", aggregate(query.Sum.String()), expr.Call("*", expr.Constant(n), aggregate(query.Count.String())))
}

// shifts says whether sum, which adds n to a column of integers, fits its own type for every value
// of the column.
func (g *grouping) shifts(ctx context.Context, column, sum *expr.Expr, n int64) bool {
	schema := g.q.source().Schema()
	at := schema.FieldIndices(column.Name)
	if len(at) != 1 {
		return false
	}
	var s rowdata.ColumnStats
	if known := g.q.source().Stats().Columns; known != nil {
		s = known[at[0]]
	}
	low, high, ok := integerRange(valueType(schema.Field(at[0]).Type))
	if !ok {
		return false
	}
	if s.HasRange {
		low, high = max(low, s.Min), min(high, s.Max)
	}
	p, err := expr.Bind(ctx, schema, sum)
	if err != nil {
		return false
	}
	least, most, ok := integerRange(p.Arrow(0))
	return p.Arrow(0).ID() == arrow.INT64 || ok && low+n >= least && high+n <= most
}

// integerRange returns the least and the greatest value of an integer type of at most 32 bits.
func integerRange(dt arrow.DataType) (low, high int64, ok bool) {
	if !arrow.IsInteger(dt.ID()) || dt.(arrow.FixedWidthDataType).BitWidth() > 32 {
		return 0, 0, false
	}
	return scan.TypeRange(dt)
}
