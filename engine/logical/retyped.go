package logical

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
)

// retyped are the aggregate functions whose calls depend on the type of their first argument.
var retyped = []query.Func{query.Avg, query.Median, query.StringAgg, query.List, query.First, query.Last}

// retype returns a statement in which avg of times is an expression of avg of microseconds, the median of strings their
// quantile_disc, string_agg of other values string_agg of their texts, a list of values that may be NULL one of tuples,
// and first and last of such values NULL where the first value is, unless no expression may stand above the
// aggregation.
func (r *scope) retype(ctx context.Context, s *sql.Select, opt *Options) *sql.Select {
	isChanged := false
	made := s.Replace(func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.OpAggregate && x.Op != expr.OpWindow || len(x.Args) == 0 {
			return nil
		}
		f, ok := query.LookupFunc(x.Name, len(x.Args) > 1)
		if !ok || !slices.Contains(retyped, f) {
			return nil
		}
		t := r.typeOf(ctx, x.Args[0])
		if t == nil {
			return nil
		}
		of, err := expr.TypeOf(t)
		if err != nil {
			return nil
		}
		isAny := f == query.List || f == query.First || f == query.Last
		if isAny && (opt.NoneAbove || !opt.InParts && r.isPresent(x.Args[0])) {
			return nil
		}
		call := retypedCall(f, x, of)
		isChanged = isChanged || call != nil
		return call
	})
	if !isChanged {
		return s
	}
	keepNames(made.Items, s.Items)
	return made
}

// retypedCall returns what a call stands for whose first argument is of a type; nil of itself.
func retypedCall(f query.Func, x *expr.Expr, t expr.Type) *expr.Expr {
	switch first := x.Args[0]; {
	case f == query.List:
		return listOfAll(x)
	case (f == query.First || f == query.Last) && (x.Op != expr.OpAggregate || x.Distinct):
		return nil
	case f == query.First || f == query.Last:
		is := expr.Call("is not null", first)
		is.At = first.At
		// Where the first value is one, it is the first of the values that are not NULL.
		made := expr.Call("case", withFirst(x, is), withFirst(x, first))
		made.At = x.At
		return made
	case f == query.StringAgg && x.Op == expr.OpAggregate && x.Distinct && len(x.OrderBy) > 0 && t.ID != expr.Text:
		list := withFirst(x, first)
		list.Name, list.Args = query.List.String(), list.Args[:1]
		joined := expr.Call("list_aggregate", append([]*expr.Expr{list, expr.Constant(x.Name)}, x.Args[1:]...)...)
		joined.At = x.At
		return joined
	case f == query.StringAgg && t.ID != expr.Text && t.ID != expr.Null && t.ID != expr.Blob:
		return withFirst(x, castAt(first, expr.Type{ID: expr.Text}))
	case f == query.Median && (t.ID == expr.Text || t.ID == expr.Bool):
		call := withFirst(x, first)
		call.Name = query.QuantileDisc.String()
		call.Args = slices.Insert(call.Args, 1, expr.Constant(0.5))
		if w, ok := call.Value.(expr.Window); ok {
			w.Args++
			call.Value = w
		}
		return call
	case f == query.Median && t.ID == expr.Period:
		list := withFirst(x, first)
		list.Name = query.List.String()
		middle := expr.Call("list_aggregate", list, expr.Constant(query.Median.String()))
		middle.At = x.At
		return middle
	case f == query.Avg && t.ID == expr.Period:
		return meanOfPeriods(x)
	case f == query.Avg && t.ID >= expr.Date && t.ID <= expr.TimestampTZ:
		mean := expr.Call("make_timestamp", expr.Cast(meanMicros(x), expr.Type{ID: expr.Int64}))
		switch t.ID {
		case expr.TimestampTZ:
			mean = expr.Call("timezone", expr.Constant("UTC"), mean)
		case expr.Time, expr.TimeNS:
			mean = expr.Cast(mean, t)
		}
		mean.At = x.At
		return mean
	}
	return nil
}

// isPresent says whether an expression is a column without NULL.
func (r *scope) isPresent(x *expr.Expr) bool {
	if x.Op != expr.OpColumn {
		return false
	}
	i, err := r.find(x)
	return err == nil && (!r.columns[i].Nullable || r.columns[i].Stats.NoNulls) && !arrow.IsNested(r.columns[i].Type.ID())
}

// listOfAll returns the list of a call of list with the values that are NULL, which the function leaves out: of tuples
// of each value, none of which is NULL.
func listOfAll(x *expr.Expr) *expr.Expr {
	tuple := expr.Call("row", x.Args[0])
	tuple.At = x.Args[0].At
	call := withFirst(x, tuple)
	isSorted := x.Distinct && len(x.OrderBy) == 1 && x.OrderBy[0].Expr.Key() == x.Args[0].Key()
	if isSorted {
		call.OrderBy = nil
	}
	made := expr.Call(expr.FieldsOfTuples, call)
	made.At = x.At
	if !isSorted {
		return made
	}
	words := []string{"ASC", "NULLS LAST"}
	if x.OrderBy[0].Descending {
		words[0] = "DESC"
	}
	if x.OrderBy[0].NullsFirst {
		words[1] = "NULLS FIRST"
	}
	made = expr.Call("list_sort", made, expr.Constant(words[0]), expr.Constant(words[1]))
	made.At = x.At
	return made
}

// meanMicros returns the mean of microseconds since 1970 as DuckDB rounds it: halves, and times before 1970, towards
// 1970.
func meanMicros(x *expr.Expr) *expr.Expr {
	first := x.Args[0]
	micros := &expr.Expr{Op: expr.OpCall, Name: "epoch_us", Args: []*expr.Expr{first}, At: first.At}
	sum, count := withFirst(x, castAt(micros, expr.Type{ID: expr.Decimal, Precision: 38})), withFirst(x, first)
	sum.Name, count.Name = query.Sum.String(), query.Count.String()
	whole, two := expr.Cast(sum, expr.Type{ID: expr.Huge}), expr.Constant(int64(2))
	doubled := expr.Call("-", expr.Call("+", expr.Call("*", whole, two), count), expr.Constant(int64(1)))
	return expr.Call("if", expr.Call("<", whole, expr.Constant(int64(0))),
		expr.Call("//", whole, count), expr.Call("//", doubled, expr.Call("*", count, two)))
}

// meanOfPeriods returns what avg of intervals stands for.
func meanOfPeriods(x *expr.Expr) *expr.Expr {
	first := x.Args[0]
	mean := expr.Call(expr.MeanOfPeriods)
	for part := range int64(3) {
		whole := expr.Type{ID: expr.Decimal, Precision: 38}
		of := castAt(expr.Call(expr.PartOfPeriod, first, expr.Constant(part)), whole)
		sum := withFirst(x, of)
		sum.Name = query.Sum.String()
		mean.Args = append(mean.Args, sum)
	}
	count := withFirst(x, first)
	count.Name = query.Count.String()
	mean.Args, mean.At = append(mean.Args, count), x.At
	return mean
}

// withFirst returns a call with another first argument.
func withFirst(x, first *expr.Expr) *expr.Expr {
	of := *x
	of.Args = slices.Clone(x.Args)
	of.Args[0] = first
	return &of
}
