package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
)

// SQL writes a query on a table for DuckDB, such that its answer is what mpga means.
func SQL(schema *arrow.Schema, q query.Query, table string) (string, error) {
	var selected, grouped []string
	for i, k := range q.Keys {
		selected = append(selected, quote(k.Column)+fmt.Sprintf(" AS __k%d", i))
		grouped = append(grouped, quote(k.Column))
	}
	for i, a := range q.Aggregates {
		types := make([]arrow.DataType, len(a.Args))
		for j, name := range a.Args {
			indexes := schema.FieldIndices(name)
			if len(indexes) == 0 {
				return "", fmt.Errorf("no column %q", name)
			}
			types[j] = schema.Field(indexes[0]).Type
		}
		selected = append(selected, call(a, types)+fmt.Sprintf(" AS __a%d", i))
	}
	text := "SELECT " + strings.Join(selected, ",\n  ") + "\nFROM " + table
	if len(grouped) > 0 {
		text += "\nGROUP BY " + strings.Join(grouped, ", ")
	}
	return text, nil
}

func quote(name string) string   { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// lengthMax is the longest list of min(x, n) in DuckDB.
const lengthMax = 999_999

// call writes one aggregate.
func call(a query.Aggregate, types []arrow.DataType) string {
	args := make([]string, len(a.Args))
	for i, name := range a.Args {
		args[i] = quote(name)
	}
	if a.Distinct {
		if text, ok := ofDistinct(&a, args); ok {
			return text
		}
	}
	distinct := ""
	if a.Distinct {
		distinct = "DISTINCT "
	}
	plain := a.Func.String() + "(" + distinct + strings.Join(args, ", ") + ")"
	inOrder := " ORDER BY " + position + ")"
	switch a.Func {
	case query.CountStar:
		return "count(*)"
	case query.CountDistinct, query.ApproxCountDistinct:
		return "count(DISTINCT " + args[0] + ")"
	case query.First, query.AnyValue:
		return "first(" + args[0] + inOrder + notNull(args)
	case query.Last, query.List:
		return a.Func.String() + "(" + args[0] + inOrder + notNull(args)
	case query.Mode:
		return "mode(" + args[0] + inOrder
	case query.ArgMin, query.ArgMax:
		return fmt.Sprintf("%s(%s, %s", a.Func, args[0], args[1]) + inOrder
	case query.StringAgg:
		return fmt.Sprintf("string_agg(%s, %s", args[0], literal(a.Separator)) + inOrder
	case query.MinN, query.MaxN:
		return fmt.Sprintf("%s(%s%s, %d)", a.Func, distinct, args[0], min(a.Length, lengthMax))
	case query.QuantileDisc:
		order := ""
		if a.Descending {
			order = " ORDER BY " + args[0] + " DESC"
		}
		return fmt.Sprintf("quantile_disc(%s%s, %v::DOUBLE%s)", distinct, args[0], a.Fraction, order)
	case query.QuantileCont:
		return quantileCont(args[0], a, types[0])
	case query.Median:
		a.Fraction = 0.5
		return quantileCont(args[0], a, types[0])
	}
	if n, ok := grouptest.Statistics[a.Func]; ok {
		return statistic(a.Func, n, args)
	}
	return plain
}

// ofDistinct writes an aggregate of distinct values whose order shows; ok is false for other
// aggregates. From functions that answer with the value of one row it takes DISTINCT away, which
// does not change their answer.
func ofDistinct(a *query.Aggregate, args []string) (text string, ok bool) {
	order := " ORDER BY " + args[0]
	if a.Descending {
		order += " DESC"
	}
	switch a.Func {
	case query.List:
		return "list(DISTINCT " + args[0] + order + ")" + notNull(args), true
	case query.StringAgg:
		return fmt.Sprintf("string_agg(DISTINCT %s, %s%s)", args[0], literal(a.Separator), order), true
	case query.Count:
		a.Func = query.CountDistinct
	case query.Mode:
		a.Func = query.First
	}
	a.Distinct = a.Distinct && !slices.Contains([]query.Func{query.First, query.Last, query.AnyValue, query.ArgMin, query.ArgMax}, a.Func)
	return "", false
}

func notNull(args []string) string {
	return " FILTER (WHERE " + args[0] + " IS NOT NULL)"
}

// quantileCont interpolates doubles; a date answers as a timestamp in microseconds.
// Values are told apart before they become doubles.
func quantileCont(arg string, a query.Aggregate, dt arrow.DataType) string {
	unit := ""
	switch dt.ID() {
	case arrow.DATE32:
		unit = " * 86400000000::DOUBLE"
	case arrow.DATE64:
		unit = " * 1000::DOUBLE"
	}
	if a.Distinct {
		return fmt.Sprintf("list_aggregate(list_transform(list(DISTINCT %s)%s, lambda v: v::DOUBLE%s), 'quantile_cont', %v::DOUBLE)",
			arg, notNull([]string{arg}), unit, a.Fraction)
	}
	order := ""
	if a.Descending {
		order = " ORDER BY " + arg + " DESC"
	}
	return fmt.Sprintf("quantile_cont(%s::DOUBLE%s, %v::DOUBLE%s)", arg, unit, a.Fraction, order)
}

// Answerable returns a query without the aggregates that DuckDB answers otherwise. Of moments of distinct values it
// takes the values as doubles first, and two large integers may be one double. The linked DuckDB 1.5.5 has the
// least value for quantile 0 from the greatest value on.
func (d *DuckDB) Answerable(q query.Query) query.Query {
	q.Aggregates = slices.DeleteFunc(slices.Clone(q.Aggregates), func(a query.Aggregate) bool {
		_, statistic := grouptest.Statistics[a.Func]
		quantile := a.Func == query.QuantileCont || a.Func == query.QuantileDisc
		return statistic && a.Distinct || quantile && a.Descending && a.Fraction == 0 && d.python == nil
	})
	return q
}

// huge bounds the doubles whose moments DuckDB can hold. A larger one becomes 0, which makes no
// difference where grouptest specifies the answer: to a single value, or to a constant.
const huge = "1e100"

// statistic keeps from DuckDB the values that DuckDB refuses, and answers NaN for them as mpga
// does.
func statistic(f query.Func, valuesMin int, args []string) string {
	var tame, present, special []string
	for _, arg := range args {
		tame = append(tame, "CASE WHEN abs("+arg+"::DOUBLE) < "+huge+" THEN "+arg+"::DOUBLE WHEN "+arg+" IS NOT NULL THEN 0 END")
		present = append(present, arg+" IS NOT NULL")
		special = append(special, "NOT isfinite("+arg+"::DOUBLE)")
	}
	all := strings.Join(present, " AND ")
	moment := fmt.Sprintf("%s(%s)", f, strings.Join(tame, ", "))
	if f == query.Skewness { // of a constant it is NULL; to DuckDB 1.5.5 NaN
		moment = fmt.Sprintf("CASE WHEN min(%[1]s) < max(%[1]s) THEN %[2]s END", tame[0], moment)
	}
	return fmt.Sprintf("CASE WHEN count(*) FILTER (WHERE %s AND (%s)) > 0"+
		" THEN CASE WHEN count(*) FILTER (WHERE %s) >= %d THEN 'nan'::DOUBLE END"+
		" ELSE %s END",
		all, strings.Join(special, " OR "), all, valuesMin, moment)
}
