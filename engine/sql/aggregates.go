//go:build cgo

package sql

import (
	"fmt"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/spec"
)

// ParseAggregates reads a list of calls, each with an alias or none: `sum(delay) as total, count(*)`.
// Functions go by the names and aliases of package spec, and by their SQL forms count(*),
// count(distinct x), percentile_cont(0.5) within group (order by x) and mode() within group (order by x).
// Constants are read, not checked against their bounds: spec.Query.Validate does. Errors are of type *Error.
func ParseAggregates(text string) ([]spec.Aggregate, error) {
	l, err := parseList(text)
	if err != nil {
		return nil, err
	}
	aggregates := make([]spec.Aggregate, 0, len(l.items))
	for _, it := range l.items {
		call := it.expr.GetFuncCall()
		if call == nil {
			return nil, l.unsupported(it.expr, it.at, "want an aggregate such as sum(x)")
		}
		aggregate, err := l.aggregate(call, it.at)
		if err != nil {
			return nil, err
		}
		aggregate.Name = it.name
		aggregates = append(aggregates, aggregate)
	}
	return aggregates, nil
}

func (l *list) aggregate(call *pg.FuncCall, at int) (spec.Aggregate, error) {
	start := l.offset(call.GetLocation(), at)
	name, err := l.functionName(call, start)
	if err != nil {
		return spec.Aggregate{}, err
	}
	if err := l.checkModifiers(call, name, start); err != nil {
		return spec.Aggregate{}, err
	}
	switch {
	case call.GetAggStar():
		if name != "count" {
			return spec.Aggregate{}, errorAt(l.text, start, "not supported: %s(*); only count has it", name)
		}
		return spec.Aggregate{Func: spec.CountStar}, nil
	case call.GetAggWithinGroup():
		return l.withinGroup(call, name, start)
	case call.GetAggDistinct() && name != "count":
		return spec.Aggregate{}, errorAt(l.text, start, "not supported: distinct in %s; only count has it", name)
	case call.GetAggDistinct():
		return l.arguments(spec.CountDistinct, name, call.GetArgs(), start)
	}
	f, ok := spec.LookupFunc(name, len(call.GetArgs()) > 1)
	if !ok {
		return spec.Aggregate{}, l.unknownFunction(name, start)
	}
	return l.arguments(f, name, call.GetArgs(), start)
}

// functionName returns the function's name in lower case.
func (l *list) functionName(call *pg.FuncCall, start int) (string, error) {
	parts := call.GetFuncname()
	if len(parts) != 1 {
		// Forms such as extract(year from x) are calls of pg_catalog's functions to the parser.
		return "", l.unknownFunction(parts[len(parts)-1].GetString_().GetSval(), start)
	}
	return parts[0].GetString_().GetSval(), nil
}

func (l *list) unknownFunction(name string, start int) error {
	message := fmt.Sprintf("no aggregate function is named %s", name)
	if near := spec.Nearest(name, spec.FuncNames()); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return errorAt(l.text, start, "%s", message)
}

// checkModifiers refuses what may stand in or after a call and is not part of an aggregate here.
func (l *list) checkModifiers(call *pg.FuncCall, name string, start int) error {
	switch {
	case call.GetAggFilter() != nil:
		return errorAt(l.text, l.find(pg.Token_FILTER, start), "not supported: FILTER")
	case call.GetOver() != nil:
		return errorAt(l.text, l.find(pg.Token_OVER, start), "not supported: OVER")
	case call.GetFuncVariadic():
		return errorAt(l.text, l.find(pg.Token_VARIADIC, start), "not supported: VARIADIC")
	case len(call.GetAggOrder()) > 0 && !call.GetAggWithinGroup():
		return errorAt(l.text, l.find(pg.Token_ORDER, start), "not supported: ORDER BY in %s; values come in input order", name)
	}
	return nil
}

// find returns the first byte of the first token of a kind from start on, or start.
func (l *list) find(kind pg.Token, start int) int {
	for at := start; at < len(l.text); at++ {
		if token := l.tokens[int32(at)]; token != nil && token.Token == kind {
			return at
		}
	}
	return start
}

// orderedSets are the functions whose column stands in WITHIN GROUP (ORDER BY column).
var orderedSets = map[string]spec.Func{
	"percentile_cont": spec.QuantileCont,
	"percentile_disc": spec.QuantileDisc,
	"mode":            spec.Mode,
}

func (l *list) withinGroup(call *pg.FuncCall, name string, start int) (spec.Aggregate, error) {
	f, ok := orderedSets[name]
	if !ok {
		return spec.Aggregate{}, errorAt(l.text, start, "not supported: %s with WITHIN GROUP", name)
	}
	order := call.GetAggOrder()
	by := order[0].GetSortBy()
	if len(order) > 1 || by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC || by.GetSortbyDir() == pg.SortByDir_SORTBY_USING ||
		by.GetSortbyNulls() != pg.SortByNulls_SORTBY_NULLS_DEFAULT {
		return spec.Aggregate{}, errorAt(l.text, l.find(pg.Token_ORDER, start), "not supported: this order; want one column, ascending")
	}
	return l.arguments(f, name, append([]*pg.Node{by.GetNode()}, call.GetArgs()...), start)
}

// arguments fills an aggregate from the columns and the constant of its call.
func (l *list) arguments(f spec.Func, name string, args []*pg.Node, start int) (spec.Aggregate, error) {
	a := spec.Aggregate{Func: f}
	argsMax := f.Args()
	if f.Param() != spec.NoParam {
		argsMax++
	}
	argsMin := argsMax
	if f.Param() == spec.SeparatorParam {
		argsMin--
		a.Separator = ","
	}
	if len(args) < argsMin || len(args) > argsMax {
		return a, errorAt(l.text, start, "%s takes %s, not %d", name, signature(f), len(args))
	}
	for _, arg := range args[:f.Args()] {
		column, err := l.column(arg, start)
		if err != nil {
			return a, err
		}
		a.Args = append(a.Args, column)
	}
	if len(args) == f.Args() {
		return a, nil
	}
	return a, l.constant(&a, args[f.Args()], name, start)
}

// signature says what a function takes.
func signature(f spec.Func) string {
	text := fmt.Sprintf("%d columns", f.Args())
	if f.Args() == 1 {
		text = "1 column"
	}
	switch f.Param() {
	case spec.FractionParam:
		text += " and a fraction"
	case spec.LengthParam:
		text += " and a length"
	case spec.SeparatorParam:
		text += " and a separator or none"
	}
	return text
}

// constant reads the constant that follows the columns.
func (l *list) constant(a *spec.Aggregate, arg *pg.Node, name string, start int) (err error) {
	value := arg.GetAConst()
	ok := value != nil && !value.GetIsnull()
	want := ""
	switch a.Func.Param() {
	case spec.FractionParam:
		want = "a number from 0 to 1"
		if ok {
			a.Fraction, ok = number(value)
		}
	case spec.LengthParam:
		want = "a whole number"
		_, isInt := value.GetVal().(*pg.A_Const_Ival)
		ok = ok && isInt
		a.Length = int(value.GetIval().GetIval())
	case spec.SeparatorParam:
		want = "text in single quotes"
		_, isString := value.GetVal().(*pg.A_Const_Sval)
		ok = ok && isString
		a.Separator = value.GetSval().GetSval()
	}
	if !ok {
		return l.unsupported(arg, start, fmt.Sprintf("after the columns of %s comes %s", name, want))
	}
	return nil
}

// number reads a numeric constant; the parser keeps those that are no int32 as text.
func number(value *pg.A_Const) (float64, bool) {
	switch v := value.GetVal().(type) {
	case *pg.A_Const_Ival:
		return float64(v.Ival.GetIval()), true
	case *pg.A_Const_Fval:
		f, err := strconv.ParseFloat(v.Fval.GetFval(), 64)
		return f, err == nil
	}
	return 0, false
}
