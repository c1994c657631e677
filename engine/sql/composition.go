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
	args int
	expr func(of caller, args []*expr.Expr) *expr.Expr
}

// compositions are the aggregate functions that are expressions of others.
var compositions = map[string]composition{
	"count_if": {1, counted}, "countif": {1, counted},
	"fsum": {1, summed}, "kahan_sum": {1, summed}, "sumkahan": {1, summed},
	"geomean": {1, meanOfLogs}, "geometric_mean": {1, meanOfLogs},
	"sem": {1, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("/", of(query.StddevPop, args...), expr.Call("sqrt", of(query.Count, args...)))
	}},
	"weighted_avg": {2, weightedMean}, "wavg": {2, weightedMean},
	"arg_max_null": {2, withNulls(query.ArgMax)}, "arg_min_null": {2, withNulls(query.ArgMin)},
	"regr_count": {2, func(of caller, args []*expr.Expr) *expr.Expr {
		return of(query.Count, where(args[1], args[0]))
	}},
	"regr_avgx": {2, overPairs(query.Avg, 1, false)}, "regr_avgy": {2, overPairs(query.Avg, 0, false)},
	"regr_sxx": {2, overPairs(query.VarPop, 1, true)}, "regr_syy": {2, overPairs(query.VarPop, 0, true)},
	"regr_sxy": {2, func(of caller, args []*expr.Expr) *expr.Expr {
		return expr.Call("*", of(query.CovarPop, args...), of(query.Count, where(args[1], args[0])))
	}},
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
	c, ok := compositions[x.Name]
	if !ok {
		return x
	}
	own, w := len(x.Args), expr.Window{}
	if x.Op == expr.OpWindow {
		w = x.Value.(expr.Window)
		own = w.Args
	}
	if own != c.args {
		p.fail(x.At, "%s takes %d arguments, not %d", x.Name, c.args, own)
	}
	if len(x.OrderBy) > 0 && x.Op == expr.OpAggregate {
		p.fail(x.At, "not supported: ORDER BY in %s(...)", x.Name)
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
	if p.texts == nil {
		p.texts = map[*expr.Expr]string{}
	}
	p.texts[made] = x.String()
	return made
}
