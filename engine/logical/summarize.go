package logical

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// SummarySchema has the columns of SUMMARIZE, by DuckDB's names and types.
var SummarySchema = arrow.NewSchema([]arrow.Field{
	{Name: "column_name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "column_type", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "min", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "max", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "approx_unique", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "avg", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "std", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "q25", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "q50", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "q75", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "count", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "null_percentage", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
}, nil)

// FiguresFrom is the place in SummarySchema of the first figure of a column: the columns before it
// are known without the rows.
const FiguresFrom = 2

// summary binds SUMMARIZE: one aggregation without keys, whose row has all figures of all columns.
func (b *binder) summary(ctx context.Context, about *sql.Select) (*scope, error) {
	r, err := b.subject(ctx, about)
	if err != nil {
		return nil, err
	}
	figures := &sql.Select{Text: about.Text}
	for _, f := range r.inStar.Fields() {
		for _, x := range summaryFigures(f) {
			figures.Items = append(figures.Items, sql.Item{Expr: x})
		}
	}
	n, err := b.over(ctx, figures, r)
	if err != nil {
		return nil, Located(about, err)
	}
	return scopeOf(&Summary{In: n, Of: r.inStar, columns: fixedColumns(&b.ids, SummarySchema)}), nil
}

// summaryFigures returns what SUMMARIZE computes of a column, in the order of SummarySchema. A
// figure that the type of the column does not have is NULL.
func summaryFigures(f arrow.Field) []*expr.Expr {
	known := figuresOf(f)
	var list []*expr.Expr
	for _, column := range SummarySchema.Fields()[FiguresFrom:] {
		x := known[column.Name]
		if x == nil {
			x = expr.Constant(nil)
		}
		t, err := expr.TypeOf(column.Type)
		if err != nil {
			panic(err) // types of SQL
		}
		list = append(list, expr.Cast(x, t))
	}
	return list
}

// figuresOf returns the figures that the type of a column has, by their columns in SummarySchema.
func figuresOf(f arrow.Field) map[string]*expr.Expr {
	x, rows := expr.Column(f.Name), aggregate("count_star")
	figures := map[string]*expr.Expr{"count": rows}
	t, err := expr.TypeOf(f.Type)
	if err != nil {
		return figures
	}
	filled := expr.Call("/", aggregate("count", x), expr.Call("nullif", rows, expr.Constant(int64(0))))
	figures["null_percentage"] = expr.Call("*", expr.Call("-", expr.Constant(int64(1)), filled), expr.Constant(int64(100)))
	if t.ID == expr.Null {
		figures["approx_unique"] = expr.Constant(int64(0))
		return figures
	}
	figures["min"], figures["max"] = aggregate("min", x), aggregate("max", x)
	figures["approx_unique"] = aggregate("approx_count_distinct", x)
	if mean := summaryMean(x, t); mean != nil {
		figures["avg"] = mean
		for name, fraction := range map[string]float64{"q25": 0.25, "q50": 0.5, "q75": 0.75} {
			figures[name] = summaryQuantile(x, t, fraction)
		}
	}
	if isNumber(t) {
		figures["std"] = aggregate("stddev_samp", x)
	}
	return figures
}

// summaryMean is the mean of a column of a type, nil of a type without means. The mean of times is
// taken of their microseconds, that of dates of their days.
func summaryMean(x *expr.Expr, t expr.Type) *expr.Expr {
	moment := func(micros *expr.Expr) *expr.Expr { // halves go down, as DuckDB has it
		whole := expr.Call("ceil", expr.Call("-", micros, expr.Constant(0.5)))
		return expr.Call("make_timestamp", tryCast(whole, expr.Type{ID: expr.Int64}))
	}
	switch {
	case isNumber(t):
		return aggregate("avg", x)
	case t.ID == expr.Date:
		return moment(expr.Call("*", aggregate("avg", daysOf(x)), expr.Constant(86400e6)))
	case t.ID == expr.Timestamp || t.ID == expr.TimestampNS:
		return moment(aggregate("avg", expr.Call("epoch_us", finite(x, t))))
	case t.ID == expr.TimestampTZ:
		return cast(moment(aggregate("avg", expr.Call("epoch_us", finite(x, t)))), expr.TimestampTZ)
	case t.ID == expr.Time:
		return cast(moment(aggregate("avg", microsOfDay(x))), expr.Time)
	}
	return nil
}

// finite is a time, and NULL of infinity, which has no microseconds.
func finite(x *expr.Expr, t expr.Type) *expr.Expr {
	for _, infinity := range []string{"infinity", "-infinity"} {
		x = expr.Call("nullif", x, cast(expr.Constant(infinity), t.ID))
	}
	return x
}

// firstDay is the day that days are counted from.
func firstDay() *expr.Expr { return cast(expr.Constant("1970-01-01"), expr.Date) }

// daysOf are the days of dates since firstDay. Unlike microseconds they fit any date.
func daysOf(x *expr.Expr) *expr.Expr { return expr.Call("-", x, firstDay()) }

// microsOfDay are the microseconds since midnight. The part microsecond has the seconds, too.
func microsOfDay(x *expr.Expr) *expr.Expr {
	part := func(name string, micros int64) *expr.Expr {
		return expr.Call("*", cast(expr.Call(name, x), expr.Int64), expr.Constant(micros))
	}
	minutes := expr.Call("+", part("hour", 3600e6), part("minute", 60e6))
	return expr.Call("+", minutes, part("microsecond", 1))
}

// summaryQuantile is a quantile of a column of a type that has means. It has the type of the column,
// to which it is rounded; a double beyond the range of the type stands for the greatest value.
func summaryQuantile(x *expr.Expr, t expr.Type, fraction float64) *expr.Expr {
	of := x
	if t.ID == expr.Date {
		of = daysOf(x)
	}
	q := aggregate("quantile_cont", of, expr.Constant(fraction))
	switch {
	case t.ID == expr.Float32 || t.ID == expr.Float64:
		q.Filter = expr.Call("isfinite", x)
		return q
	case t.ID == expr.Date:
		day := expr.Call("floor", expr.Call("+", q, expr.Constant(0.5)))
		return expr.Call("+", firstDay(), cast(day, expr.Int32))
	}
	return expr.Call("coalesce", tryCast(q, t), aggregate("max", x))
}

// isNumber says whether the values of a type are numbers.
func isNumber(t expr.Type) bool { return t.ID >= expr.Int8 && t.ID <= expr.Decimal }

func aggregate(name string, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Op: expr.OpAggregate, Name: name, Args: args, At: -1}
}

func cast(x *expr.Expr, to expr.TypeID) *expr.Expr {
	return expr.Cast(x, expr.Type{ID: to})
}

func tryCast(x *expr.Expr, to expr.Type) *expr.Expr {
	return &expr.Expr{Op: expr.OpTryCast, Type: to, Args: []*expr.Expr{x}, At: -1}
}
