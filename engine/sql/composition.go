//go:build cgo

package sql

import (
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// caller returns a call of an aggregate function, over the rows of the call at hand.
type caller func(f query.Func, args ...*expr.Expr) *expr.Expr

// composition is an aggregate function that is an expression of others.
type composition struct {
	args     int
	constant bool // whether one more argument may stand behind these
	expr     func(of caller, args []*expr.Expr) *expr.Expr
}

// compositions are the aggregate functions that are expressions of others.
var compositions = map[string]composition{
	"count_if": {1, false, counted}, "countif": {1, false, counted},
	"sum_no_overflow": {1, false, func(of caller, args []*expr.Expr) *expr.Expr { return of(query.Sum, args...) }},
	"bitstring_agg": {3, false, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call(expr.BitsOfNumbers, of(query.List, args[0]), args[1], args[2])
	}},
	"fsum": {1, false, summed}, "kahan_sum": {1, false, summed}, "sumkahan": {1, false, summed},
	"geomean": {1, false, meanOfLogs}, "geometric_mean": {1, false, meanOfLogs},
	"sem": {1, false, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("/", of(query.StddevPop, args...), expr.Call("sqrt", of(query.Count, args...)))
	}},
	"weighted_avg": {2, false, weightedMean}, "wavg": {2, false, weightedMean},
	"json_group_array": {1, false, jsonOfList}, "json_group_object": {2, false, jsonOfPairs},
	"arg_max_null": {2, false, withNulls(query.ArgMax)}, "arg_min_null": {2, false, withNulls(query.ArgMin)},
	"regr_count": {2, false, func(of caller, args []*expr.Expr) *expr.Expr {
		return of(query.Count, where(args[1], args[0]))
	}},
	"regr_avgx": {2, false, overPairs(query.Avg, 1, false)}, "regr_avgy": {2, false, overPairs(query.Avg, 0, false)},
	"regr_sxx": {2, false, overPairs(query.VarPop, 1, true)}, "regr_syy": {2, false, overPairs(query.VarPop, 0, true)},
	"regr_sxy": {2, false, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("*", of(query.CovarPop, args...), of(query.Count, where(args[1], args[0])))
	}},
	"product": {1, false, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("list_product", of(query.List, expr.Cast(args[0], expr.Type{ID: expr.Float64})))
	}},
	"mad": {1, false, overList("mad")}, "entropy": {1, false, entropyOfAll},
	"kurtosis_pop": {1, false, overList("kurtosis_pop")}, "histogram": {1, true, overList("histogram")},
	"histogram_exact": {2, false, overList("histogram_exact")},
	"approx_top_k":    {1, true, overList("approx_top_k")},
}

// overList is an aggregate function of the list of the values, and perhaps of a constant behind them.
func overList(name string) func(caller, []*expr.Expr) *expr.Expr {
	return func(of caller, args []*expr.Expr) *expr.Expr {
		list := of(query.List, args[0])
		return expr.Call("list_aggregate", append([]*expr.Expr{list, expr.Constant(name)}, args[1:]...)...)
	}
}

// entropyOfAll is 0 of no values.
func entropyOfAll(of caller, args []*expr.Expr) *expr.Expr {
	zero := expr.Cast(expr.Constant(int64(0)), expr.Type{ID: expr.Float64})
	return expr.Call("coalesce", overList("entropy")(of, args), zero)
}

// severalOf is what a function of a caller's stands for whose constant is a list, or that has a constant more: the list
// of its quantiles, or of the values of arg_min or arg_max in several rows. It is not there for other calls.
func severalOf(x *expr.Expr, own int) (c composition, ok bool) {
	f, ok := query.LookupFunc(x.Name, own > 1)
	isList := func(x *expr.Expr) bool { return x.Op == expr.OpCall && x.Name == "list_value" }
	switch {
	case ok && f.Param() == query.FractionParam && own == 2 && isList(x.Args[1]):
		return composition{2, false, func(of caller, args []*expr.Expr) *expr.Expr {
			made := expr.Call("list_value")
			for _, fraction := range args[1].Args {
				made.Args = append(made.Args, of(f, args[0], fraction))
			}
			return expr.Call("case", expr.Call(">", of(query.Count, args[0]), expr.Constant(int64(0))), made)
		}}, true
	case ok && (f == query.ArgMin || f == query.ArgMax) && own == 3:
		return composition{2, true, func(of caller, args []*expr.Expr) *expr.Expr {
			pair := where(where(expr.Call("row", args[1], args[0]), args[1]), args[0])
			return expr.Call(expr.FirstOfPairs, of(query.List, pair), args[2], expr.Constant(f == query.ArgMax))
		}}, true
	}
	return c, false
}

func counted(of caller, args []*expr.Expr) *expr.Expr {
	one, zero := expr.Constant(int64(1)), expr.Constant(int64(0))
	return of(query.Sum, expr.Call("case", args[0], one, expr.Call("not", args[0]), zero)) // NULL of no values
}

func summed(of caller, args []*expr.Expr) *expr.Expr {
	return of(query.Sum, expr.Cast(args[0], expr.Type{ID: expr.Float64}))
}

func meanOfLogs(of caller, args []*expr.Expr) *expr.Expr {
	return expr.Call("exp", of(query.Avg, expr.Call("ln", args[0])))
}

// weightedMean is of the rows where neither the value nor the weight is NULL.
func weightedMean(of caller, args []*expr.Expr) *expr.Expr {
	x, weight := expr.Cast(args[0], expr.Type{ID: expr.Float64}), expr.Cast(args[1], expr.Type{ID: expr.Float64})
	return expr.Call("/", of(query.Sum, expr.Call("*", x, weight)), of(query.Sum, where(weight, args[0])))
}

// withNulls is arg_min or arg_max f, where a value that is NULL counts.
func withNulls(f query.Func) func(caller, []*expr.Expr) *expr.Expr {
	return func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("case", of(f, expr.Call("is not null", args[0]), args[1]), of(f, args...))
	}
}

// where returns x where another value is not NULL.
func where(x, other *expr.Expr) *expr.Expr {
	return expr.Call("case", expr.Call("is not null", other), x)
}

// overPairs is f of one of two arguments over the rows where none is NULL, perhaps times their number.
func overPairs(f query.Func, at int, isTimes bool) func(caller, []*expr.Expr) *expr.Expr {
	return func(of caller, args []*expr.Expr) *expr.Expr {
		x := where(args[at], args[1-at])
		if !isTimes {
			return of(f, x)
		}
		return expr.Call("*", of(f, x), of(query.Count, x))
	}
}

// composed returns what a call of an aggregate function, perhaps before OVER, is an expression of.
func (p *statements) composed(x *expr.Expr) *expr.Expr {
	own, w := len(x.Args), expr.Window{}
	if x.Op == expr.OpWindow {
		w = x.Value.(expr.Window)
		own = w.Args
	}
	c, ok := compositions[x.Name]
	if !ok {
		c, ok = severalOf(x, own)
	}
	if !ok {
		return x
	}
	if own != c.args && !(c.constant && own == c.args+1) {
		p.fail(x.At, "%s takes %d arguments, not %d", x.Name, c.args, own)
	}
	if len(x.OrderBy) > 0 && x.Op == expr.OpAggregate && x.Distinct {
		p.fail(x.At, "not supported: DISTINCT and ORDER BY in %s(...)", x.Name)
	}
	made := c.expr(func(f query.Func, args ...*expr.Expr) *expr.Expr {
		of := *x
		of.Name = f.String()
		of.Args = append(args, x.Args[own:]...)
		if x.Op == expr.OpWindow {
			own := w
			own.Args = len(args)
			of.Value = own
		}
		return &of
	}, x.Args[:own:own])
	made.At = x.At
	p.noteText(made, x.String())
	return made
}

// noteText notes what a column is named by that an expression makes which stands for another.
func (p *statements) noteText(x *expr.Expr, text string) {
	if p.texts == nil {
		p.texts = map[*expr.Expr]string{}
	}
	p.texts[x] = text
}
