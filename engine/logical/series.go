package logical

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// series binds range and generate_series, whose arguments are evaluated at once. NULL for one of them is no rows.
func (b *binder) series(ctx context.Context, s *sql.Select, f *sql.Series) (*scope, error) {
	none := b.noTable()
	all := &sql.Select{Text: s.Text}
	for _, x := range f.Args {
		all.Items = append(all.Items, sql.Item{Expr: x})
	}
	var args []*expr.Expr
	for _, it := range b.parameters.bind(ctx, all, none).Items {
		x, err := none.resolve(it.Expr, nil, nil)
		if err != nil {
			return nil, err
		}
		t, err := typeOfAll(ctx, ColumnsOf(none.node), x)
		if _, isTime := t.Arrow().(arrow.TemporalWithUnit); err == nil && (isTime || t.ID == expr.Date) {
			list := expr.Call(f.Function)
			for _, arg := range b.parameters.bind(ctx, all, none).Items {
				list.Args = append(list.Args, arg.Expr)
			}
			return none.unnest(ctx, &b.ids, &sql.Unnest{At: f.At, List: list, Name: f.Function, Alias: f.Function})
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || !arrow.IsInteger(t.Arrow().ID()) {
			return nil, errorAt(f.At, "not supported: %s of other than integers, as %s", f.Function, x)
		}
		args = append(args, castAt(x, expr.Type{ID: expr.Int64}))
	}
	field := arrow.Field{Name: f.Function, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	batch, err := rowsOf(ctx, arrow.NewSchema([]arrow.Field{field}, nil), args)
	if err != nil {
		return nil, err
	}
	values := batch.Column(0).(*array.Int64)
	first, stop, step := int64(0), values.Value(0), int64(1)
	if len(args) > 1 {
		first, stop = stop, values.Value(1)
	}
	if len(args) > 2 {
		step = values.Value(2)
	}
	if step == 0 && values.NullN() == 0 {
		return nil, errorAt(f.At, "%s: a step of 0 never comes to %d", f.Function, stop)
	}
	count := uint64(0)
	if values.NullN() == 0 {
		count = numbersOf(first, stop, step, f.Function == "generate_series")
	}
	if count > math.MaxInt64 {
		return nil, errorAt(f.At, "%s: more than %d numbers", f.Function, int64(math.MaxInt64))
	}
	return b.tableScope(scan.Series(f.Function, first, step, int64(count)), f.Function), nil
}

// numbersOf returns how many numbers there are from first to stop, with stop or without. step is not 0.
func numbersOf(first, stop, step int64, withStop bool) uint64 {
	distance, by := uint64(stop)-uint64(first), uint64(step)
	if step < 0 {
		first, stop, distance, by = stop, first, -distance, -by
	}
	switch {
	case first > stop || first == stop && !withStop:
		return 0
	case !withStop:
		distance--
	}
	return min(distance/by, math.MaxUint64-1) + 1
}
